from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import cwndlab
from cwndlab.api import running
from cwndlab.api.study import Study
from cwndlab.cli import run as run_command
from cwndlab.cli import validate as command
from cwndlab.errors import InterruptedStudyError, StudyError
from cwndlab.kernel.capabilities import Obstacle
from cwndlab.validation import OWN_STUDY
from cwndlab.validation.judge import COMPARED, Agreement, CellAgreement, Pair, judge
from cwndlab.validation.page import percent, verdict_of, write_page
from cwndlab.validation.replays import Replayed
from cwndlab.validation.run import (
    Validation,
    behind_interfaces,
    validate,
    with_buffers_of,
    with_traces,
)


def pair(simulated: list[float], measured: list[float]) -> Pair:
    return Pair(tuple(simulated), tuple(measured))


def verdict(goodput: Pair, rtt: Pair) -> Agreement:
    pairs = {name: pair([1], [1]) for name in COMPARED}
    return CellAgreement({}, {**pairs, "goodput_mbit_s": goodput, "rtt_p50_ms": rtt}, 0.1).verdict


SAME = pair([10], [10])


def test_medians_within_the_bounds_agree() -> None:
    assert verdict(pair([9.71, 1, 12], [10]), SAME) is Agreement.AGREES
    assert verdict(SAME, pair([10.49], [10])) is Agreement.AGREES


def test_beyond_the_bounds_ranges_decide() -> None:
    assert verdict(pair([9.69], [10]), SAME) is Agreement.DIFFERS
    assert verdict(pair([9, 9, 10.1], [10, 10, 11]), SAME) is Agreement.OVERLAPS
    assert verdict(SAME, pair([10.51], [10])) is Agreement.DIFFERS
    # An overlap of one quantity does not outweigh a difference of another.
    assert verdict(pair([9, 9, 10.1], [10, 10, 11]), pair([8], [10])) is Agreement.DIFFERS


def test_an_overlap_says_on_how_many_runs_it_rests() -> None:
    goodput = pair([9, 9, 10.1, 10.5], [10, 10, 11, 12])
    # 10.1 and 10.5 (ours) and 10 and 10 (the kernel's) lie between 10 and 10.5.
    assert goodput.common == pytest.approx(0.5)
    pairs = dict.fromkeys(COMPARED, SAME) | {"goodput_mbit_s": goodput}
    judged = CellAgreement({}, pairs, 0.1)
    assert (judged.seeds, judged.common) == (4, 0.5)
    assert verdict_of(judged) == "overlaps (50 % of 8 runs)"
    assert pair([1, 2], [3, 4]).common == 0
    assert pair([], [3]).common == 0


def test_a_difference_that_rounds_to_nothing_has_no_sign() -> None:
    assert [percent(part) for part in (-0.0004, 0.0, 0.031, -0.0006)] == [
        "0.0 %",
        "0.0 %",
        "+3.1 %",
        "-0.1 %",
    ]
    assert not percent(math.nan)


def test_what_has_no_value_does_not_agree() -> None:
    assert verdict(pair([], [10]), SAME) is Agreement.DIFFERS
    assert math.isnan(pair([1], [0]).difference)


class FakeResults:
    """Results of one or two algorithms in memory."""

    factors = ("algorithm",)
    title = "a study"

    def __init__(self, goodputs: dict[str, list[float]], cwnd: int) -> None:
        rows: list[dict[str, Any]] = []
        self._samples: list[dict[str, Any]] = []
        for algorithm, values in goodputs.items():
            for repetition, value in enumerate(values):
                run = {"run": f"{algorithm}-{repetition}", "repetition": repetition}
                for flow in (0, 1):
                    known = dict.fromkeys(COMPARED, 1.0)
                    row = {**run, "algorithm": algorithm, "flow": flow, **known}
                    rows.append({**row, "goodput_mbit_s": value / 2, "timeouts": None})
                    samples = [
                        {**row, "t_s": n / 10, "cwnd_pkts": cwnd + 10 * flow} for n in range(1, 4)
                    ]
                    self._samples += samples
        self._flows = pl.DataFrame(rows, schema_overrides={"timeouts": pl.Int64})
        self.history = [{"kernel": "6.1.0", "emulator": {"lateness": {"p99_us": 40.2}}}]

    def flows(self) -> pl.DataFrame:
        return self._flows

    def samples(self, **where: object) -> pl.DataFrame:
        frame = pl.DataFrame(self._samples)
        kept = [pl.col(name) == pl.lit(value) for name, value in where.items()]
        return frame.filter(*kept) if kept else frame


