"""Arguments of the library that are not what a function accepts are refused with a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import cwndlab as cw

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LINK = "rate=10 Mbit/s,delay=20 ms"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Complete results of one short run."""
    where: Path = tmp_path_factory.mktemp("arguments") / "s"
    cw.Study(link=LINK, algorithm="reno", duration="1 s", id="s").run(where)
    return where


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "2", True, 10_000])
def test_a_number_of_jobs_is_checked_even_if_every_run_is_finished(
    folder: Path,
    jobs: Any,  # noqa: ANN401  a wrong type
) -> None:
    study = cw.Study(link=LINK, algorithm="reno", duration="1 s", id="s")
    calls: tuple[Callable[[], object], ...] = (
        lambda: study.run(folder, jobs=jobs),
        lambda: cw.fit(folder, jobs=jobs),
        lambda: cw.advise(LINK, jobs=jobs),
    )
    for call in calls:
        with pytest.raises(cw.errors.ArgumentError, match=r"^jobs = .*: write a number from 1 to"):
            call()


@pytest.mark.parametrize("value", [None, 3, b"results", ["results"]])
def test_what_is_no_path_is_refused_with_an_example(value: Any) -> None:  # noqa: ANN401  a wrong type
    for call in (cw.open_results, cw.fit, cw.Results):
        with pytest.raises(cw.errors.ArgumentError, match='write the path of a folder, such as "'):
            call(value)


def test_a_run_that_is_no_key_is_refused(folder: Path) -> None:
    wrong: Any = 3
    with pytest.raises(cw.errors.ArgumentError, match=r"^run = 3: write the key of a run"):
        cw.fit(folder, run=wrong)


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"link": 3}, "link = 3: give the name of a preset"),
        ({"link": [LINK, None]}, "link = "),
        ({"link": LINK, "budget_s": -1}, "budget_s = -1: write a number of seconds"),
        ({"link": LINK, "budget_s": float("nan")}, "budget_s = nan"),
        ({"link": LINK, "direction": "x"}, "direction = 'x': write \"downlink\" or"),
        ({"link": LINK, "folder": 3}, "folder = 3: write the path"),
        ({"link": LINK, "goal": None}, 'unknown goal "None"'),
        ({"link": LINK, "algorithms": "nope"}, 'unknown algorithm "nope"'),
    ],
)
def test_advise_names_the_argument_and_what_it_accepts(
    arguments: dict[str, Any], place: str
) -> None:
    with pytest.raises(cw.CwndlabError) as raised:
        cw.advise(**arguments)
    assert str(raised.value).startswith(place)


def test_a_value_that_contains_itself_is_refused() -> None:
    table: dict[str, Any] = {"rate": "1 Mbit/s"}
    table["stage"] = [table]
    levels: list[Any] = ["reno"]
    levels.append(levels)
    for given in ({"link": table}, {"link": LINK, "algorithm": levels}):
        with pytest.raises(cw.errors.StudyError, match="contains itself"):
            cw.Study(**given)
