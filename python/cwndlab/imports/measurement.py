"""Represent a run that was read from a file, in the same columns as simulated runs.

A value that the file does not contain is None, never 0, and `notes` states the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cwndlab.errors import MeasurementError
from cwndlab.results.columns import Kind, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from cwndlab.imports.spool import LongSeries

    Numbers = npt.NDArray[np.float64]

FLOW_COLUMNS = (
    "flow",
    "direction",
    "user",
    "algorithm",
    "sent_by",
    "stack",
    "receiver_algorithm",
    "receiver_stack",
    "application",
    "start_s",
    "end_s",
    "window_s",
    "goodput_mbit_s",
    "throughput_mbit_s",
    "delivered_bytes",
    "rtt_mean_ms",
    "rtt_p50_ms",
    "rtt_p95_ms",
    "rtt_p99_ms",
    "rtt_base_ms",
    "srtt_mean_ms",
    "queueing_delay_mean_ms",
    "sent_pkts",
    "retransmitted_pkts",
    "retransmitted_pct",
    "retransmission_bursts",
    "retransmission_burst_mean_pkts",
    "retransmission_burst_max_pkts",
    "timeouts",
    "spurious_timeouts",
    "recoveries",
    "tail_loss_probes",
    "host_refusals",
    "ecn_marked_pkts",
    "cwnd_mean_pkts",
    "cwnd_max_pkts",
    "completion_ms",
    "utilisation_pct",
    "busy_s",
    "rwnd_limited_s",
    "sndbuf_limited_s",
    "responses",
    "response_p50_ms",
    "response_p95_ms",
    "response_p99_ms",
    "response_geometric_mean_ms",
    "video_bitrate_mbit_s",
    "video_rebuffering_pct",
    "video_startup_ms",
    "datagram_loss_pct",
    "datagram_delay_p95_ms",
)
"""Columns of the table `flows` of a measurement: the columns of simulations, and `sent_by`."""

SAMPLE_COLUMNS = (
    "flow",
    "t_s",
    "cwnd_pkts",
    "ssthresh_pkts",
    "srtt_ms",
    "rtt_ms",
    "throughput_mbit_s",
    "goodput_mbit_s",
    "inflight_pkts",
    "queue_pkts",
    "queue_bytes",
    "host_queue_pkts",
    "pacing_rate_mbit_s",
    "delivery_rate_mbit_s",
    "ca_state",
)
"""Columns that every table `samples` contains, even if all their values are missing."""

EVENT_COLUMNS = ("flow", "t_s", "event", "value")

_BEYOND = 2.0**63
"""Times, sizes and rates of at least this number, in any unit, are refused as implausible."""
_LONGEST_QUOTED = 60
_LAST_UNIX_S = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


@dataclass(slots=True)
class Measurement:
    """A run as read from a file; its tables lack columns for which the file has no values."""

    flows: list[dict[str, Any]]
    samples: list[pl.DataFrame] = field(default_factory=list)
    """Parts of the time series; each part contains some of the columns in `SAMPLE_COLUMNS`."""
    events: list[dict[str, Any]] = field(default_factory=list)
    series: list[tuple[int, LongSeries]] = field(default_factory=list)
    """Time series that are kept on disk to save memory, each with the number of its flow."""
    began_unix_s: float | None = None
    host: str | None = None
    identity: str | None = None
    """Identifier of the transfer, which is the same in the files of both ends of the transfer."""
    notes: list[str] = field(default_factory=list)
    error: str | None = None
    """Reason why the run failed; None if the run succeeded."""

    def check(self) -> None:
        """Check that every value can be stored in results.

        Raises:
            MeasurementError: a value has the wrong type, or is negative, infinite or implausibly
                large, or a counter falls.
        """
        for _, series in self.series:
            series.check()
        for name, value in (("host", self.host), ("identity", self.identity)):
            if not isinstance(value, str | None):
                raise _no_such(name, value, "a text")
        began = self.began_unix_s
        if began is not None and not 0 <= began < _LAST_UNIX_S:
            msg = f"the start time, {began:g} s after 1970, is not a valid date"
            raise MeasurementError(msg)
        _check_rows(self.flows)
        for samples, events in self._pieces():
            _check_rows(events)
            for part in samples:
                _check_samples(part)

    def tables(self) -> dict[str, dict[str, Any]]:
        """Return the run's tables in the format of results; a column is a list or Polars series."""
        pieces = list(self._pieces())
        samples = [part for own, _ in pieces for part in own]
        return {
            "flows": self.flow_table(),
            "samples": _sample_table(samples),
            "events": _columns(EVENT_COLUMNS, [row for _, own in pieces for row in own]),
        }

    def flow_table(self) -> dict[str, Any]:
        """Return the table `flows` of results, with default values and derived columns."""
        for row in self.flows:
            _derive(row)
        return _columns(FLOW_COLUMNS, self.flows)

    def parts(self) -> Iterator[dict[str, dict[str, Any]]]:
        """Yield the tables `samples` and `events` in parts, with one part in memory at a time."""
        for samples, events in self._pieces():
            yield {
                "samples": _sample_table(samples),
                "events": _columns(EVENT_COLUMNS, events),
            }

    def _pieces(self) -> Iterator[tuple[list[pl.DataFrame], list[dict[str, Any]]]]:
        yield self.samples, self.events
        for number, series in self.series:
            for samples, events in series.tables(number):
                yield [samples], events


