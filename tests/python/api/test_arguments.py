"""Arguments of the library that are not what a function accepts are refused with a remedy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib import pyplot as plt

import cwndlab as cw

if TYPE_CHECKING:
    from collections.abc import Callable

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


@pytest.mark.parametrize("value", [None, 3, b"results", ["results"], "", "a\0b", "\ud800"])
def test_what_is_no_path_is_refused_with_an_example(value: Any) -> None:  # noqa: ANN401  a wrong type
    calls: list[Callable[[Any], object]] = [cw.open_results, cw.Results]
    if not isinstance(value, list):  # several measurements of one path
        calls.append(cw.fit)
    for call in calls:
        with pytest.raises(cw.errors.ArgumentError, match='give the path to a folder, such as "'):
            call(value)
    with pytest.raises(cw.errors.ArgumentError, match="give the path to a study file"):
        cw.Study.load(value)
    study = cw.Study(link=LINK, algorithm="reno", duration="1 s", id="s")
    if value is not None:
        with pytest.raises(cw.errors.ArgumentError, match=r"^results = "):
            study.run(value)


@pytest.mark.parametrize("name", ["backend", "executor"])
def test_a_backend_or_an_executor_of_a_wrong_type_is_refused(folder: Path, name: str) -> None:
    study = cw.Study(link=LINK, algorithm="reno", duration="1 s", id="s")
    wrong: dict[str, Any] = {name: 3}
    with pytest.raises(cw.errors.ArgumentError, match=f"^{name} = 3: write "):
        study.run(folder, **wrong)


def test_a_baseline_or_a_table_that_the_results_lack_is_refused(folder: Path) -> None:
    results = cw.open_results(folder)
    for call in (results.answers, results.verdict):
        with pytest.raises(cw.errors.ArgumentError, match="results contain only reno"):
            call(baseline="nope")
        call(baseline="reno")
        call()  # the default, cubic, need not be there
    with pytest.raises(cw.errors.UnknownNameError, match='unknown table "flow"; did you mean flow'):
        results.scan("flow")
    assert results.scan("probes").collect().is_empty()


def test_a_text_that_no_file_can_contain_is_refused() -> None:
    for key in ("title", "link", "algorithm"):
        arguments: dict[str, Any] = {"link": LINK, "algorithm": "reno", key: "a\ud800"}
        with pytest.raises(cw.errors.StudyError, match="is not valid Unicode text"):
            cw.Study(**arguments)


def test_numbers_of_numpy_and_paths_are_accepted(tmp_path: Path) -> None:
    repetitions: Any = np.int64(3)
    assert cw.Study(link=LINK, algorithm="reno", repetitions=repetitions).repetitions == 3
    (tmp_path / "line.toml").write_text('[link]\nrate = "1 Mbit/s"\ndelay = "5 ms"\n')
    link: Any = tmp_path / "line.toml"
    assert len(cw.Study(link=link, algorithm="reno").cells) == 1
    missing: Any = Path("mine.c")
    with pytest.raises(cw.errors.StudyError, match=r"mine\.c: no such file"):
        cw.Study(link=LINK, algorithm=missing)


def test_a_run_that_is_no_key_is_refused(folder: Path) -> None:
    wrong: Any = 3
    with pytest.raises(cw.errors.ArgumentError, match=r"^run = 3: write the key of a run"):
        cw.fit(folder, run=wrong)


@pytest.mark.parametrize("value", [True, "3", 3.0, float("nan")])
@pytest.mark.parametrize("key", ["repetitions", "seed", "flows", "user"])
def test_a_number_of_a_study_is_a_whole_number(key: str, value: Any) -> None:  # noqa: ANN401  a wrong type
    arguments: dict[str, Any] = {"link": LINK, "algorithm": "reno", key: value}
    with pytest.raises(cw.errors.StudyError, match=rf"{key} = .*\n  must be "):
        cw.Study(**arguments)


def test_a_flag_is_true_or_false() -> None:
    arguments: dict[str, Any] = {"link": LINK, "algorithm": "reno"}
    with pytest.raises(cw.errors.StudyError, match=r"common_seeds = .*\n  must be true or false"):
        cw.Study(**(arguments | {"common_seeds": "no"}))
    with pytest.raises(cw.errors.StudyError, match=r"orphans = .*\n  must be true or false"):
        cw.Study(**arguments, user_host={"preset": "linux-ethernet", "orphans": 1})


def test_a_column_that_a_table_lacks_is_named(folder: Path) -> None:
    results = cw.open_results(folder)
    for table in (results.runs, results.flows, results.links, results.samples, results.events):
        with pytest.raises(cw.errors.UnknownNameError, match='unknown column "nonsense"'):
            table(nonsense=1)
    with pytest.raises(cw.errors.UnknownNameError, match="did you mean repetition"):
        results.samples(repetitions=1)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("algorithm", 3),
        ("repetition", "1"),
        ("repetition", {"a": 1}),
        ("repetition", object()),
        ("repetition", [0, "x"]),
        ("goodput_mbit_s", "fast"),
        ("goodput_mbit_s", b"fast"),
    ],
)
def test_a_value_that_a_column_cannot_have_is_refused(
    folder: Path, column: str, value: object
) -> None:
    with pytest.raises(cw.errors.ArgumentError, match=f"^{column} = .*: write one value"):
        cw.open_results(folder).flows(**{column: value})


@pytest.mark.parametrize("value", [0, [0], (0, 1), {0}, range(2), np.array([0]), np.int64(0)])
def test_rows_are_selected_by_a_value_or_by_any_collection(folder: Path, value: object) -> None:
    results = cw.open_results(folder)
    assert results.flows(repetition=value).height == results.flows().height == 1


@pytest.mark.parametrize("query", ["", "selec", "select * from nope", "drop table flows", 3])
def test_a_query_that_returns_no_table_is_refused(folder: Path, query: Any) -> None:  # noqa: ANN401  a wrong type
    with pytest.raises(cw.errors.ArgumentError, match=r"^query = "):
        cw.open_results(folder).sql(query)


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"link": 3}, "link = 3: give the name of a preset"),
        ({"link": [LINK, None]}, "link = "),
        ({"link": LINK, "budget_s": -1}, "budget_s = -1: write a number of seconds"),
        ({"link": LINK, "budget_s": float("nan")}, "budget_s = nan"),
        ({"link": LINK, "direction": "x"}, "direction = 'x': write \"downlink\" or"),
        ({"link": LINK, "folder": 3}, "folder = 3: give the path"),
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


@pytest.mark.parametrize("kind", ["bars", "box", "cdf", "over_time"])
@pytest.mark.parametrize("column", ["goodput", "", None])
def test_plot_of_an_unknown_column_is_refused_with_the_known_columns(
    folder: Path,
    kind: str,
    column: Any,  # noqa: ANN401  a wrong type
) -> None:
    draw = getattr(cw.open_results(folder).plot, kind)
    with pytest.raises(cw.errors.ArgumentError, match=r"^column = .*goodput_mbit_s"):
        draw(column)
    plt.close(draw("goodput_mbit_s").figure)


def test_users_of_a_wrong_type_are_refused_with_an_example() -> None:
    wrong: Any = 3
    with pytest.raises(
        cw.errors.ArgumentError, match='users = 3: write a string, such as "mobile"'
    ):
        cw.advise(users=wrong)
