from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cwndlab import core
from cwndlab.api.study import Study
from wires import wires

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from cwndlab.study.runs import Run

LINK = "rate=10 Mbit/s,delay=20 ms"


def study(**keys: Any) -> Study:  # noqa: ANN401  keys of a study
    return Study(**{"link": LINK, "algorithm": "reno", **keys})


def labels(made: Study) -> list[tuple[object, ...]]:
    return [tuple(cell.labels.values()) for cell in made.cells]


@pytest.fixture(autouse=True)
def _core(fake_core: ModuleType) -> None:
    del fake_core


def test_factors_multiply_and_algorithms_take_turns() -> None:
    made = study(
        algorithm=["reno", "cubic"],
        factors={"link.rate": ["1 Mbit/s", "2 Mbit/s"]},
        repetitions=2,
    )
    order = [
        (run.repetition, run.labels["rate"], run.labels["algorithm"]) for run in made.matrix.runs
    ]
    assert made.columns == ("algorithm", "rate")
    assert order == [
        (repetition, rate, algorithm)
        for repetition in (0, 1)
        for rate in ("1 Mbit/s", "2 Mbit/s")
        for algorithm in ("reno", "cubic")
    ]


def test_zipped_factors_advance_together() -> None:
    made = study(
        factors={
            "link.rate": ["1 Mbit/s", "2 Mbit/s"],
            "link.delay": ["10 ms", "20 ms"],
            "flows": [1, 2],
            "zip": [["link.rate", "link.delay"]],
        }
    )
    assert sorted(labels(made)) == sorted(
        (rate, delay, flows)
        for rate, delay in (("1 Mbit/s", "10 ms"), ("2 Mbit/s", "20 ms"))
        for flows in (1, 2)
    )


def test_only_included_combinations_are_kept() -> None:
    made = study(
        factors={
            "flows": [1, 2, 3],
            "duration": ["1 s", "2 s"],
            "include": [{"flows": [1, 2], "duration": "1 s"}, {"flows": 3}],
            "exclude": [{"flows": 3, "duration": ["2 s", "3 s"]}],
        },
    )
    kept = [(cell.labels["flows"], cell.labels["duration"]) for cell in made.cells]
    assert sorted(kept) == [(1, "1 s"), (2, "1 s"), (3, "1 s")]


def test_excluded_combinations_are_left_out() -> None:
    made = study(
        algorithm=["reno", "highspeed"],
        factors={"flows": [1, 2], "exclude": [{"algorithm": "hstcp", "flows": 2}]},
    )
    assert ("highspeed", 2) not in labels(made)
    assert len(made.cells) == 3
    assert made.factors == {"algorithm": ["reno", "highspeed"], "flows": [1, 2]}


def test_a_factor_with_a_name_of_its_own_sets_several_paths() -> None:
    made = Study(
        link=LINK,
        factors={
            "variant": [
                {"name": "a", "algorithm": "reno", "stack": "ns-2-packet"},
                {"name": "b", "algorithm": "hstcp", "stack_overrides.initial_window": 4},
            ]
        },
    )
    first, second = (cell.resolved.scenario.flows[0].sender for cell in made.cells)
    assert labels(made) == [("a",), ("b",)]
    assert (first.algorithm, first.stack, first.stack_overrides) == ("reno", "ns-2-packet", {})
    assert (second.algorithm, second.stack) == ("highspeed", "linux-6.1")
    assert second.stack_overrides == {"initial_window": 4}


def test_the_one_flow_that_need_not_be_written_has_paths_too() -> None:
    made = study(factors={"flow.0.start": ["1 s", "2 s"]})
    starts = [cell.resolved.scenario.flows[0].start_ns for cell in made.cells]
    assert starts == [10**9, 2 * 10**9]


def test_columns_are_last_parts_of_paths_unless_two_are_alike() -> None:
    made = study(
        reverse_link="rate=1 Mbit/s",
        factors={
            "link.rate": ["1 Mbit/s"],
            "reverse_link.rate": ["2 Mbit/s"],
            "parameters.cubic.beta": [512, 717],
        },
        algorithm="cubic",
    )
    assert made.columns == ("link.rate", "reverse_link.rate", "beta")


def test_parameters_reach_only_the_algorithm_that_they_are_for() -> None:
    made = study(algorithm=["reno", "cubic"], parameters={"cubic": {"beta": 512}})
    assert [cell.resolved.scenario.flows[0].sender.parameters for cell in made.cells] == [
        {},
        {"beta": 512},
    ]


def test_a_level_may_be_a_whole_link_and_be_changed_by_another_factor() -> None:
    made = study(link=["lossy", "wired-50"], factors={"link.delay": ["5 ms", "10 ms"]})
    assert labels(made)[0] == ("lossy", "5 ms")
    stages = [wires(cell.resolved.scenario).forward[0] for cell in made.cells]
    assert [stage.delay_ns for stage in stages] == [5_000_000, 10_000_000] * 2
    assert [stage.loss is None for stage in stages] == [False, False, True, True]


def runs(**keys: Any) -> list[Run]:  # noqa: ANN401  keys of a study
    return list(study(**keys).matrix.runs)


def test_two_algorithms_see_the_same_channel_and_repetitions_another() -> None:
    found = runs(algorithm=["reno", "cubic"], repetitions=3, parameters={"cubic": {"beta": 3}})
    by_repetition: dict[int, set[int]] = {}
    for run in found:
        by_repetition.setdefault(run.repetition, set()).add(run.seed)
    assert [len(seeds) for seeds in by_repetition.values()] == [1, 1, 1]
    assert len({run.seed for run in found}) == 3
    assert len({run.key for run in found}) == 6
    assert all(run.scenario.seed == run.seed < 2**53 for run in found)