def _sample_table(parts: Sequence[pl.DataFrame]) -> dict[str, Any]:
    whole = pl.concat(parts, how="diagonal_relaxed") if parts else pl.DataFrame()
    empty = [None] * whole.height
    return {
        name: whole.get_column(name) if name in whole.columns else empty for name in SAMPLE_COLUMNS
    }


def rtt_columns(rtts_ms: npt.ArrayLike, base_ms: float | None) -> dict[str, float | None]:
    """Return the result columns for RTTs measured once per ACK; `base_ms` is the minimum RTT."""
    values = np.asarray(rtts_ms, dtype=np.float64)
    row: dict[str, float | None] = {"rtt_base_ms": base_ms}
    if values.size:
        p50, p95, p99 = np.percentile(values, (50, 95, 99))
        row |= {
            "rtt_mean_ms": float(values.mean()),
            "rtt_p50_ms": float(p50),
            "rtt_p95_ms": float(p95),
            "rtt_p99_ms": float(p99),
        }
    return row


def smoothed_rtt_columns(srtts_ms: npt.ArrayLike, base_ms: float | None) -> dict[str, float | None]:
    """Return the result columns for samples of the smoothed RTT; `base_ms` is the minimum RTT.

    The columns do not include high percentiles, because smoothing makes them too low.
    """
    values = np.asarray(srtts_ms, dtype=np.float64)
    values = values[np.isfinite(values) & (values > 0)]
    row: dict[str, float | None] = {"rtt_base_ms": base_ms}
    if values.size:
        mean = float(values.mean())
        row |= {
            "srtt_mean_ms": mean,
            "rtt_mean_ms": mean,
            "rtt_p50_ms": float(np.median(values)),
        }
    return row


SMOOTHED = (
    "The mean and the median round-trip time are computed from samples of the sender's smoothed "
    "RTT; the 95th and 99th percentiles are left out because smoothing hides the largest RTTs."
)


def mbit_s(size_bytes: float, time_s: float) -> float | None:
    """Return the rate in Mbit/s at which `size_bytes` pass in `time_s`; None if no time passes."""
    return 8e-6 * size_bytes / time_s if time_s > 0 else None


def finite(text: str) -> float | None:
    """Convert a string to a number; return None if it is not a number between -2**63 and 2**63."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < _BEYOND else None  # false for NaN


def _check_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        for name, value in row.items():
            _check_value(name, value)


def _check_value(name: str, value: object) -> None:
    if value is None:
        return
    if kind_of(name) is Kind.TEXT:
        if not isinstance(value, str):
            raise _no_such(name, value, "a text")
        return
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < _BEYOND:
        raise _no_such(name, value, "a plausible number")  # excludes NaN
    if kind_of(name) is Kind.INTEGER and (value < 0 or value != int(value)):
        raise _no_such(name, value, "a count")
    if value < 0:
        raise _no_such(name, value, "a plausible number")


def _check_samples(part: pl.DataFrame) -> None:
    for name, kind in part.schema.items():
        if kind == pl.Null:
            continue
        if not kind.is_numeric():
            raise _no_such(name, part.get_column(name)[0], "a number")
        # NaN represents undefined values, which are not compared.
        column = part.get_column(name).cast(pl.Float64)
        is_beyond = (column < 0) | (column >= _BEYOND)
        beyond = part.filter(is_beyond & column.is_not_nan())
        if beyond.height:
            raise _no_such(name, beyond.get_column(name)[0], "a plausible number")


def _no_such(name: str, value: object, what: str) -> MeasurementError:
    written = repr(value)
    short = written if len(written) <= _LONGEST_QUOTED else f"{written[:_LONGEST_QUOTED]}..."
    return MeasurementError(f"{name} is {short}, which is not {what}")


def _derive(row: dict[str, Any]) -> None:
    """Add to a row of `flows` the default values and the columns that follow from other columns."""
    sent, again = row.get("sent_pkts"), row.get("retransmitted_pkts")
    if sent and again is not None:
        row.setdefault("retransmitted_pct", 100 * again / sent)
    mean, base = row.get("rtt_mean_ms"), row.get("rtt_base_ms")
    if mean is not None and base is not None:
        row.setdefault("queueing_delay_mean_ms", mean - base)
    bursts = row.get("retransmission_bursts")
    if bursts:
        row.setdefault("retransmission_burst_mean_pkts", again / bursts)
    row.setdefault("user", 1)
    row.setdefault("application", "bulk")
    row.setdefault("direction", "forward")


def _columns(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row.get(name) for row in rows] for name in names}
