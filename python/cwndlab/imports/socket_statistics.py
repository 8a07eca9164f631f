"""Logs of `ss -tin`: the kernel's own view of connections, read again and again.

`ss` prints no time. A log tells it by a line before each reading: seconds since 1970
(`date +%s.%N`) or a date (`date -Is`). A reading is what stands between two such lines.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from cwndlab.errors import MeasurementError
from cwndlab.imports.measurement import SMOOTHED, Measurement
from cwndlab.imports.series import Series

_STATE = re.compile(
    r"(ESTAB|FIN-WAIT-[12]|CLOSE-WAIT|LAST-ACK|CLOSING|SYN-SENT|SYN-RECV|TIME-WAIT)\s+\d+\s+\d+"
    r"\s+(\S+)\s+(\S+)"
)
# Without -t the first column is missing, with a filter the state is.
_BARE = re.compile(r"\d+\s+\d+\s+(\S+:\d+)\s+(\S+:\d+)\s*$")
_SECONDS = re.compile(r"\d{9,10}(\.\d+)?")
_RATE = re.compile(r"([0-9.]+)([KMGT]?)bps")
_FACTORS = {"": 1e-6, "K": 1e-3, "M": 1.0, "G": 1e3, "T": 1e6}
_SMALLEST_SHARE = 0.01  # connections with less data than this share of the largest are control
_RECEIVED = "received_bytes"
_AT_RECEIVER = (
    "Logged at the data's receiver: only their goodput is known there; log at the sender too."
)
_NUMBERS = {
    "cwnd": "cwnd_pkts",
    "ssthresh": "ssthresh_pkts",
    "bytes_acked": "acked_bytes",
    "bytes_received": _RECEIVED,
    "bytes_sent": "sent_bytes",
    "data_segs_out": "sent_pkts",
    "unacked": "inflight_pkts",
    "minrtt": "min_rtt_ms",
}
_RATES = {"pacing_rate": "pacing_rate_mbit_s", "delivery_rate": "delivery_rate_mbit_s"}

Connection = tuple[str, str]


def is_socket_statistics(head: bytes) -> bool:
    """Whether a file begins like such a log."""
    text = head.decode("utf-8", "replace")
    return "cwnd:" in text and "rto:" in text


def read_socket_statistics(content: bytes, warm_up_s: float) -> Measurement:
    """Read a log.

    Raises:
        MeasurementError: it has no times, or no connection that sent data.
    """
    series: dict[Connection, list[dict[str, float | None]]] = {}
    algorithms: dict[Connection, str] = {}
    now_s: float | None = None
    current: Connection | None = None
    for line in content.decode("utf-8", "replace").splitlines():
        text = line.strip()
        if (stamp := _time(text)) is not None:
            now_s, current = stamp, None
        elif (match := _STATE.match(text)) or (match := _BARE.match(text)):
            *_, local, peer = match.groups()
            current = (local, peer)
        # Some versions print both on one line.
        if current is not None and "rto:" in text:
            if now_s is None:
                msg = (
                    "has no times; write one before each reading: "
                    "while sleep 0.1; do date +%s.%N; ss -tin; done > log"
                )
                raise MeasurementError(msg)
            row, algorithm = _information(text)
            series.setdefault(current, []).append(row | {"t_s": now_s})
            if algorithm:
                algorithms[current] = algorithm
            current = None
    return _measurement(series, algorithms, warm_up_s)


def _measurement(
    series: dict[Connection, list[dict[str, float | None]]],
    algorithms: dict[Connection, str],
    warm_up_s: float,
) -> Measurement:
    moved = {
        connection: max(max(row["acked_bytes"] or 0.0, row[_RECEIVED] or 0.0) for row in rows)
        for connection, rows in series.items()
    }
    most = max(moved.values(), default=0.0)
    chosen = [each for each, count in moved.items() if most > 0 and count >= _SMALLEST_SHARE * most]
    if not chosen:
        msg = "has no connection with data; log with ss -tin at the data's sender"
        raise MeasurementError(msg)
    began_s = min(row["t_s"] or 0.0 for each in chosen for row in series[each])
    measurement = Measurement(flows=[], began_unix_s=began_s)
    for number, connection in enumerate(chosen):
        rows = series[connection]
        is_sender = (rows[-1]["acked_bytes"] or 0.0) >= (rows[-1][_RECEIVED] or 0.0)
        note = SMOOTHED if is_sender else _AT_RECEIVER
        if note not in measurement.notes:
            measurement.notes.append(note)
        if is_sender:
            algorithm = algorithms.get(connection)
        else:
            algorithm = None
            rows = [{"t_s": row["t_s"], "acked_bytes": row[_RECEIVED]} for row in rows]
        columns = Series.of(rows)
        measurement.flows.append({"flow": number, "algorithm": algorithm} | columns.flow(warm_up_s))
        measurement.samples += columns.samples(number)
        measurement.events += columns.events(number)
    return measurement


def _time(text: str) -> float | None:
    if _SECONDS.fullmatch(text):
        return float(text)
    if not text[:4].isdigit() or "-" not in text[:5]:
        return None
    try:
        moment = datetime.fromisoformat(text.replace(",", "."))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _information(text: str) -> tuple[dict[str, float | None], str | None]:
    """The values of a line, and the algorithm: the word before the first `name:value`."""
    row: dict[str, float | None] = {}
    words = text.split()
    first = next((at for at, word in enumerate(words) if ":" in word and at > 0), 0)
    flags = {"ts", "sack", "ecn", "ecnseen", "fastopen", "ack", "timer"}
    named = [word for word in words[:first] if word.isidentifier() and word not in flags]
    for at, word in enumerate(words):
        name, _, value = word.partition(":")
        if name in _NUMBERS:
            row[_NUMBERS[name]] = _float(value)
        elif name == "rtt":
            row["srtt_ms"] = _float(value.partition("/")[0])
        elif name == "retrans":
            row["retransmitted_pkts"] = _float(value.rpartition("/")[2])
        elif word in _RATES and at + 1 < len(words):
            match = _RATE.fullmatch(words[at + 1])
            if match and (rate := _float(match[1])) is not None:
                row[_RATES[word]] = rate * _FACTORS[match[2]]
    row.setdefault("retransmitted_pkts", 0.0)  # printed only where there was one
    row.setdefault("acked_bytes", 0.0)
    row.setdefault(_RECEIVED, 0.0)
    return row, named[-1] if named else None


def _float(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
