"""Import logs of `ss -tin`, which contain repeated readings of the kernel's connection state.

`ss` does not print the time. Therefore, a log must contain a line with the time before each
reading: seconds since 1970 (`date +%s.%N`) or a date (`date -Is`). All lines up to the next line
with a time belong to one reading.
"""

from __future__ import annotations

import io
import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING

import numpy as np

from cwndlab.errors import MeasurementError
from cwndlab.imports.measurement import SMOOTHED, Measurement, finite
from cwndlab.imports.spool import Log, Spool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_STATE = re.compile(
    r"(ESTAB|FIN-WAIT-[12]|CLOSE-WAIT|LAST-ACK|CLOSING|SYN-SENT|SYN-RECV|TIME-WAIT)\s+\d+\s+\d+"
    r"\s+(\S+)\s+(\S+)"
)
# `ss` omits the first column without -t, and the state with a filter.
_BARE = re.compile(r"\d+\s+\d+\s+(\S+:\d+)\s+(\S+:\d+)\s*$")
_SECONDS = re.compile(r"\d{9,10}(\.\d+)?")
_AFTER_NAME = ("wscale:", "rto:")  # the words that may follow the name of the algorithm
_FLAGS = {"ts", "sack", "ecn", "ecnseen", "fastopen"}
_RATE = re.compile(r"([0-9.]+)([KMGT]?)bps")
_FACTORS = {"": 1e-6, "K": 1e-3, "M": 1.0, "G": 1e3, "T": 1e6}
_SMALLEST_SHARE = 0.01  # of the largest connection's data; smaller ones are control traffic
_RECEIVED = "received_bytes"
_AT_RECEIVER = (
    "This log was made at the receiver of the data, where ss shows only the goodput; make a log "
    "at the sender, too."
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

SsConnection = tuple[str, str]


def is_socket_statistics(head: bytes) -> bool:
    """Return whether `head`, the first bytes of a file, is the start of a log of `ss`."""
    text = head.decode("utf-8", "replace")
    return "cwnd:" in text and "rto:" in text


def read_socket_statistics(
    file: IO[bytes], warm_up_s: float, smallest_share: float = _SMALLEST_SHARE
) -> Measurement:
    """Read a log of `ss`, line by line.

    Args:
        file: the log.
        warm_up_s: length of the warm-up at the beginning of each connection; rates and means
            exclude the warm-up.
        smallest_share: fraction of the largest connection's data; connections that carried less
            are left out.

    Raises:
        MeasurementError: the log contains no times, or no connection that carried data.
    """
    lines = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline=None)
    try:
        return _measurement(_read(lines), warm_up_s, smallest_share)
    finally:
        lines.detach()  # the caller closes the file


@dataclass(slots=True)
class _LoggedConnection:
    """Samples of one connection that were read from a log of `ss`."""

    rows: Log
    algorithm: str | None = None
    _last_s: float = -math.inf
    _last_bytes: float = 0.0

    @property
    def moved_bytes(self) -> float:
        return max(self.rows.most.get(name, 0.0) for name in ("acked_bytes", _RECEIVED))

    def add(self, row: dict[str, float | None], now_s: float, algorithm: str | None) -> None:
        self.rows.add(row | {"t_s": now_s})
        self.algorithm = algorithm or self.algorithm
        self._last_s, self._last_bytes = now_s, _moved(row)

    def is_followed_by(self, row: Mapping[str, float | None], now_s: float) -> bool:
        """Return whether `row`, read at `now_s`, is from a later connection with the same ports."""
        return now_s >= self._last_s and _moved(row) < self._last_bytes


def _moved(row: Mapping[str, float | None]) -> float:
    return sum(row.get(name) or 0.0 for name in ("acked_bytes", _RECEIVED))


def _read(lines: Iterable[str]) -> list[_LoggedConnection]:
    spool = Spool()
    logs: list[_LoggedConnection] = []
    open_logs: dict[SsConnection, _LoggedConnection] = {}
    now_s: float | None = None
    current: SsConnection | None = None
    for line in lines:
        text = line.strip()
        if (stamp := _time(text)) is not None:
            now_s, current = stamp, None
        elif (match := _STATE.match(text)) or (match := _BARE.match(text)):
            *_, local, peer = match.groups()
            current = (local, peer)
            text = text[match.end() :]  # with -O, the values follow on the same line
        if current is not None and "rto:" in text:
            if now_s is None:
                msg = (
                    "the log contains no timestamps; write a timestamp before each reading: "
                    "while sleep 0.1; do date +%s.%N; ss -tin; done > log"
                )
                raise MeasurementError(msg)
            row, algorithm = _information(text)
            log = open_logs.get(current)
            if log is None or log.is_followed_by(row, now_s):
                log = open_logs[current] = _LoggedConnection(spool.log())
                logs.append(log)
            log.add(row, now_s, algorithm)
            current = None
    return logs


def _measurement(
    logs: Sequence[_LoggedConnection], warm_up_s: float, smallest_share: float
) -> Measurement:
    most = max((log.moved_bytes for log in logs), default=0.0)
    chosen = [log for log in logs if most > 0 and log.moved_bytes >= smallest_share * most]
    if not chosen:
        msg = "no connection in the log carried data; run ss -tin at the sender of the data"
        raise MeasurementError(msg)
    began_s = min(log.rows.begin_s for log in chosen)
    measurement = Measurement(flows=[], began_unix_s=began_s)
    for number, log in enumerate(chosen):
        acked_bytes, received_bytes = np.nan_to_num(
            [log.rows.last(name) for name in ("acked_bytes", _RECEIVED)]
        )
        is_sender = bool(acked_bytes >= received_bytes)
        note = SMOOTHED if is_sender else _AT_RECEIVER
        if note not in measurement.notes:
            measurement.notes.append(note)
        series = log.rows.series() if is_sender else log.rows.renamed({_RECEIVED: "acked_bytes"})
        algorithm = log.algorithm if is_sender else None
        measurement.flows.append({"flow": number, "algorithm": algorithm} | series.flow(warm_up_s))
        measurement.series.append((number, series))
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
    """Return the values in a line of `ss`, and the algorithm (None if it is missing)."""
    row: dict[str, float | None] = {}
    words = text.split()
    first = next((at for at, word in enumerate(words) if word.startswith(_AFTER_NAME)), 0)
    named = [word for word in words[:first][-1:] if word not in _FLAGS and ":" not in word]
    for at, word in enumerate(words):
        name, _, value = word.partition(":")
        if name in _NUMBERS:
            row[_NUMBERS[name]] = finite(value)
        elif name == "rtt":
            row["srtt_ms"] = finite(value.partition("/")[0])
        elif name == "retrans":
            row["retransmitted_pkts"] = finite(value.rpartition("/")[2])
        elif word in _RATES and at + 1 < len(words):
            match = _RATE.fullmatch(words[at + 1])
            if match and (rate := finite(match[1])) is not None:
                row[_RATES[word]] = rate * _FACTORS[match[2]]
    row.setdefault("retransmitted_pkts", 0.0)  # printed only after a retransmission
    row.setdefault("acked_bytes", 0.0)
    row.setdefault(_RECEIVED, 0.0)
    return row, named[-1] if named else None
