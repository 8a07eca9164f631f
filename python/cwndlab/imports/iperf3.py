"""Import JSON files of iperf3 clients and servers (options `--json` and `--json-stream`)."""

from __future__ import annotations

import math
import re
from array import array
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cwndlab.errors import MeasurementError
from cwndlab.imports.measurement import SMOOTHED, Measurement, mbit_s, smoothed_rtt_columns
from cwndlab.text.untrusted import read_json, read_json_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.imports.measurement import Numbers

Json = dict[str, Any]

_SERVER = "server_output_json"
_STREAM = re.compile(rb'\s*\{\s*"event"\s*:')
_HEAD_BYTES = 1 << 10

_SAMPLES = {
    "flow": pl.Int64,
    "t_s": pl.Float64,
    "throughput_mbit_s": pl.Float64,
    "goodput_mbit_s": pl.Float64,
    "cwnd_pkts": pl.Float64,
    "srtt_ms": pl.Float64,
}


def is_iperf3(head: bytes) -> bool:
    """Return whether `head`, the first bytes of a file, is the start of a JSON object."""
    return head.lstrip()[:1] == b"{"


def read_iperf3(file: IO[bytes], warm_up_s: float) -> Measurement:
    """Read a run from a JSON file of iperf3, including the server's report (`--get-server-output`).

    Raises:
        MeasurementError: the file is not JSON of iperf3, or the test did not use TCP.
    """
    intervals, theirs = _Intervals(), _Intervals()
    streamed = {("intervals",): intervals.add, (_SERVER, "intervals"): theirs.add}
    try:
        if _STREAM.match(file.read(_HEAD_BYTES)):
            file.seek(0)
            document = _read_events(file, intervals)
        else:
            file.seek(0)
            document = read_json_object(file, streamed)
    except ValueError as error:
        raise _not_iperf3(str(error)) from None
    measurement = _run_of(document, intervals, warm_up_s)
    server = document.get(_SERVER)
    if measurement.error is None and isinstance(server, dict):
        return merge(measurement, _run_of(server, theirs, warm_up_s))
    return measurement


def _read_events(file: IO[bytes], intervals: _Intervals) -> Json:
    """Map the name of each event in a file of `iperf3 --json-stream` to the event's data.

    Interval reports are not returned, but added to `intervals`.
    """
    document: Json = {}
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        event = read_json(line)
        if not isinstance(event, dict) or not {"event", "data"} <= event.keys():
            msg = f"line {number} is not an event of iperf3"
            raise ValueError(msg)
        name, data = event["event"], event["data"]
        if name == "interval":
            intervals.add(data)
        elif name in document:
            msg = f"line {number}: the event {name!r} occurs a second time"
            raise ValueError(msg)
        else:
            document[name] = data
    return document


def _run_of(document: Json, intervals: _Intervals, warm_up_s: float) -> Measurement:
    try:
        return _Reader(document, intervals, warm_up_s).read()
    except MeasurementError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise _not_iperf3(f"no {error}" if isinstance(error, KeyError) else str(error)) from None


def _not_iperf3(why: str) -> MeasurementError:
    msg = (
        f"the file is not JSON of iperf3 ({why}); run iperf3 --json, and write each test to a file "
        "of its own"
    )
    return MeasurementError(msg)


def merge(client: Measurement, other: Measurement) -> Measurement:
    """Return `client`, completed with the values that only the file of the other end contains."""
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


class _Intervals:
    """Interval reports of each stream of a test, stored in compact arrays."""

    _NEEDED = ("start", "end", "seconds", "bytes")
    _ELSE_NAN = ("rtt", "snd_cwnd")

    def __init__(self) -> None:
        self._columns: dict[Any, dict[str, array[float]]] = {}
        self._problem: Exception | None = None

    def add(self, interval: Json) -> None:
        """Add an interval, without checking its values."""
        try:
            for step in interval["streams"]:
                columns = self._columns.setdefault(step["socket"], _no_steps())
                for name in self._NEEDED:
                    columns[name].append(step[name])
                for name in self._ELSE_NAN:
                    columns[name].append(step.get(name) or math.nan)
                columns["retransmits"].append(max(0, int(step.get("retransmits") or 0)))
                for name in ("omitted", "sender"):
                    columns[name].append(bool(step.get(name)))
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            self._problem = self._problem or error

    def of(self, socket: Any) -> dict[str, Numbers]:  # noqa: ANN401  any value of the file
        """Return a stream's intervals as columns, without intervals that iperf3's `-O` omits."""
        if self._problem is not None:
            raise self._problem
        found = self._columns.get(socket) or _no_steps()
        columns = {name: np.frombuffer(own, np.float64) for name, own in found.items()}
        does_count = columns["omitted"] == 0
        return {name: own[does_count] for name, own in columns.items()}


