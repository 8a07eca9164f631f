"""JSON of iperf3, of its client or of its server (`iperf3 --json`)."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import polars as pl

from cwndlab.errors import MeasurementError
from cwndlab.imports.measurement import SMOOTHED, Measurement, mbit_s, smoothed_rtt_columns
from cwndlab.text.untrusted import read_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Json = dict[str, Any]

_SAMPLES = {
    "flow": pl.Int64,
    "t_s": pl.Float64,
    "throughput_mbit_s": pl.Float64,
    "goodput_mbit_s": pl.Float64,
    "cwnd_pkts": pl.Float64,
    "srtt_ms": pl.Float64,
}


def is_iperf3(head: bytes) -> bool:
    """Whether a file begins like JSON."""
    return head.lstrip()[:1] == b"{"


def read_iperf3(file: IO[bytes], warm_up_s: float) -> Measurement:
    """Read a run.

    Raises:
        MeasurementError: it is no JSON of iperf3, or of a test without TCP.
    """
    try:
        document = read_json(file.read())
    except ValueError as error:
        raise _not_iperf3(str(error)) from None
    return read_report(document, warm_up_s)


def read_report(document: Json, warm_up_s: float) -> Measurement:
    """Read a run from what its JSON says.

    Raises:
        MeasurementError: it is not iperf3's, or of a test without TCP.
    """
    try:
        return _Reader(document, warm_up_s).read()
    except MeasurementError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise _not_iperf3(f"no {error}" if isinstance(error, KeyError) else str(error)) from None


def _not_iperf3(why: str) -> MeasurementError:
    return MeasurementError(f"is no JSON of iperf3 ({why}); make it with iperf3 --json")


def merge(client: Measurement, other: Measurement) -> Measurement:
    """One run out of both ends' files: each value from the end that knows it."""
    theirs = {(row["flow"], row["direction"]): row for row in other.flows}
    for row in client.flows:
        for name, value in theirs.get((row["flow"], row["direction"]), {}).items():
            if row.get(name) is None:
                row[name] = value
    both = [part for end in (client, other) for part in end.samples]
    steps_s = [end.samples[0]["t_s"][0] for end in (client, other) if _has_samples(end)]
    step_s = min((step_s for step_s in steps_s if step_s > 0), default=1.0)
    if both:
        interval = (pl.col("t_s") / step_s).round().alias("interval")
        merged = (
            pl.concat(both, how="diagonal_relaxed")
            .group_by("flow", interval, maintain_order=True)
            .agg(pl.all().drop_nulls().last())
        )
        client.samples = [merged.drop("interval")]
    client.events = client.events or other.events
    client.error = client.error or other.error
    return client


def _has_samples(end: Measurement) -> bool:
    return bool(end.samples) and end.samples[0].height > 0


