"""The rows that `make fidelity` reads, and the scenarios that it creates from them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

Modules = tuple[Any, Any, Any, Any]

FOLDER = Path(__file__).parents[1] / "fidelity"
PROGRAM = ("rows", "simulate", "judge", "acks")


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[Modules]:
    """Import the program's modules, which are next to it and not in a package."""
    for name in PROGRAM:  # pytest has a package `judge`, if tests of that folder came before
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(FOLDER))
    import acks  # type: ignore[import-not-found]  # noqa: PLC0415  beside the program
    import rows  # type: ignore[import-not-found]  # noqa: PLC0415  beside the program
    import simulate  # type: ignore[import-not-found]  # noqa: PLC0415  beside the program

    import judge  # noqa: PLC0415  beside the program

    yield rows, simulate, judge, acks
    for name in PROGRAM:
        sys.modules.pop(name, None)


def read(modules: Modules, folder: Path, text: str) -> list[Any]:
    path = folder / "rows.csv"
    path.write_text(text, encoding="utf-8")
    return list(modules[0].read_rows(path))


def test_bare_numbers_and_units_are_the_same(modules: Modules, tmp_path: Path) -> None:
    bare, human = read(
        modules,
        tmp_path,
        "cc,duration_s,rate,delay,limit,loss,starts,rate_steps,delay_steps,blackouts\n"
        "reno,30,10,40,50,1,0;10,10:5;20:10,5:80,10-13;20-21\n"
        "reno,30,10 Mbit/s,0.04 s,50 packets,1 %,0s;10 s,"
        "10s:5 Mbit/s;20s:10000 kbit/s,5s:80 ms,10s-13s;20-21\n",
    )
    assert bare == human
    assert bare.link.rate_bit_s == 10_000_000
    assert bare.link.loss_ppb == 10_000_000
    assert bare.link.rate_steps == ((10**10, 5_000_000), (2 * 10**10, 10_000_000))
    assert bare.link.blackouts[0] == (10**10, 13 * 10**9)


def test_the_reference_summary_itself_is_a_row_file(modules: Modules, tmp_path: Path) -> None:
    (row,) = read(
        modules,
        tmp_path,
        "scenario,cc,competitor,flow,rep,duration_s,window_s,goodput_mbps,mean_qlen,ns_TCPFullUndo\n"
        "S2,cubic,,0,1,40.00,39.00,9.5639,100,0\n",
    )
    assert (row.link.rate_bit_s, row.link.delay_ns, row.link.limit_pkts) == (10**7, 10**8, 500)
    assert row.reference == {"goodput_mbps": 9.5639}


