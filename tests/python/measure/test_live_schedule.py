"""The schedule of a campaign."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, time
from itertools import pairwise

import pytest

import cwndlab as cw
from cwndlab.errors import StudyError
from cwndlab.measure.schedule import Period, in_turn, next_run, path_of

MONDAY = date(2023, 5, 1)


def at(day: int, clock: str) -> datetime:
    return datetime.combine(date(2023, 5, day), time.fromisoformat(clock))


@pytest.mark.parametrize(
    ("now", "day"),
    [
        (at(1, "05:59:59"), None),
        (at(1, "06:00"), 1),
        (at(1, "07:29:59"), 1),
        (at(1, "07:30"), None),
    ],
)
def test_a_period_holds_its_begin_and_not_its_end(now: datetime, day: int | None) -> None:
    found = Period(time(6), time(7, 30)).day_of(now)
    assert found == (None if day is None else date(2023, 5, day))


def test_a_period_past_midnight_belongs_to_the_day_on_which_it_began() -> None:
    night = Period(time(22), time(2), "working")
    assert night.day_of(at(6, "01:00")) == date(2023, 5, 5), "Friday's, on Saturday"
    assert night.day_of(at(6, "23:00")) is None, "Saturday is no working day"
    assert night.next_begin(at(5, "22:30")) == at(8, "22:00")
    assert Period(time(22), time(2), "weekend").day_of(at(8, "00:30")) == date(2023, 5, 7)


def study(**live: object) -> cw.Study:
    return _loaded({"study": {"repetitions": 3, "duration": "1 s"}, "live": live})


def _loaded(document: dict[str, object]) -> cw.Study:
    import tempfile  # noqa: PLC0415  one test's helper
    from pathlib import Path  # noqa: PLC0415  one test's helper

    from cwndlab.text.toml_writer import write_toml  # noqa: PLC0415  one test's helper

    document = {**document, "factors": {"algorithm": ["reno", "cubic", "bbr"]}}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mine.toml")
        path.write_text(write_toml(document), encoding="utf-8")
        return cw.Study.load(path, is_live=True)


def test_within_each_cycle_all_take_turns_and_the_first_one_changes() -> None:
    runs = in_turn(study().matrix.runs)
    names = [str(run.labels["algorithm"]) for run in runs]
    cycles = [names[at : at + 3] for at in range(0, 9, 3)]
    assert all(sorted(cycle) == ["bbr", "cubic", "reno"] for cycle in cycles)
    assert [cycle[0] for cycle in cycles] == ["reno", "cubic", "bbr"]
    assert all(first != second for first, second in pairwise(names)), "nobody twice in a row"


def test_a_run_waits_for_its_period_and_its_share_of_the_day() -> None:
    runs = in_turn(study(period="06:00-07:30", days="working", at_most=1).matrix.runs)
    early = next_run(runs, "here", at(1, "04:00"), Counter())
    assert (early.run, early.at) == (None, at(1, "06:00"))
    assert next_run(runs, "here", at(1, "06:10"), Counter()).run == runs[0]
    # Every combination has had its one run of the day, so the next runs are due tomorrow.
    spent = Counter({(run.cell, MONDAY): 1 for run in runs})
    assert next_run(runs, "here", at(1, "06:20"), spent).at == at(2, "06:00")
    assert next_run(runs, "here", at(5, "08:00"), Counter()).at == at(8, "06:00")


def test_runs_of_other_places_are_left_to_them() -> None:
    runs = in_turn(study(place="campus").matrix.runs)
    assert next_run(runs, "home", at(1, "12:00"), Counter()).at is None
    assert next_run(runs, "campus", at(1, "12:00"), Counter()).run == runs[0]


def test_a_simulated_study_is_measured_without_its_link() -> None:
    live = _loaded({"study": {"id": "mine"}, "link": {"rate": "1 Mbit/s", "delay": "1 ms"}})
    assert live.id == "mine-live"
    assert path_of(live.matrix.runs[0]).place == "here"


def test_a_live_study_cannot_be_simulated() -> None:
    with pytest.raises(StudyError, match="cwndlab live"):
        study().run()


@pytest.mark.parametrize("period", ["6-7", "25:00-26:00", "06:00", "06:00-07:60"])
def test_a_period_that_is_none_is_refused(period: str) -> None:
    with pytest.raises(StudyError, match="period"):
        study(period=period)