class _Reader:
    def __init__(self, document: Json, warm_up_s: float) -> None:
        self.document = document
        self.start = document["start"]
        self.warm_up_s = warm_up_s

    def read(self) -> Measurement:
        stamp = self.start.get("timestamp", {}).get("timesecs")
        measurement = Measurement(
            flows=[],
            began_unix_s=float(stamp) if stamp else None,
            host=next(iter(self.start.get("system_info", "").split()[1:]), None),
            identity=self.start.get("cookie"),
        )
        end = self.document.get("end") or {}
        if error := self.document.get("error"):
            measurement.error = f"iperf3: {error}"
            return measurement
        test = self.start["test_start"]
        if test["protocol"] != "TCP":
            msg = f"is a test of {test['protocol']}; only TCP has a congestion control to compare"
            raise MeasurementError(msg)
        if not end.get("streams"):
            measurement.error = "iperf3: it ended without a summary"
            return measurement
        for number, stream in enumerate(end["streams"]):
            measurement.flows.append(self._flow(number, stream, test, end))
            measurement.samples.append(self._samples(number, stream))
            measurement.events += self._events(number, stream)
        if any(row.get("srtt_mean_ms") is not None for row in measurement.flows):
            measurement.notes.append(SMOOTHED)
        return measurement

    def _flow(self, number: int, stream: Json, test: Json, end: Json) -> Json:
        sender, receiver = stream["sender"], stream["receiver"]
        intervals = self._intervals(stream, is_whole=False)
        mss = self.start.get("tcp_mss_default") or self.start.get("tcp_mss") or 1448
        row: Json = {
            "flow": number,
            "direction": "forward" if test.get("reverse") else "reverse",
            "algorithm": end.get("sender_tcp_congestion"),
            "receiver_algorithm": end.get("receiver_tcp_congestion"),
            "start_s": 0.0,
            "end_s": float(sender["end"] or receiver["end"]),
            "delivered_bytes": receiver["bytes"] or None,
        }
        if self.warm_up_s:
            row |= self._after_warm_up(intervals)
        else:
            # The receiver's "seconds" are the sender's: what it read took until its "end".
            row["window_s"] = float(receiver["end"] - receiver["start"]) or float(sender["end"])
            if receiver["bytes"]:
                row["goodput_mbit_s"] = mbit_s(receiver["bytes"], row["window_s"])
        again = sender.get("retransmits")
        if again is not None and again >= 0:
            row["retransmitted_pkts"] = again
            row["sent_pkts"] = -(-sender["bytes"] // mss) + again
        rtts = [step["rtt"] / 1e3 for step in intervals if step.get("rtt")]
        base = sender.get("min_rtt")
        row |= smoothed_rtt_columns(rtts, base / 1e3 if base else None)
        windows = [step["snd_cwnd"] / mss for step in intervals if step.get("snd_cwnd")]
        if windows:
            row["cwnd_mean_pkts"] = sum(windows) / len(windows)
            row["cwnd_max_pkts"] = round((sender.get("max_snd_cwnd") or 0) / mss) or None
        if test.get("bytes"):
            row["application"] = "sized"
            row["completion_ms"] = 1e3 * row["end_s"]
        return row

    def _after_warm_up(self, intervals: Sequence[Json]) -> Json:
        """Only what was read at this end has a time: the sender's intervals count its writes."""
        seconds = sum(step["seconds"] for step in intervals)
        row: Json = {"window_s": seconds or None}
        if seconds and not intervals[0].get("sender"):
            row["goodput_mbit_s"] = mbit_s(sum(step["bytes"] for step in intervals), seconds)
        return row

    def _intervals(self, stream: Json, *, is_whole: bool) -> list[Json]:
        """A stream's intervals; without what was omitted and the warm-up unless `is_whole`."""
        socket = stream["sender"]["socket"]
        steps: list[Json] = [
            each
            for interval in self.document.get("intervals", [])
            for each in interval["streams"]
            if each["socket"] == socket
        ]
        if is_whole:
            return steps
        return [
            step
            for step in steps
            if not step.get("omitted") and step["start"] >= self.warm_up_s - 1e-3
        ]

    def _samples(self, number: int, stream: Json) -> pl.DataFrame:
        mss = self.start.get("tcp_mss_default") or 1448
        rows = []
        for step in self._intervals(stream, is_whole=True):
            if step.get("omitted"):
                continue
            row: Json = {"flow": number, "t_s": float(step["end"])}
            rate = mbit_s(step["bytes"], step["seconds"])
            row["throughput_mbit_s" if step.get("sender") else "goodput_mbit_s"] = rate
            if step.get("snd_cwnd"):
                row["cwnd_pkts"] = float(round(step["snd_cwnd"] / mss))
            if step.get("rtt"):
                row["srtt_ms"] = step["rtt"] / 1e3
            rows.append(row)
        return pl.DataFrame(rows, schema=_SAMPLES)

    def _events(self, number: int, stream: Json) -> list[Json]:
        return [
            {"flow": number, "t_s": float(step["end"]), "event": "recovery", "value": again}
            for step in self._intervals(stream, is_whole=True)
            if (again := _count(step)) and not step.get("omitted")
        ]


def _count(step: Mapping[str, Any]) -> int:
    return max(0, int(step.get("retransmits") or 0))
