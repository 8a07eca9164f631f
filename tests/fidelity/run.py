"""Compares the simulator with a real kernel, row by row; exits 1 where a row falls outside."""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from pathlib import Path

import acks
import rows as rows_module
import simulate
from rows import Row, RowError, read_rows

import judge
from cwndlab import _core

HERE = Path(__file__).resolve().parent
DEFAULT_ROWS = (HERE / "linux-6.1.csv", HERE / "linux-6.1-further.csv")
DEFAULT_REFERENCE = HERE.parents[2] / "shared" / "reference" / "linux61"
SEEDS = 20
LATER_START_NS = 50_000_000
# What the kernel drew decides these windows ACK by ACK; the tests of crates/cc replay its ACKs.
DRAWN_WINDOWS = ("cdg", "nv")


def main() -> int:
    """Run the comparison."""
    options = _options()
    try:
        rows = _chosen(options)
    except (RowError, OSError) as error:
        print(f"fidelity: {error}", file=sys.stderr)
        return 2
    if options.trace is not None:
        return _trace(rows, options)
    runs: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in rows:
        runs[row.run_key].append(row)
    specs, owners = [], []
    for key, group in runs.items():
        group.sort(key=lambda row: row.flow)
        for variation in _variations(group, options):
            is_traced = group[0].scenario == "S1p"
            spec = simulate.scenario(group, variation, stack=options.stack, ack_trace=is_traced)
            specs.append(spec)
            owners.append(key)
    results = simulate.run_all(specs, options.jobs)
    verdicts: list[judge.Verdict] = []
    notes: list[str] = []
    scatter = judge.kernel_scatter(rows)
    for key, group in runs.items():
        own = [result for owner, result in zip(owners, results, strict=True) if owner == key]
        measured = [[simulate.measure(row, result) for row in group] for result in own]
        if len(group[0].starts_ns) == 1:
            own_scatter = scatter[group[0].repeated_key]
            verdicts += judge.judge_single(group[0], [run[0] for run in measured], own_scatter)
        else:
            verdicts += judge.judge_several(group, measured)
        if group[0].scenario == "S1p":
            _judge_acks(group[0], own[0], options.reference, verdicts, notes)
    _print(verdicts, notes, only_failures=options.failures)
    return int(any(verdict.is_ok is False for verdict in verdicts))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=rows_module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=Path, action="append", default=[], metavar="FILE.csv",
                        help="judge the rows of this file too")  # fmt: skip
    parser.add_argument("--only-rows", action="store_true", help="without the built-in rows")
    parser.add_argument("--scenario", help="only these scenarios, such as S1,S2")
    parser.add_argument("--algorithm", help="only these algorithms, such as reno,cubic")
    parser.add_argument("--stack", default="linux-6.1", help="stack profile of both ends")
    parser.add_argument("--reference", type=Path, default=DEFAULT_REFERENCE, metavar="FOLDER",
                        help="folder with S1p/*.perack.csv.gz")  # fmt: skip
    parser.add_argument("--phase", type=int, default=0, metavar="US",
                        help="moves every run against the kernel's ticks")  # fmt: skip
    parser.add_argument("--failures", action="store_true", help="print only what falls outside")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at a time")
    parser.add_argument("--trace", nargs="?", const="0:40", metavar="FIRST:COUNT",
                        help="print ACKs of S1p beside the reference's, from the first that "
                        "differs if FIRST is 'diff'")  # fmt: skip
    return parser.parse_args()


def _chosen(options: argparse.Namespace) -> list[Row]:
    paths = [*([] if options.only_rows else DEFAULT_ROWS), *options.rows]
    rows = [row for path in paths for row in read_rows(path)]
    if options.scenario:
        rows = [row for row in rows if row.scenario in options.scenario.split(",")]
    if options.algorithm:
        rows = [row for row in rows if row.cc in options.algorithm.split(",")]
    ours = {entry["name"] for entry in _core.algorithms()}
    missing = sorted({row.cc for row in rows} | {row.competitor for row in rows} - {""} - ours)
    missing = [name for name in missing if name and name not in ours]
    if missing:
        print(f"left out, not built yet: {', '.join(missing)}")
    return [row for row in rows if {row.cc, row.competitor or row.cc} <= ours]


