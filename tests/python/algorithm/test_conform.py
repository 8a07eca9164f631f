"""`cwndlab conform`: BBR's test cases on bbr3, and on ten files with one fault each."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cwndlab.algorithm.conformance.bbr_startup import PHASES, STARTUP
from cwndlab.algorithm.conformance.bench import RTT_S, Bench
from cwndlab.algorithm.conformance.case_runs import SimulatedRuns
from cwndlab.algorithm.conformance.suite import BBR_CASES, run_cases
from cwndlab.errors import AlgorithmError
from program import run
from user_code import GOOD

_SOURCE = Path(__file__).parents[3] / "algorithms" / "bbr3.c"
_NEEDS_COMPILER = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

# A fault: the source text that is replaced, its replacement, and a test case that must fail.
_FAULTS = {
    "no Drain": ("ca->state = BBR3_DRAIN;", "bbr3_start_down(sk, ca);", 3),
    "Drain at 0.9": ("return cc_params(sk)->drain_gain;", "return 230;", 3),
    "Drain for 12 rounds": ("#define BBR3_DRAIN_ROUNDS\t3u", "#define BBR3_DRAIN_ROUNDS\t12u", 4),
    "a plateau of 6 rounds": ("ca->full_bw_count >= 3", "ca->full_bw_count >= 6", 1),
    "a plateau of the application": (
        "!ca->is_round_start || rs->is_app_limited",
        "!ca->is_round_start",
        7,
    ),
    "Down at 1.0": ("return cc_params(sk)->down_gain;", "return 256;", 8),
    "no headroom": (">headroom) >> 10", ">headroom) >> 20", 21),
    "losses are ignored": ("(u64)lost << 10 >", "(u64)lost << 2 >", 6),
    "ProbeRTT with a whole BDP": (
        "#define BBR3_PROBE_RTT_GAIN\t128u",
        "#define BBR3_PROBE_RTT_GAIN\t256u",
        10,
    ),
    "ProbeRTT after idling": ("&& !ca->is_idle_restart", "", 11),
    "ProbeRTT ends Startup": (
        "if (ca->is_full_bw_reached) {\n\t\tbbr3_start_down(sk, ca);",
        "if (1) {\n\t\tbbr3_start_down(sk, ca);",
        20,
    ),
    "no extra window": (" + cc_aggregation_extra(&ca->extra)", "", 13),
    "a window of one packet": (
        "#define BBR3_MIN_CWND\t\t4u",
        "#define BBR3_MIN_CWND\t\t1u",
        14,
    ),
    "the bound grows by one a round": ("cwnd >> (ca->up_rounds & 31)", "cwnd", 15),
    "no short-term bounds": ("if (is_probing || !ca->is_loss_in_round)", "if (1)", 17),
    "no return to Up": ("else if (ca->undo_state == BBR3_UP", "else if (ca->undo_state == 99", 18),
}


def test_all_cases_of_the_draft_pass_on_bbr3() -> None:
    failed = [
        f"{outcome.case.number} {check.wanted}: {check.found}"
        for outcome in run_cases("bbr3")
        for check in outcome.checks
        if not check.holds
    ]
    assert [case.number for case in BBR_CASES] == list(range(1, 23))
    assert failed == []


@_NEEDS_COMPILER
@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("fault", _FAULTS)
def test_a_fault_fails_its_case(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new, number = _FAULTS[fault]
    text = _SOURCE.read_text()
    assert old in text, "bbr3.c was written anew: this fault, too"
    (tmp_path / "faulty.c").write_text(text.replace(old, new))
    monkeypatch.chdir(tmp_path)
    (outcome,) = run_cases("./faulty.c", [number])
    assert not outcome.passed


def test_the_command_prints_checks_and_trace(tmp_path: Path) -> None:
    out, _ = run(tmp_path, "conform", "bbr3", "--case", "1", "--case", "20")
    lines = out.splitlines()
    assert lines[0] == "pass   1  Exiting STARTUP on Bandwidth Plateau"
    assert any(line.strip().startswith("trace: startup 0.04, drain 0.") for line in lines)
    assert lines[-1].startswith("2 of 2 cases pass")
    rows = json.loads(run(tmp_path, "conform", "bbr3", "--case", "21", "--format", "json")[0])
    assert {row["case"] for row in rows} == {21}
    assert all(row["holds"] for row in rows)


@pytest.mark.parametrize("begin_ms", range(1_500, 1_540, 8))
def test_losses_end_startup_wherever_in_a_round_trip_they_begin(begin_ms: int) -> None:
    schedule = [
        {"at": f"{begin_ms} ms", "loss": "25 %"},
        {"at": f"{begin_ms + 160} ms", "loss": "0 %"},
    ]
    with SimulatedRuns() as runs:
        run = Bench("bbr3", ("", *PHASES), runs).run(
            "2 s",
            {"rate": "50 Mbit/s", "queue": "300 packets", "schedule": schedule},
            application={"kind": "paced", "rate": "20 Mbit/s", "write": "1448 bytes"},
        )
    assert run.stay(STARTUP).end_s - begin_ms / 1_000 < 2.5 * RTT_S


@_NEEDS_COMPILER
@pytest.mark.usefixtures("own_cache")
def test_an_algorithm_without_these_phases_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.c").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AlgorithmError, match=r"mine\.c does not report all phases .* startup, "):
        list(run_cases("./mine.c"))
    with pytest.raises(AlgorithmError, match=r"test case 23 does not exist; .* from 1 to 22"):
        list(run_cases("bbr3", [23]))
