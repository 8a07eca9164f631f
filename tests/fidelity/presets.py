"""Compares the simulator with stock kernels on every preset, and prints a table in Markdown.

Each preset is run with six algorithms in the simulator, with the stack profile of the kernel, and
in virtual machines (`--backend vm`). Runs that are stored are not repeated, so an interrupted
comparison continues where it stopped. Exits with status 1 if a row is outside the bounds.

The simulator's sockets have the limits of the guest's buffers (`tcp_rmem`, `tcp_wmem`), which the
kernel derives from the memory that is free when it boots; the profile's are those of a machine with
more memory.

The bounds are those of `make fidelity`. Where a value is outside, the run is repeated with more
seeds (`--seeds`), and the row is within the bounds if the ranges of both backends overlap.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from cwndlab.api.running import run_study
from cwndlab.api.study import Study
from cwndlab.backends import Simulator, VirtualMachines
from cwndlab.backends.vm.executor import VmExecutor
from cwndlab.backends.vm.packages import find_kernel
from cwndlab.errors import CwndlabError, RunsFailedError
from cwndlab.resolve.presets import presets
from cwndlab.validation.run import VM_HOST, with_buffers_of
from judge import PERCENT_BOUNDS, RETRANSMITTED_PERCENT, RETRANSMITTED_PKTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from cwndlab.backends.vm.packages import StockKernel

ALGORITHMS = ("reno", "cubic", "vegas", "westwood", "bbr", "htcp")
_BOUNDS = {
    "goodput_mbit_s": PERCENT_BOUNDS["goodput_mbps"],
    "srtt_mean_ms": PERCENT_BOUNDS["mean_rtt_ms"],
    "cwnd_mean_pkts": PERCENT_BOUNDS["mean_cwnd"],
}
_RETRANSMITTED = "retransmitted_pkts"
_COLUMNS = (*_BOUNDS, _RETRANSMITTED)
_HEAD = ("kernel", "link", "algorithm", "goodput Mbit/s", "mean srtt ms", "mean window")


@dataclass(frozen=True)
class Comparison:
    """The values of one algorithm on one preset: of the simulator, and of the kernel."""

    kernel: str
    preset: str
    algorithm: str
    simulated: dict[str, list[float]]
    measured: dict[str, list[float]]
    refusal: str = ""

    def is_within(self, column: str) -> bool:
        """Whether the medians of a column are within its bound of each other."""
        ours, theirs = (median(values[column]) for values in (self.simulated, self.measured))
        if column == _RETRANSMITTED:
            return abs(ours - theirs) <= max(
                RETRANSMITTED_PERCENT / 100 * theirs, RETRANSMITTED_PKTS
            )
        return abs(ours - theirs) <= _BOUNDS[column] / 100 * theirs

    def overlaps(self, column: str) -> bool:
        """Whether the ranges of a column overlap, if there are several runs."""
        ours, theirs = self.simulated[column], self.measured[column]
        return len(theirs) > 1 and max(min(ours), min(theirs)) <= min(max(ours), max(theirs))

    @property
    def outside(self) -> list[str]:
        """Columns that are outside their bounds; none if the run was refused."""
        if self.refusal:
            return []
        return [each for each in _COLUMNS if not (self.is_within(each) or self.overlaps(each))]

    @property
    def verdict(self) -> str:
        """The verdict as text."""
        if self.refusal:
            return self.refusal
        if self.outside:
            return f"outside: {', '.join(self.outside)}"
        is_near = all(self.is_within(each) for each in _COLUMNS)
        return "within the bounds" if is_near else "ranges overlap"


def main() -> int:
    """Compare, and print the table."""
    options = _options()
    rows: list[Comparison] = []
    try:
        for version in options.kernel:
            kernel = find_kernel(version)
            for preset in options.link or sorted(presets()):
                rows += _compared(options, version, kernel, preset)
                print(_text(rows[-len(options.algorithm) :]), file=sys.stderr)
    except CwndlabError as error:
        print(f"presets: {error}", file=sys.stderr)
        return 2
    print(_text(rows))
    return 1 if any(row.outside for row in rows) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kernel", nargs="+", default=["6.1", "6.12"], help="kernels to run")
    parser.add_argument("--link", nargs="+", help="only these presets")
    parser.add_argument("--algorithm", nargs="+", default=ALGORITHMS, help="the algorithms")
    parser.add_argument("--duration", default="30 s", help="length of each run")
    parser.add_argument("--seeds", type=int, default=10, help="runs where a value is outside")
    parser.add_argument("--jobs", type=int, help="virtual machines in parallel")
    parser.add_argument("--results", type=Path, default=Path("results/presets"), help="folder")
    return parser.parse_args()


def _compared(
    options: argparse.Namespace, version: str, kernel: StockKernel, preset: str
) -> Iterator[Comparison]:
    for algorithm in options.algorithm:
        row = _row(options, version, kernel, preset, algorithm, 1)
        if row.outside and options.seeds > 1:
            row = _row(options, version, kernel, preset, algorithm, options.seeds)
        yield row


def _row(
    options: argparse.Namespace,
    version: str,
    kernel: StockKernel,
    preset: str,
    algorithm: str,
    seeds: int,
) -> Comparison:
    study = Study(
        id="presets",
        link=preset,
        algorithm=algorithm,
        duration=options.duration,
        warm_up="0 s",
        repetitions=seeds,
        common_seeds=True,  # so that both have the same, though their settings differ
        stack=f"linux-{version}",
        user_host=VM_HOST,
        server_host=VM_HOST,
    )
    folder = options.results / f"{options.duration.replace(' ', '')}-{preset}-{algorithm}"
    where = VirtualMachines(kernel, options.jobs)
    executor = VmExecutor(kernel, options.jobs, may_fall_back=True)
    try:
        theirs = run_study(study, folder / kernel.release, backend=where, executor=executor)
        alike = with_buffers_of(theirs, study)
        ours = run_study(alike, folder / f"sim-{version}", backend=Simulator())
    except RunsFailedError as error:
        return Comparison(version, preset, algorithm, {}, {}, _reason(error))
    simulated, measured = (_values(each.flows()) for each in (ours, theirs))
    return Comparison(version, preset, algorithm, simulated, measured)


def _reason(error: RunsFailedError) -> str:
    """Return why runs failed: the refusal, without the advice."""
    text = str(error).partition("the first failure: ")[2] or str(error)
    return text.partition("; choose")[0].removeprefix("the run is not valid: ")


def _values(flows: pl.DataFrame) -> dict[str, list[float]]:
    return {column: [float(value) for value in flows[column]] for column in _COLUMNS}


def _text(rows: list[Comparison]) -> str:
    lines = [f"| {' | '.join((*_HEAD, 'retransmitted packets', 'verdict'))} |"]
    lines.append("|---" * (len(_HEAD) + 2) + "|")
    for row in rows:
        cells = [row.kernel, row.preset, row.algorithm]
        cells += [_beside(row, column) for column in _COLUMNS]
        lines.append(f"| {' | '.join((*cells, row.verdict))} |")
    return "\n".join(lines)


def _beside(row: Comparison, column: str) -> str:
    if row.refusal:
        return ""
    ours, theirs = (median(values[column]) for values in (row.simulated, row.measured))
    if column == _RETRANSMITTED:
        return f"{ours:.0f} ({theirs:.0f})"
    return f"{ours:.4g} ({theirs:.4g}, {100 * (ours - theirs) / theirs:+.2f} %)"


if __name__ == "__main__":
    sys.exit(main())
