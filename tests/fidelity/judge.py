"""Whether the simulator is close enough to the kernel, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rows import Row
    from simulate import Measured

PERCENT_BOUNDS = {"goodput_mbps": 1.0, "mean_rtt_ms": 3.0, "mean_cwnd": 3.0, "last_rx_ms": 2.0}
RETRANSMITTED_PERCENT = 15.0
RETRANSMITTED_PKTS = 5.0
SHARE_POINTS = 10.0
SUM_PERCENT = 1.0
# How far timeouts may be apart: the retransmission timer's ticks, and the RTT that it follows.
TIMEOUT_PERCENT = 5.0

SHOWN_TIMEOUTS = 8

# How far runs of the kernel itself are apart where it draws random numbers or is chaotic, for rows
# of which there is one: in per cent, of shares in points.
KERNEL_SCATTER = {("cdg", "goodput_mbps"): 4.5, ("nv", "mean_rtt_ms"): 4.5, ("bbr", "share"): 8.0}

# What a row of each kind is judged by; everything else that it has is shown.
SHORT_METRICS = ("last_rx_ms",)
BLACKOUT_METRICS = ("ns_TCPTimeouts", "max_backoff", "rto_at_s")
BULK_METRICS = ("goodput_mbps", "mean_rtt_ms", "mean_cwnd", "retrans_packets")


Scatter = dict[str, float]


@dataclass(frozen=True)
class Verdict:
    """One value of a row beside ours."""

    row: str
    metric: str
    reference: str
    ours: str
    error: str
    bound: str
    is_ok: bool | None


def name(row: Row) -> str:
    """How a row is called in the table."""
    parts = [row.scenario, row.cc]
    if row.competitor and row.competitor != row.cc:
        parts.append(f"vs {row.competitor}")
    if row.size_bytes is not None:
        parts.append(f"{row.size_bytes // 1000} kB")
    if row.rep != 1:
        parts.append(f"r{row.rep}")
    if len(row.starts_ns) > 1:
        parts.append(f"f{row.flow}")
    return " ".join(parts)


def judged_metrics(row: Row) -> tuple[str, ...]:
    """By which values a row is judged."""
    if row.size_bytes is not None:
        return SHORT_METRICS
    if row.link.blackouts:
        return BLACKOUT_METRICS
    return BULK_METRICS


def kernel_scatter(rows: list[Row]) -> dict[tuple[object, ...], Scatter]:
    """How far the kernel's repetitions of each row are apart, in per cent of their mean."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(row.repeated_key, []).append(row)
    scatter: dict[tuple[object, ...], Scatter] = {}
    for key, group in groups.items():
        scatter[key] = {}
        for metric in PERCENT_BOUNDS:
            values = [row.reference[metric] for row in group if metric in row.reference]
            if len(values) > 1 and fmean(values):
                scatter[key][metric] = 100 * (max(values) - min(values)) / fmean(values)
    return scatter


def judge_single(row: Row, ours: list[Measured], scatter: Scatter) -> list[Verdict]:
    """The verdicts on a flow that was alone; several runs of ours where the kernel draws.

    Args:
        row: the row.
        ours: our runs of it.
        scatter: how far the kernel's runs of it are apart.
    """
    verdicts = []
    judged = judged_metrics(row)
    for metric, reference in row.reference.items():
        values = [measured.values[metric] for measured in ours if metric in measured.values]
        if not values:
            verdicts.append(_missing(row, metric, reference, is_judged=metric in judged))
            continue
        is_judged = metric in judged
        verdicts.append(_verdict(row, metric, reference, values, scatter, is_judged=is_judged))
    if row.rto_at_s:
        verdicts.append(_timeouts(row, ours))
    return verdicts


def _verdict(
    row: Row,
    metric: str,
    reference: float,
    values: list[float],
    scatter: Scatter,
    *,
    is_judged: bool,
) -> Verdict:
    value = median(values)
    if metric in PERCENT_BOUNDS:
        own = max(KERNEL_SCATTER.get((row.cc, metric), 0.0), scatter.get(metric, 0.0))
        bound = max(PERCENT_BOUNDS[metric], 2 * own if row.is_random else 0.0)
        error = 100 * (value - reference) / reference if reference else 0.0
        is_ok, error_text, bound_text = abs(error) <= bound, f"{error:+.2f} %", f"{bound:.3g} %"
        bound = PERCENT_BOUNDS[metric] / 100 * reference
    elif metric == "retrans_packets":
        bound = max(RETRANSMITTED_PERCENT / 100 * reference, RETRANSMITTED_PKTS)
        is_ok, error_text = abs(value - reference) <= bound, f"{value - reference:+g}"
        bound_text = f"{bound:.0f}"
    else:
        is_ok, error_text, bound_text = value == reference, f"{value - reference:+g}", "equal"
        bound = 0.0
    ours = f"{value:.5g}"
    if len(values) > 1:
        ours += f" ({min(values):.5g}..{max(values):.5g})"
        # The range ends where a run of ours would be as near as a run without chance must be.
        is_in_range = min(values) - bound <= reference <= max(values) + bound
        if row.link.loss_ppb:
            # One draw of the kernel's: it lies where ours do.
            is_ok, bound_text = is_in_range, "in range"
        else:
            is_ok, bound_text = is_ok and is_in_range, f"{bound_text} and in range"
    if not is_judged:
        return Verdict(name(row), metric, f"{reference:g}", ours, error_text, "", None)
    return Verdict(name(row), metric, f"{reference:g}", ours, error_text, bound_text, is_ok)