def test_runs_are_judged_by_all_of_their_flows_together(tmp_path: Path) -> None:
    simulated: Any = FakeResults({"reno": [9.0, 10.0, 11.0], "cubic": [5.0, 5.0, 5.0]}, 12)
    measured: Any = FakeResults({"reno": [10.0, 10.1, 9.0], "cubic": [9.0, 9.1, 9.2]}, 10)
    reno, cubic = judge(simulated, measured)
    assert (reno.cell, cubic.cell) == ({"algorithm": "reno"}, {"algorithm": "cubic"})
    assert reno.pairs["goodput_mbit_s"].medians == (10.0, 10.0)
    assert (reno.verdict, cubic.verdict) == (Agreement.AGREES, Agreement.DIFFERS)
    # Windows of 12 and 22 compared with 10 and 20.
    assert reno.cwnd_distance == pytest.approx(2 / 15)
    assert math.isnan(reno.pairs["timeouts"].medians[0])
    replays = [Replayed("reno", "cl_1", 12_345, 0), Replayed("cubic", "cl_2", 12_345, 7)]
    done = Validation(simulated, measured, [reno, cubic])
    page = write_page(done, replays, tmp_path / "page.html")
    text = page.read_text(encoding="utf-8")
    assert "1 of 2 settings agree" in text
    assert "12,345" in text
    assert "at most 40 &micro;s late" in text
    assert 'class="differs"' in text
    assert "http" not in text.replace("http://www.w3.org", "")


def test_replays_need_many_calls_and_no_mismatch() -> None:
    assert Replayed("reno", "cl_1", 10_000, 0).is_same
    assert not Replayed("reno", "cl_1", 9_999, 0).is_same
    assert not Replayed("reno", "cl_1", 20_000, 1).is_same


def study(**keys: Any) -> Study:  # noqa: ANN401  keys of a study
    base = {"link": "rate=10 Mbit/s,delay=20 ms", "duration": "2 s", "warm_up": "1 s"}
    return Study(**{**base, "algorithm": ["reno", "cubic"], "id": "s", **keys})