def _variations(group: list[Row], options: argparse.Namespace) -> list[simulate.Variation]:
    phase_ns = options.phase * 1000
    if len(group[0].starts_ns) > 1:
        return [
            simulate.Variation(
                seed=seed + 1,
                later_start_ns=LATER_START_NS * seed // (SEEDS - 1),
                phase_ns=phase_ns,
            )
            for seed in range(SEEDS)
        ]
    seeds = SEEDS if any(row.is_random for row in group) else 1
    return [simulate.Variation(seed=seed + 1, phase_ns=phase_ns) for seed in range(seeds)]


def _judge_acks(
    row: Row,
    result: dict[str, object],
    folder: Path,
    verdicts: list[judge.Verdict],
    notes: list[str],
) -> None:
    path = folder / "S1p" / f"S1p_{row.cc}_r{row.rep}.perack.csv.gz"
    if not path.exists():
        notes.append(f"{judge.name(row)}: no {path}, ACKs not compared (--reference)")
        return
    reference = acks.read_reference(path)
    own = acks.ours(result)
    comparison = acks.compare(reference, own)
    verdicts.append(
        judge.Verdict(
            judge.name(row),
            "cwnd_by_ack",
            f"{comparison.compared} ACKs",
            f"{comparison.equal} equal",
            f"{comparison.percent:.2f} %",
            "" if row.cc in DRAWN_WINDOWS else f"{acks.AGREEMENT_PERCENT:g} %",
            None if row.cc in DRAWN_WINDOWS else comparison.percent >= acks.AGREEMENT_PERCENT,
        )
    )
    if comparison.first_difference is None:
        notes.append(f"{judge.name(row)}: no ACK differs up to the second loss")
        return
    first = comparison.first_difference
    notes.append(f"{judge.name(row)}: the first ACK that differs is number {first}")
    notes.append(acks.side_by_side(reference, own, first - 2, 5))


def _trace(rows: list[Row], options: argparse.Namespace) -> int:
    first_text, _, count_text = options.trace.partition(":")
    for row in rows:
        path = options.reference / "S1p" / f"S1p_{row.cc}_r{row.rep}.perack.csv.gz"
        if row.scenario != "S1p" or not path.exists():
            continue
        variation = simulate.Variation(phase_ns=options.phase * 1000)
        spec = simulate.scenario([row], variation, stack=options.stack, ack_trace=True)
        own = acks.ours(simulate.run(spec))
        reference = acks.read_reference(path)
        comparison = acks.compare(reference, own)
        first = (comparison.first_difference or 0) - 5 if first_text == "diff" else int(first_text)
        print(f"{judge.name(row)}: {comparison.percent:.2f} % of {comparison.compared} equal")
        print(acks.side_by_side(reference, own, max(first, 0), int(count_text or 40)))
    return 0


def _print(verdicts: list[judge.Verdict], notes: list[str], *, only_failures: bool) -> None:
    words = {True: "ok", False: "FAIL", None: ""}
    table = [("row", "value", "Linux", "ours", "error", "bound", "")]
    for verdict in verdicts:
        if only_failures and verdict.is_ok is not False:
            continue
        cells = (verdict.row, verdict.metric, verdict.reference, verdict.ours, verdict.error)
        table.append((*cells, verdict.bound, words[verdict.is_ok]))
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    for note in notes:
        print(note)
    judged = [verdict for verdict in verdicts if verdict.is_ok is not None]
    failed = sum(not verdict.is_ok for verdict in judged)
    print(f"{len(judged)} values judged, {failed} outside")


if __name__ == "__main__":
    sys.exit(main())