def _no_steps() -> dict[str, array[float]]:
    names = ("start", "end", "seconds", "bytes", "rtt", "snd_cwnd", "retransmits")
    return {name: array("d") for name in (*names, "omitted", "sender")}


class _Reader:
    def __init__(self, document: Json, intervals: _Intervals, warm_up_s: float) -> None:
        self.document = document
        self.intervals = intervals
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
            msg = f"the test used {test['protocol']}; only tests with TCP can be imported"
            raise MeasurementError(msg)
        if not end.get("streams"):
            measurement.error = (
                "iperf3: the test ended without a summary, because it was interrupted or failed"
            )
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
        steps = self.intervals.of(stream["sender"]["socket"])
        in_window = steps["start"] >= self.warm_up_s - 1e-3
        steps = {name: own[in_window] for name, own in steps.items()}
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
            row |= _after_warm_up(steps)
        else:
            # The receiver's "seconds" repeat the sender's; its "end" is the time of its last data.
            row["window_s"] = float(receiver["end"] - receiver["start"]) or float(sender["end"])
            if receiver["bytes"]:
                row["goodput_mbit_s"] = mbit_s(receiver["bytes"], row["window_s"])
        again = sender.get("retransmits")
        if again is not None and again >= 0:
            row["retransmitted_pkts"] = again
            row["sent_pkts"] = -(-sender["bytes"] // mss) + again
        base = sender.get("min_rtt")
        row |= smoothed_rtt_columns(steps["rtt"] / 1e3, base / 1e3 if base else None)
        windows = steps["snd_cwnd"][np.isfinite(steps["snd_cwnd"])] / mss
        if windows.size:
            row["cwnd_mean_pkts"] = float(windows.mean())
            row["cwnd_max_pkts"] = round((sender.get("max_snd_cwnd") or 0) / mss) or None
        if test.get("bytes"):
            row["application"] = "sized"
            row["completion_ms"] = 1e3 * row["end_s"]
        return row

    def _samples(self, number: int, stream: Json) -> pl.DataFrame:
        mss = self.start.get("tcp_mss_default") or 1448
        steps = self.intervals.of(stream["sender"]["socket"])
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = np.where(steps["seconds"] > 0, 8e-6 * steps["bytes"] / steps["seconds"], np.nan)
        is_sent = steps["sender"] != 0
        columns = {
            "flow": np.full(rates.size, number),
            "t_s": steps["end"],
            "throughput_mbit_s": np.where(is_sent, rates, np.nan),
            "goodput_mbit_s": np.where(is_sent, np.nan, rates),
            "cwnd_pkts": np.rint(steps["snd_cwnd"] / mss),
            "srtt_ms": steps["rtt"] / 1e3,
        }
        return pl.DataFrame(columns, schema=_SAMPLES).fill_nan(None)

    def _events(self, number: int, stream: Json) -> list[Json]:
        steps = self.intervals.of(stream["sender"]["socket"])
        again = steps["retransmits"] > 0
        return [
            {"flow": number, "t_s": t_s, "event": "recovery", "value": value}
            for t_s, value in zip(
                steps["end"][again].tolist(), steps["retransmits"][again].tolist(), strict=True
            )
        ]


def _after_warm_up(steps: Mapping[str, Numbers]) -> Json:
    """Return the duration after the warm-up and, from a receiver's file, its mean goodput."""
    seconds = float(steps["seconds"].sum())
    row: Json = {"window_s": seconds or None}
    if seconds and not steps["sender"][0]:
        row["goodput_mbit_s"] = mbit_s(float(steps["bytes"].sum()), seconds)
    return row