@pytest.mark.parametrize(
    ("header", "line", "message"),
    [
        ("cc,rate,delay,duration_s,bogus", "reno,10,40,30,1", "unknown column 'bogus'"),
        ("cc,rate,delay,duration_s", "reno,ten,40,30", "row 1, column rate: 'ten'"),
        ("cc,rate,delay,duration_s", "reno,10 Mbps/s,40,30", "column rate"),
        ("cc,rate,delay", "reno,10,40", "neither duration_s nor bytes"),
        ("cc,rate,delay,duration_s", "reno,,40,30", "column rate is blank"),
        ("cc,rate,delay,duration_s,flow", "reno,10,40,30,1", "no start"),
        ("cc,rate,delay,duration_s,blackouts", "reno,10,40,30,13-10", "column blackouts"),
        ("cc,rate,delay,duration_s", "reno,10,40,30,7", "more fields"),
    ],
)
def test_errors_name_the_place(
    modules: Modules, tmp_path: Path, header: str, line: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        read(modules, tmp_path, f"{header}\n{line}\n")


def test_competitors_are_told_apart_in_both_ways_of_writing(
    modules: Modules, tmp_path: Path
) -> None:
    header = "cc,competitor,flow,duration_s,rate,delay,starts\n"
    own = read(
        modules, tmp_path, header + "reno,cubic,0,40,10,40,0;10\ncubic,reno,1,30,10,40,0;10\n"
    )
    both = read(
        modules, tmp_path, header + "reno,cubic,0,40,10,40,0;10\nreno,cubic,1,30,10,40,0;10\n"
    )
    second = read(modules, tmp_path, header + "cubic,reno,1,30,10,40,0;10\n")
    simulate = modules[1]
    for rows in (own, both, second):
        assert [simulate.algorithm(rows, flow) for flow in (0, 1)] == ["reno", "cubic"]
        assert simulate.duration_ns(rows) == 40 * 10**9


def test_windows_are_those_of_the_reference(modules: Modules, tmp_path: Path) -> None:
    alone, first, second = read(
        modules,
        tmp_path,
        "cc,flow,duration_s,window_s,rate,delay,starts\n"
        "reno,0,30,29,10,40,0\nreno,0,40,28,10,40,0;10\nreno,1,30,,10,40,0;10\n",
    )
    assert [modules[1].window_start_s(row) for row in (alone, first, second)] == [1, 12, 12]


def test_verdicts_have_their_bounds(modules: Modules, tmp_path: Path) -> None:
    rows, simulate, judge, _ = modules
    (row,) = read(
        modules,
        tmp_path,
        "cc,duration_s,rate,delay,goodput_mbps,retrans_packets\nreno,30,10,40,9.5,10\n",
    )
    assert rows.JUDGED

    def verdicts(goodput: float, retransmitted: float) -> list[bool | None]:
        values = {"goodput_mbps": goodput, "retrans_packets": retransmitted}
        judged = judge.judge_single(row, [simulate.Measured(values, ())], {})
        return [verdict.is_ok for verdict in judged]

    assert verdicts(9.5 * 1.009, 15) == [True, True]
    assert verdicts(9.5 * 1.011, 16) == [False, False]


def test_the_second_loss_ends_the_comparison_of_acks(modules: Modules) -> None:
    acks = modules[3]
    reference = acks.Reference(
        [acks.Ack(i / 10, 1000 * i, 1000 * (i + 10), 10 + i, 2**31 - 1, 0, 0) for i in range(10)],
        [2, 8],
    )
    own = list(reference.acks)
    assert acks.compare(reference, own).percent == 100
    own[9] = acks.Ack(0.9, 9000, 19000, 99, 2**31 - 1, 0, 0)
    assert acks.compare(reference, own).percent == 100
    own[4] = acks.Ack(0.4, 4000, 14000, 99, 2**31 - 1, 0, 0)
    comparison = acks.compare(reference, own)
    assert (comparison.equal, comparison.first_difference) == (7, 4)


def runs(modules: Modules, metric: str, values: list[float]) -> list[Any]:
    return [modules[1].Measured({metric: value}, ()) for value in values]


def test_chance_is_judged_by_median_and_range(modules: Modules, tmp_path: Path) -> None:
    judge = modules[2]
    header = "scenario,cc,rep,duration_s,rate,delay,goodput_mbps,mean_rtt_ms\n"
    text = "S1,cdg,1,30,10,40,9.0,50\nS1,cdg,2,30,10,40,8.6,50\nS1p,cdg,1,30,10,40,8.8,51\n"
    rows = read(modules, tmp_path, header + text + "S2,cdg,1,30,10,100,9.0,50\n")
    scatter = judge.kernel_scatter(rows)
    # three runs on one link, regardless of the scenario's name, and one on another link
    assert [len(scatter[row.repeated_key]) for row in rows] == [2, 2, 2, 0]
    assert scatter[rows[0].repeated_key]["goodput_mbps"] == pytest.approx(100 * 0.4 / 8.8)

    def is_ok(row: Any, metric: str, values: list[float]) -> bool:  # noqa: ANN401  a row
        measured = runs(modules, metric, values)
        verdicts = judge.judge_single(row, measured, scatter[row.repeated_key])
        return bool(next(v.is_ok for v in verdicts if v.metric == metric))

    # within twice 4.55 % of the median, and in the range
    assert is_ok(rows[0], "goodput_mbps", [8.2, 8.3, 9.1])
    assert not is_ok(rows[0], "goodput_mbps", [8.0, 8.1, 9.1])
    # near the median, but none of our runs is as high: a range ends 1 % beyond its last run
    assert is_ok(rows[0], "goodput_mbps", [8.3, 8.6, 8.92])
    assert not is_ok(rows[0], "goodput_mbps", [8.3, 8.6, 8.90])
    # the RTT scatters by 2 % in the measurements; on the other link, it was measured once
    assert is_ok(rows[0], "mean_rtt_ms", [48.1, 48.1, 52.0])
    assert not is_ok(rows[3], "mean_rtt_ms", [48.1, 48.1, 52.0])
    assert is_ok(rows[3], "goodput_mbps", [8.2, 8.3, 9.1])


def test_what_is_not_drawn_is_not_forgiven_by_repetitions(modules: Modules, tmp_path: Path) -> None:
    header = "cc,rep,duration_s,rate,delay,goodput_mbps\n"
    first, second = read(modules, tmp_path, header + "reno,1,30,10,40,9\nreno,2,30,10,40,8\n")
    judge = modules[2]
    scatter = judge.kernel_scatter([first, second])[first.repeated_key]
    (verdict,) = judge.judge_single(first, runs(modules, "goodput_mbps", [8.8]), scatter)
    assert verdict.is_ok is False


def test_a_late_comer_by_chance_lies_in_our_range(modules: Modules, tmp_path: Path) -> None:
    header = "scenario,cc,flow,duration_s,goodput_mbps\n"

    def late_comer(cc: str, ours: list[tuple[float, float]]) -> Any:  # noqa: ANN401  a verdict
        text = f"S6,{cc},0,40,4.0\nS6,{cc},1,30,5.0\n"
        rows = read(modules, tmp_path, header + text)
        measured = [
            [modules[1].Measured({"goodput_mbps": value}, ()) for value in run] for run in ours
        ]
        verdicts = modules[2].judge_several(rows, measured)
        return next(v for v in verdicts if v.metric == "late_comer")

    # the kernel's late-comer has 5.6 percentage points more than half
    assert late_comer("bbr", [(5, 4), (5, 4), (3.5, 5.5)]).is_ok
    assert not late_comer("bbr", [(5, 4), (5, 4), (4.3, 4.7)]).is_ok
    assert late_comer("reno", [(4.4, 4.6), (5, 4), (5, 4)]).is_ok
    assert not late_comer("reno", [(4.6, 4.4), (4, 5), (4, 5)]).is_ok


def test_timeouts_are_those_of_the_nearest_run(modules: Modules, tmp_path: Path) -> None:
    header = "scenario,cc,duration_s,rto_at_s\n"
    (row,) = read(modules, tmp_path, header + "S9,cdg,30,10.5;11.0;12.0\n")
    run = modules[1].Measured

    def is_ok(*times: tuple[float, ...]) -> bool:
        verdicts = modules[2].judge_single(row, [run({}, each) for each in times], {})
        return bool(verdicts[-1].is_ok)

    assert is_ok((10.4, 10.8, 11.6), (10.51, 11.02, 12.0))
    assert not is_ok((10.4, 10.8, 11.6), (10.5, 11.0))