@pytest.fixture
def in_simulation(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Replace the kernel with the simulator and another stack; return the numbers of runs."""
    counts: list[int] = []
    real = running.run_study

    def run_study(wanted: Study, folder: Path, **options: Any) -> Any:  # noqa: ANN401  as it is
        counts.append(len(wanted.matrix.runs))
        options.pop("backend", None)
        options.pop("executor", None)
        return real(wanted, folder, **options)

    monkeypatch.setattr("cwndlab.validation.run.run_study", run_study)
    monkeypatch.setattr("cwndlab.validation.run.require_runs", lambda: None)
    return counts


def test_what_agrees_is_not_run_again(tmp_path: Path, in_simulation: list[int]) -> None:
    done = validate(study(repetitions=2), tmp_path)
    assert [each.verdict for each in done.judgements] == [Agreement.AGREES] * 2
    assert in_simulation == [4, 4]


def test_contested_cells_get_ten_seeds_and_the_others_no_more(
    tmp_path: Path, in_simulation: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def judge_unlike(simulated: Any, measured: Any) -> list[CellAgreement]:  # noqa: ANN401  results
        apart = {name: pair([9, 10.1], [10, 11]) for name in COMPARED}
        return [
            CellAgreement(
                each.cell, apart if each.cell["algorithm"] == "cubic" else each.pairs, 0.0
            )
            for each in judge(simulated, measured)
        ]

    monkeypatch.setattr("cwndlab.validation.run.judge", judge_unlike)
    done = validate(study(repetitions=2), tmp_path)
    assert in_simulation == [4, 4, 12, 12]
    assert done.simulated.flows().height == 12
    seeds = done.simulated.flows().group_by("algorithm").len().sort("algorithm")["len"].to_list()
    assert seeds == [10, 2]
    # Running again neither loses nor repeats a run.
    validate(study(repetitions=2), tmp_path)
    assert in_simulation[4:] == [4, 4, 12, 12]


def test_the_simulator_has_the_hosts_of_a_kernel_study_unless_the_study_names_others() -> None:
    def hosts(made: Study) -> list[list[Any]]:
        scenarios = [json.loads(run.scenario.to_json()) for run in made.matrix.runs]
        ends = [scenario["flows"][0] for scenario in scenarios]
        return [[end["sender"].get("host"), end["receiver"].get("host")] for end in ends]

    kernel = study()
    assert hosts(kernel) == [[None, None]] * 2
    for sender, receiver in hosts(behind_interfaces(kernel)):
        assert sender == receiver
        assert sender["gso_packets"] == 44
        assert sender["receive_packet_ns"] > 0
        assert sender["wake_ns"] > 0
    sender, receiver = hosts(behind_interfaces(study(server_host="none")))[0]
    assert sender is None
    assert receiver is not None
    # Cells and seeds must be equal; otherwise, runs cannot be compared.
    runs = [behind_interfaces(kernel).matrix.runs, kernel.matrix.runs]
    assert len({tuple((run.seed, str(run.labels)) for run in each) for each in runs}) == 1


@pytest.mark.parametrize(
    ("history", "overrides", "expected"),
    [
        ([], {}, {}),
        ([{"kernel": "6.18"}], {}, {}),
        (
            [
                {
                    "sysctls": {
                        "tcp_rmem": [4096, 131072, 5320000],
                        "tcp_wmem": [4096, 16384, 4194304],
                    }
                }
            ],
            {"receive_buffer_max_bytes": 200_000, "nagle": True},
            {
                "receive_buffer_max_bytes": 200_000,
                "send_buffer_max_bytes": 4_194_304,
                "nagle": True,
            },
        ),
    ],
)
def test_beside_a_virtual_machine_the_simulator_has_its_limits_of_the_buffers(
    history: list[dict[str, Any]], overrides: dict[str, int], expected: dict[str, int]
) -> None:
    wanted = study(**({"stack_overrides": overrides} if overrides else {}))
    measured: Any = SimpleNamespace(history=history)
    assert with_buffers_of(measured, wanted).document.get("stack_overrides", {}) == expected


def test_the_study_of_validate_is_part_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Path(str(cwndlab.__file__)).parent in OWN_STUDY.parents
    study = Study.load(OWN_STUDY)
    assert study.id == "validate"
    assert len(study.cells) == 18


def test_a_recording_takes_the_place_of_the_trace(tmp_path: Path) -> None:
    (tmp_path / "made-up.down").write_text("1\n2\n", encoding="utf-8")
    for name, text in (("bus.down", "1\n3\n5\n"), ("bus.up", "1\n3\n6\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    link = f"trace:{tmp_path / 'made-up.down'}"
    network = [
        {"name": "line", "link": "rate=10 Mbit/s,delay=20 ms"},
        {"name": "walk", "link": f"{link},delay=7 ms", "reverse_link": link},
    ]
    made = study(link=None, factors={"network": network})
    changed = with_traces(made, tmp_path / "bus.down", tmp_path / "bus.up")
    assert changed.factors["network"] == ["line", "bus"]
    traces = {trace.path.name for run in changed.matrix.runs for trace in run.traces.values()}
    assert traces == {"bus.down", "bus.up"}
    scenarios = [run.scenario.to_json().replace(" ", "") for run in changed.matrix.runs]
    assert sum('"delay_ns":7000000' in text for text in scenarios) == 2
    with pytest.raises(StudyError, match="no link with a trace"):
        with_traces(study(), tmp_path / "bus.down", tmp_path / "bus.up")


def test_a_long_validation_says_how_long_it_takes_and_how_to_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object, again: str, **_others: object) -> None:
        raise InterruptedStudyError(again)

    monkeypatch.setattr(command, "validate", stopped)
    assert run_command(["validate"]) == 130
    assert capsys.readouterr().err.startswith("90 runs on the kernel take 45 min in real time; ")
    options = ["--quick", "--results", str(tmp_path), "--at-once", "3"]
    assert run_command(["validate", *options]) == 130
    assert f"`cwndlab validate {' '.join(options)}`" in capsys.readouterr().err


def test_without_clang_validation_says_what_it_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An installed wheel has neither clang nor the helper, but still ends with status 0."""
    missing = Obstacle("clang is missing", "sudo apt install clang")
    monkeypatch.setattr(command, "obstacles", lambda: [missing])
    replays, why_not = command._replays(  # noqa: SLF001
        Study(link="lossy", algorithm="reno"), tmp_path
    )
    assert replays == []
    assert why_not == (
        "the kernel's calls to the algorithms were not replayed in the simulator: "
        "clang is missing (sudo apt install clang)"
    )
    assert capsys.readouterr().err == f"{why_not}\n"