def _missing(row: Row, metric: str, reference: float, *, is_judged: bool) -> Verdict:
    is_ok = False if is_judged else None
    return Verdict(name(row), metric, f"{reference:g}", "none", "", "", is_ok)


def _timeouts(row: Row, ours: list[Measured]) -> Verdict:
    """The distances of the timeouts from each other, which is what back-off means."""

    def gaps(times: tuple[float, ...]) -> list[float]:
        return [after - before for before, after in pairwise(times)]

    # Where chance decides in what state the blackout finds the flow: the run that it finds as it
    # found the kernel's.
    reference = gaps(row.rto_at_s)

    def error(run: Measured) -> float:
        own = gaps(run.rto_at_s)
        if len(own) != len(reference):
            return float("inf")
        errors = [100 * (o - r) / r for r, o in zip(reference, own, strict=True)]
        return max(errors, key=abs, default=0.0)

    nearest = min(ours, key=lambda run: abs(error(run)))
    worst = error(nearest)
    bound = f"{TIMEOUT_PERCENT:g} % of each distance"
    return Verdict(
        name(row),
        "rto_at_s",
        " ".join(f"{t:.2f}" for t in row.rto_at_s),
        " ".join(f"{t:.2f}" for t in nearest.rto_at_s[:SHOWN_TIMEOUTS]) or "none",
        f"{worst:+.1f} %",
        bound if len(ours) == 1 else f"{bound}, in one of {len(ours)} runs",
        abs(worst) <= TIMEOUT_PERCENT,
    )


def judge_several(rows: list[Row], ours: list[list[Measured]]) -> list[Verdict]:
    """The verdicts on flows that competed.

    Args:
        rows: the rows of one run, by flow.
        ours: for each of our runs, each of the rows' flows.
    """
    verdicts = []
    goodputs = [[measured.values["goodput_mbps"] for measured in run] for run in ours]
    reference = [row.reference.get("goodput_mbps") for row in rows]
    known = [value for value in reference if value is not None]
    label = name(rows[0]).rsplit(" ", 1)[0]
    if len(known) == len(rows[0].starts_ns):
        total = sum(known)
        sums = [sum(run) for run in goodputs]
        error = 100 * (median(sums) - total) / total
        own = max(KERNEL_SCATTER.get((row.cc, "goodput_mbps"), 0.0) for row in rows)
        bound = max(SUM_PERCENT, 2 * own)
        verdicts.append(
            Verdict(
                label,
                "sum_mbps",
                f"{total:.4f}",
                f"{median(sums):.4f}",
                f"{error:+.2f} %",
                f"{bound:g} %",
                abs(error) <= bound,
            )
        )
        for index, row in enumerate(rows):
            shares = [100 * run[index] / sum(run) for run in goodputs]
            verdicts.append(_share(row, 100 * known[index] / total, shares))
        verdicts.append(_late_comer(label, rows, known, goodputs))
    for index, row in enumerate(rows):
        for metric, value in row.reference.items():
            values = [run[index].values[metric] for run in ours if metric in run[index].values]
            if values and metric != "ns_TCPTimeouts":
                verdicts.append(_verdict(row, metric, value, values, {}, is_judged=False))
    return verdicts


def _share(row: Row, reference: float, shares: list[float]) -> Verdict:
    bound = max(SHARE_POINTS, 2 * KERNEL_SCATTER.get((row.cc, "share"), 0.0))
    error = median(shares) - reference
    is_in_range = min(shares) <= reference <= max(shares) or not row.is_random
    return Verdict(
        name(row),
        "share_pct",
        f"{reference:.1f}",
        f"{median(shares):.1f} ({min(shares):.1f}..{max(shares):.1f})",
        f"{error:+.1f}",
        f"{bound:g} points{' and in range' if row.is_random else ''}",
        abs(error) <= bound and is_in_range,
    )


def _late_comer(
    label: str, rows: list[Row], reference: list[float], goodputs: list[list[float]]
) -> Verdict:
    last = max(range(len(rows)), key=lambda index: rows[index].starts_ns[rows[index].flow])

    def advantage(run: list[float]) -> float:
        return 100 * (run[last] / sum(run) - 1 / len(run))

    # The kernel's figure is of one run, and in many of them the side depends on the start's
    # microseconds: the run that starts as the kernel's did is the one to compare. Where chance
    # decides, the kernel's is one of the runs that there may be.
    kernel = advantage(reference)
    advantages = [advantage(run) for run in goodputs]
    if rows[0].is_random:
        ours = median(advantages)
        is_ok, bound = min(advantages) <= kernel <= max(advantages), "in range"
    else:
        ours = advantages[0]
        is_ok, bound = (kernel > 0) == (ours > 0), "same side"
    return Verdict(
        label,
        "late_comer",
        f"{kernel:+.1f}",
        f"{ours:+.1f} ({min(advantages):+.1f}..{max(advantages):+.1f})",
        f"{ours - kernel:+.1f}",
        bound,
        is_ok,
    )
