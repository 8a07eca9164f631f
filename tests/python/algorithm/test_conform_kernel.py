"""`cwndlab conform --backend kernel`: the draft's cases on bbr3 in this machine's kernel."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from cwndlab.algorithm.conformance.suite import run_cases
from cwndlab.backends.kernel.recording import call_table, phases_of
from cwndlab.kernel.capabilities import obstacles
from cwndlab.kernel.replay import CALL_COLUMNS
from this_machine import needs_kernel
from user_code import mine

_SOURCE = Path(__file__).parents[3] / "algorithms" / "bbr3.c"
# Without root or BPF, no algorithm can be loaded; the reason says what is missing.
_NEEDS_LOADING = pytest.mark.skipif(
    bool(obstacles()), reason="; ".join(each.what for each in obstacles()) or "nothing"
)


def calls(*rows: tuple[str, int, int, int]) -> pl.DataFrame:
    """Return recorded calls (program, phase, time in us, snd_una) with one packet in flight."""
    return pl.DataFrame(
        [(name, 0, phase, t_us, una, una + 1000) for name, phase, t_us, una in rows],
        schema=CALL_COLUMNS,
        orient="row",
    )


def test_calls_of_the_handshake_are_omitted() -> None:
    table = call_table(
        calls(
            ("x_cong_control", 7, 1_000_000, 0),
            ("x_init", 1, 1_000_100, 0),
            ("x_cong_control", 1, 1_040_000, 1000),
        ),
        500_000_000,
    )
    assert table["program"].to_list() == ["x_init", "x_cong_control"]
    assert table["t_s"].to_list() == pytest.approx([0.5001, 0.54])


def test_sequence_numbers_do_not_wrap() -> None:
    end = 2**32 - 500
    table = call_table(calls(("x_init", 1, 0, end), ("x_cong_control", 1, 9, 500)), 0)
    assert table["snd_una"].to_list() == [0, 1000]
    assert table["snd_nxt"].to_list() == [1000, 2000]


def test_phases_are_changes_of_what_calls_report() -> None:
    table = call_table(
        calls(
            ("x_init", 1, 0, 0),
            ("x_cong_control", 1, 1_000_000, 1),
            ("x_min_tso_segs", 0, 2_000_000, 1),
            ("x_cong_control", 2, 3_000_000, 2),
            ("x_cong_control", 1, 4_000_000, 3),
        ),
        0,
    )
    assert phases_of(table).rows() == [(0.0, 1), (3.0, 2), (4.0, 1)]


@needs_kernel
@_NEEDS_LOADING
@pytest.mark.usefixtures("own_cache")
def test_cases_pass_on_this_kernel() -> None:
    """Run cases 1 (Startup), 5 (Up) and 20 (ProbeRTT); the others take minutes, see a note.

    A failed case is repeated up to twice, because other tests use the processors at the same time.
    """
    left = [1, 5, 20]
    for _ in range(3):
        failed = {
            outcome.case.number: [f"{each.wanted}: {each.found}" for each in outcome.checks]
            for outcome in run_cases("bbr3", left, on_kernel=True)
            if not all(check.holds for check in outcome.checks)
        }
        left = list(failed)
        if not left:
            break
    assert failed == {}


@needs_kernel
@_NEEDS_LOADING
@pytest.mark.usefixtures("own_cache")
def test_a_fault_fails_its_case_on_this_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = "return cc_params(sk)->drain_gain;", "return 230;"
    assert old in _SOURCE.read_text()
    mine(tmp_path, _SOURCE.read_text().replace(old, new))
    monkeypatch.chdir(tmp_path)
    (outcome,) = run_cases("./mine.c", [3], on_kernel=True)
    assert "pacing gain of Drain (0.5 expected)" in {
        check.wanted for check in outcome.checks if not check.holds
    }
