"""Determine the fraction of time for which each cause limited the rate of a flow.

The endpoint's clocks measure, to the nanosecond, the time for which the *receive window*, the
*send buffer* or an idle application limited the flow. Linux has the same clocks in `tcp_info`. For
the rest of the time, each sample of the time series is assigned to one cause. The congestion window
is *full* if about as much data is in flight as it allows.

- *pacing*: the window is not full, and data is sent at the pacing rate;
- *application*: the window is not full, and no other cause limits the flow. If the application
  always has data, such a sample is instead assigned to *send buffer*: the application waits for
  space in the send buffer. Without segmentation offload, the endpoint's clock misses this wait;
- *cwnd by delay*: the window is full and has not grown for a long time although nothing was lost.
  The algorithm therefore limits the window for another reason, such as delay;
- *host queue*: the sender's own host limits the flow in one of three ways. The window is full, and
  its growth ends because the host refuses a segment. Or the window is full, and more packets wait
  in the host than at the link. Or packets wait in the host, and TCP Small Queues therefore keeps
  TCP from filling the window;
- *link queue*: the window is full, and packets wait at the link, so the link is always busy;
- *cwnd after loss*: the window is full, no packets wait, and a loss has made the window small;
- *slow start*: the window is full, no packets wait, and no loss has occurred yet.

Records of a real network do not show packets that wait in the host. Most of the time in which the
host limits such a flow is therefore assigned to other causes. Only a refused segment can be
inferred, from `TCP_INFO`: the window was reduced (CWR), there was no retransmission just before
this reduction, and the flow had neither congestion marks nor tail loss probes.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from cwndlab.stats.bootstrap import Floats

_LOSSES = ("recovery", "timeout", "cwr", "loss")
_REFUSAL = "host_refused"  # causes a "cwr" event at the same time
_FULL_SHARE = 0.9
_FULL_PKTS = 3  # a sample may fall between an ACK and the packets that the ACK releases
_PACED_SHARE = 0.8  # fraction of the pacing rate, which itself changes within an interval
_PACED_PKTS = 4  # packets over which the rate of a slow sender is averaged
_PACKET_MBIT = 0.012  # 1,500 bytes
_FEWEST_TO_AVERAGE = 2  # samples
_QUEUED_PKTS = 3  # a delayed ACK releases two or three packets at once, which form a short queue
_HELD_BACK_PKTS = 2  # Small Queues lets a socket queue at least this many packets in its host
_QUEUED_DELAY = 0.1  # fraction of the empty path's RTT; used if the link does not report its queue
# CUBIC's window changes by at most one packet for (1 / 0.4) ** (1 / 3) s before and after the
# middle of its plateau, 2.7 s in total.
_HELD_S = 4.0
_HELD_ROUND_TRIPS = 20
_FIRST_REDUCING = 2  # ca_state of TCP_INFO: CWR; recovery and loss have higher values
_JUST_BEFORE_ROUND_TRIPS = 2  # the sender knows the result of a retransmission one round trip later

_ALWAYS_HAVE_DATA = ("bulk", "sized")
_NO_EVENTS = pl.DataFrame(schema={"t_s": pl.Float64, "event": pl.String})

READ_OF_FLOWS = (
    "run",
    "flow",
    "application",
    "start_s",
    "end_s",
    "busy_s",
    "rwnd_limited_s",
    "sndbuf_limited_s",
    "rtt_mean_ms",
    "rtt_base_ms",
)
"""Columns of the table of flows that this analysis reads."""

Bools = npt.NDArray[np.bool_]


class Limit(StrEnum):
    """The causes that can limit the rate of a flow."""

    CWND_AFTER_LOSS = "cwnd after loss"
    CWND_BY_DELAY = "cwnd by delay"
    SLOW_START = "slow start"
    PACING = "pacing"
    RECEIVE_WINDOW = "receive window"
    SEND_BUFFER = "send buffer"
    APPLICATION = "application"
    LINK_QUEUE = "link queue"
    HOST_QUEUE = "host queue"


class Recorded(Protocol):
    """Those methods of `cwndlab.Results` that this module uses."""

    def flows(self) -> pl.DataFrame:
        """Return a table with one row for each flow of each run."""

    def samples(self, **where: object) -> pl.DataFrame:
        """Return the time series of all flows in the runs that `where` selects."""

    def events(self, **where: object) -> pl.DataFrame:
        """Return the losses, recoveries and timeouts of the runs that `where` selects."""


def limits(results: Recorded, runs: Sequence[str] | None = None) -> pl.DataFrame:
    """Return a table with the main limit of each flow, and the fraction of time for each limit.

    If `runs` is None, use all runs. Two kinds of flows are omitted: flows without a time series,
    and flows whose sender did not record for how long the receive window and the send buffer
    limited the flow.
    """
    flows = results.flows()
    if runs is not None:
        flows = flows.filter(pl.col("run").is_in(runs))
    keys = flows["run"].unique(maintain_order=True).to_list()
    samples = _by_flow(results.samples(run=keys))
    events = _by_flow(results.events(run=keys))
    rows = []
    for flow in flows.iter_rows(named=True):
        key = (flow["run"], flow["flow"])
        own = samples.get(key)
        shares = None if own is None else shares_of(flow, own, events.get(key, _NO_EVENTS))
        if shares is not None:
            most = max(shares, key=lambda limit: shares[limit])
            each = {limit.value: share for limit, share in shares.items()}
            rows.append({"run": key[0], "flow": key[1], "limited_by": most.value, **each})
    schema = {"run": pl.String, "flow": pl.Int64, "limited_by": pl.String}
    return pl.DataFrame(rows, schema={**schema, **{limit.value: pl.Float64 for limit in Limit}})


def main_limits(results: Recorded, runs: Mapping[str, str]) -> dict[str, str]:
    """Return the main limit of each algorithm's flows, such as "link queue 97 %".

    `runs` names one run for each algorithm. Fractions of time are averaged over the flows of this
    run. Algorithms with too few samples are omitted.
    """
    if not set(READ_OF_FLOWS) <= set(results.flows().columns):
        return {}
    found = limits(results, list(runs.values()))
    named = {}
    for contestant, run in runs.items():
        flows = found.filter(pl.col("run") == run)
        if not flows.is_empty():
            shares = {limit: float(flows[limit.value].to_numpy().mean()) for limit in Limit}
            most = max(shares, key=lambda limit: shares[limit])
            named[contestant] = f"{most.value} {100 * shares[most]:.0f} %"
    return named


def _by_flow(frame: pl.DataFrame) -> Mapping[tuple[object, ...], pl.DataFrame]:
    if not {"run", "flow"} <= set(frame.columns):
        return {}
    return frame.partition_by("run", "flow", as_dict=True)


def shares_of(
    flow: Mapping[str, object], samples: pl.DataFrame, events: pl.DataFrame
) -> dict[Limit, float] | None:
    """Return the fraction of time for which each cause limited a flow.

    Return None if there are too few samples, or if the flow had data to send but was never
    connected.
    """
    clocks = [_seconds(flow, name) for name in ("busy_s", "rwnd_limited_s", "sndbuf_limited_s")]
    start, end = _seconds(flow, "start_s"), _seconds(flow, "end_s")
    alive = samples.sort("t_s").filter((pl.col("t_s") > start) & (pl.col("t_s") <= end))
    if np.isnan([*clocks, start, end]).any() or end <= start or alive.is_empty():
        return None
    busy, rwnd, sndbuf = (min(clock / (end - start), 1.0) for clock in clocks)
    always = flow["application"] in _ALWAYS_HAVE_DATA
    if always and not busy:
        return None  # the connection was never established
    counted = _by_sample(flow, alive, _with_refusals(flow, events))
    # Times from the clocks are subtracted from the samples with less in flight than allowed.
    known = rwnd + sndbuf
    room = counted[Limit.APPLICATION] + counted[Limit.PACING]
    spare = max(room - known - (1 - busy), 0.0)
    scale = spare / room if room else 0.0
    shares = dict.fromkeys(Limit, 0.0) | counted
    shares[Limit.PACING] *= scale
    lacking = shares[Limit.APPLICATION] * scale
    shares[Limit.APPLICATION] = 1 - busy + (0.0 if always else lacking)
    shares[Limit.SEND_BUFFER] = sndbuf + (lacking if always else 0.0)
    shares[Limit.RECEIVE_WINDOW] = rwnd
    total = sum(shares.values())
    return {limit: share / total for limit, share in shares.items()}


def _by_sample(
    flow: Mapping[str, object], samples: pl.DataFrame, events: pl.DataFrame
) -> dict[Limit, float]:
    times = _floats(samples, "t_s")
    window = _floats(samples, "cwnd_pkts")
    flight = _floats(samples, "inflight_pkts")
    losses = np.sort(_floats(events.filter(pl.col("event").is_in(_LOSSES)), "t_s"))
    is_full = flight >= np.minimum(window - _FULL_PKTS, _FULL_SHARE * window)
    is_full |= window <= _FULL_PKTS
    is_paced = ~is_full & _is_at_pacing_rate(samples)
    round_trip = _seconds(flow, "rtt_mean_ms") / 1e3
    is_at_link = _is_queued(flow, samples)
    is_in_host = _is_in_host(samples, events, is_full=is_full, is_at_link=is_at_link)
    # While the window is being reduced, its size does not show the limit of the flow.
    is_reduced = _is_reduced(samples)
    ends = np.sort(np.concatenate([losses, times[is_reduced]]))
    is_held = _is_held(times, window, ends, round_trip)
    is_held &= is_full & ~is_in_host & ~is_reduced
    is_queued = is_full & ~is_in_host & ~is_held & is_at_link
    rest = is_full & ~is_in_host & ~is_held & ~is_queued
    has_lost = np.searchsorted(losses, times, side="right") > 0
    is_paced &= ~is_in_host
    labels = {
        Limit.PACING: is_paced,
        Limit.APPLICATION: ~is_full & ~is_in_host & ~is_paced,
        Limit.HOST_QUEUE: is_in_host,
        Limit.CWND_BY_DELAY: is_held,
        Limit.LINK_QUEUE: is_queued,
        Limit.CWND_AFTER_LOSS: rest & has_lost,
        Limit.SLOW_START: rest & ~has_lost,
    }
    return {limit: float(where.mean()) for limit, where in labels.items()}


def _is_at_pacing_rate(samples: pl.DataFrame) -> Bools:
    """Return, for each sample, whether the flow sent at the pacing rate just before the sample.

    At a low rate, no packet is sent in most sampling intervals. The throughput is therefore
    averaged over the time in which pacing releases four packets, but at least over one interval.
    """
    times = _floats(samples, "t_s")
    paced = _floats(samples, "pacing_rate_mbit_s")
    throughput = _floats(samples, "throughput_mbit_s")
    if len(times) < _FEWEST_TO_AVERAGE:
        return throughput >= _PACED_SHARE * paced
    steps = np.diff(times, prepend=times[0] - (times[1] - times[0]))
    sent_mbit = np.cumsum(np.nan_to_num(throughput) * steps)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed_s = np.nan_to_num(_PACED_PKTS * _PACKET_MBIT / paced, posinf=0.0)
    first = np.searchsorted(times, times - needed_s, side="left")
    first = np.minimum(first, np.arange(len(times)))
    is_longer = needed_s > steps
    span_s = times - times[first] + steps[first]
    mean = (sent_mbit - sent_mbit[first] + (np.nan_to_num(throughput) * steps)[first]) / span_s
    return np.where(is_longer, mean, throughput) >= _PACED_SHARE * paced


def _with_refusals(flow: Mapping[str, object], events: pl.DataFrame) -> pl.DataFrame:
    """Add an event for each segment that the sender's host probably refused.

    If the window was reduced (CWR) and nothing was lost just before this reduction, the reduction
    counts as a refusal. Return the events unchanged if the flow's record counts refusals, or if the
    flow had congestion marks or tail loss probes, which could explain the reductions.
    """
    others = (flow.get(name) for name in ("host_refusals", "ecn_marked_pkts", "tail_loss_probes"))
    is_told, *causes = others
    if is_told is not None or any(causes):
        return events
    reductions = events.filter(pl.col("event") == "cwr")
    times = _floats(reductions, "t_s")
    losses = np.sort(_floats(events.filter(pl.col("event").is_in(("recovery", "timeout"))), "t_s"))
    just_before = _JUST_BEFORE_ROUND_TRIPS * np.nan_to_num(_seconds(flow, "rtt_mean_ms")) / 1e3
    until = np.searchsorted(losses, times, side="right")
    is_own = until == np.searchsorted(losses, times - just_before, side="left")
    return pl.concat([events, reductions.filter(is_own).with_columns(event=pl.lit(_REFUSAL))])


def _is_held(times: Floats, window: Floats, losses: Floats, round_trip: float) -> Bools:
    """Return, for each sample, whether the window has stopped growing although nothing was lost.

    The window is compared with its size a few seconds earlier. Shortly after a loss or the start
    of the flow, it is compared with its size a few seconds later.
    """
    span = max(_HELD_S, _HELD_ROUND_TRIPS * (0.0 if np.isnan(round_trip) else round_trip))
    epoch = np.searchsorted(losses, times, side="right")
    held = np.zeros(len(times), dtype=np.bool_)
    last = len(times) - 1
    before = np.searchsorted(times, times - span, side="right") - 1
    after = np.searchsorted(times, times + span, side="left")
    for at in range(len(times)):
        if before[at] >= 0 and epoch[before[at]] == epoch[at]:
            held[at] = window[at] <= window[before[at]]
        elif after[at] <= last and epoch[after[at]] == epoch[at]:
            held[at] = window[after[at]] <= window[at]
    return held


def _is_reduced(samples: pl.DataFrame) -> Bools:
    if "ca_state" not in samples.columns:
        return np.zeros(len(samples), dtype=np.bool_)
    is_reduced: Bools = _floats(samples, "ca_state") >= _FIRST_REDUCING
    return is_reduced


def _is_in_host(
    samples: pl.DataFrame, events: pl.DataFrame, *, is_full: Bools, is_at_link: Bools
) -> Bools:
    """Return, for each sample, whether the packet queue in the sender's host limits the flow."""
    times = _floats(samples, "t_s")
    is_refusal = pl.col("event") == _REFUSAL
    reductions = (
        events.filter(pl.col("event").is_in((*_LOSSES, _REFUSAL)))
        .group_by("t_s")
        .agg(is_refusal.any().alias("is_refusal"))
        .sort("t_s")
    )
    by_host = reductions["is_refusal"].to_numpy().astype(np.bool_)
    before = np.searchsorted(_floats(reductions, "t_s"), times, side="right")
    # The reduction that ends an epoch stopped its growth; for the last epoch, which has no end, use
    # the reduction at its beginning.
    ends_in_host = np.append(by_host, False)[before]
    is_last = before == len(by_host)
    began_in_host = np.insert(by_host, 0, False)[before]
    is_refused: Bools = is_full & (ends_in_host | (is_last & began_in_host & ~is_at_link))
    if "host_queue_pkts" not in samples.columns:
        return is_refused
    waiting = np.nan_to_num(_floats(samples, "host_queue_pkts"))
    at_link = np.nan_to_num(_floats(samples, "queue_pkts"))
    is_longer: Bools = is_full & (waiting >= _QUEUED_PKTS) & (waiting > at_link)
    is_held_back: Bools = ~is_full & (waiting >= _HELD_BACK_PKTS)
    return is_refused | is_longer | is_held_back


def _is_queued(flow: Mapping[str, object], samples: pl.DataFrame) -> Bools:
    if samples["queue_pkts"].null_count() < len(samples):
        return _floats(samples, "queue_pkts") >= _QUEUED_PKTS
    # TCP_INFO reports only the smoothed round-trip time.
    round_trips = [name for name in ("rtt_ms", "srtt_ms") if name in samples.columns]
    rtt_ms = samples.select(rtt_ms=pl.coalesce(round_trips))
    return _floats(rtt_ms, "rtt_ms") > (1 + _QUEUED_DELAY) * _seconds(flow, "rtt_base_ms")


def _seconds(flow: Mapping[str, object], name: str) -> float:
    value = flow[name]
    return float(value) if isinstance(value, int | float) else float("nan")


def _floats(samples: pl.DataFrame, column: str) -> Floats:
    return samples[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