def test_seeds_depend_on_the_cell_and_on_the_seed_of_the_study() -> None:
    base = runs()[0].seed
    assert runs(seed=2)[0].seed != base
    assert runs(link="rate=10 Mbit/s,delay=21 ms")[0].seed != base
    # Recorded data, the notation of a value, and names change nothing.
    assert runs(record={"samples": "10 ms"})[0].seed == base
    assert runs(link="rate=10000 kbit/s,delay=0.02 s")[0].seed == base
    assert runs(link={"rate": "10 Mbit/s", "delay": "20 ms", "name": "x"})[0].seed == base
    assert runs(title="another")[0].key == runs()[0].key


def test_a_key_changes_with_all_that_determines_the_run(
    fake_core: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = runs()[0].key
    assert runs(duration="61 s")[0].key != base
    assert runs(record={"events": False})[0].key != base
    monkeypatch.setattr(fake_core, "behaviour_epoch", 2)
    assert runs()[0].key != base
    monkeypatch.undo()
    core.algorithms.cache_clear()
    changed = [{**entry, "source_sha256": "1" * 64} for entry in fake_core.algorithms()]
    monkeypatch.setattr(core, "module", lambda: fake_core)
    monkeypatch.setattr(fake_core, "algorithms", lambda: changed)
    assert runs()[0].key != base


def test_a_trace_counts_by_its_content_not_by_its_place(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.down").write_text("1\n2\n")
    (tmp_path / "two.down").write_text("1\n2\n")
    one = runs(link=f"trace:{tmp_path / 'a' / 'one.down'}")[0]
    two = runs(link=f"trace:{tmp_path / 'two.down'}")[0]
    assert (one.key, one.seed) == (two.key, two.seed)
    (tmp_path / "two.down").write_text("1\n3\n")
    assert runs(link=f"trace:{tmp_path / 'two.down'}")[0].key != one.key


def test_starts_move_with_the_repetition_and_are_the_same_for_all_algorithms() -> None:
    found = runs(
        algorithm=["reno", "cubic"],
        flow=[{}, {"start": "1 s", "start_jitter": "50 ms"}],
        repetitions=5,
    )
    starts = {(run.repetition, run.scenario.flows[1].start_ns) for run in found}
    assert len(starts) == 5
    assert len({start for _, start in starts}) == 5
    assert all(10**9 <= start < 1_050_000_000 for _, start in starts)
    assert {run.scenario.flows[0].start_ns for run in found} == {0}


def test_a_study_moves_the_starts_of_all_flows_that_say_nothing() -> None:
    found = runs(algorithm=["reno", "cubic"], flows=2, start_jitter="100 ms", repetitions=5)
    starts = {(run.repetition, *(flow.start_ns for flow in run.scenario.flows)) for run in found}
    assert len(starts) == 5
    assert len({start for _, *both in starts for start in both}) == 10
    assert all(0 <= start < 100_000_000 for _, *both in starts for start in both)
    own = runs(algorithm="reno", start_jitter="100 ms", flow=[{"start_jitter": "0 s"}, {}])
    assert own[0].scenario.flows[0].start_ns == 0 < own[0].scenario.flows[1].start_ns
    (stopped,) = runs(algorithm="reno", start_jitter="100 ms", flow=[{"stop": "2 s"}])
    assert stopped.scenario.flows[0].stop_ns == 2 * 10**9
    none = runs(algorithm="reno", start_jitter="0 s")
    assert none[0].key == runs(algorithm="reno")[0].key


def test_quick_changes_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        '[study]\nduration = "60 s"\nrepetitions = 10\n'
        '[link]\nrate = "1 Mbit/s"\ndelay = "1 ms"\n'
        '[factors]\nalgorithm = ["reno", "cubic", "highspeed"]\nflows = [1, 2]\n'
        '[quick]\nduration = "5 s"\nrepetitions = 2\nlink.rate = "2 Mbit/s"\n'
        'factors.algorithm = ["reno"]\n'
    )
    full, quick = Study.load(path), Study.load(path, is_quick=True)
    assert (len(full.cells), full.repetitions) == (6, 10)
    assert (len(quick.cells), quick.repetitions) == (2, 2)
    scenario = quick.cells[0].resolved.scenario
    assert scenario.duration_ns == 5 * 10**9
    assert wires(scenario).forward[0].delay_ns == 1_000_000


def test_a_study_writes_a_file_that_is_the_same_study(tmp_path: Path) -> None:
    made = study(
        algorithm=["reno", "cubic"],
        flow=[
            {"start": "1 s"},
            {"application": {"kind": "paced", "rate": "1 Mbit/s", "write": "1 kB"}},
        ],
        link={"rate": "10 Mbit/s", "loss": {"kind": "iid", "share": "1 %"}},
        factors={
            "link.delay": ["1 ms", "2 ms"],
            "exclude": [{"link.delay": "1 ms", "algorithm": "reno"}],
        },
        parameters={"cubic": {"beta": 3}},
        title='with "quotes" and \\',
    )
    path = tmp_path / "again.toml"
    path.write_text(made.to_toml())
    again = Study.load(path)
    assert [run.key for run in again.matrix.runs] == [run.key for run in made.matrix.runs]
    assert again.title == made.title
    assert again.columns == made.columns


def test_a_study_shows_itself() -> None:
    made = study(algorithm=["reno", "cubic"], repetitions=10, title="<Mine>")
    assert repr(made) == "Study('study', 20 runs of 60 s, algorithm: ['reno', 'cubic'])"
    assert "&lt;Mine&gt;" in made._repr_html_()
