"""Rows of measurements of a real kernel, with the link on which they were made.

A row file is a CSV with one row per flow. Columns may be left out or be in any order; a column that
is not listed here is an error. A blank field has its default; a blank reference value is shown and
not judged.

What identifies a row:
  scenario      name; for S1, S2, S5, S6, S9, S1p, S1e and short the link columns have defaults
  cc            the flow's congestion control, by the kernel's name
  competitor    the other flow's (of two flows), blank if there is none
  flow          number of the flow in its run, from 0
  rep           repetition: moves the clock against the kernel's ticks, and seeds random losses
  duration_s    life of the flow
  window_s      part of it, up to its end, over which means are taken; by default all but the first
                second of a flow alone, all but 2 s after the last start of several

The link; a number may have a unit ("10 Mbit/s", "500 kbit/s", "40 ms", "1 %") or be bare:
  rate          bottleneck, bare: Mbit/s                         (also rate_mbit_s, rate_mbps)
  delay         the whole propagation delay, on the path of the ACKs, bare: ms  (also delay_ms)
  limit         drop-tail packets with the one in transmission  (also limit_pkts, limit_packets)
  loss          random loss before the queue, bare: per cent                    (also loss_pct)
  starts        start of each flow, "0;10", bare: s                             (also starts_s)
  rate_steps    "10s:5 Mbit/s;20s:10 Mbit/s": from then on this rate
  delay_steps   "10s:80 ms": from then on this delay
  blackouts     "10-13;20-21": everything is lost from .. to, bare: s
  bytes         size of the transfer; blank: as much as goes in duration_s
  ecn           packets at which an ECN queue marks ("20"); token bucket and step marking, ECN on

Reference values (columns as in the reference's summary.csv and short.csv):
  judged        goodput_mbps mean_rtt_ms mean_cwnd retrans_packets ns_TCPTimeouts last_rx_ms
                max_backoff (largest RTO back-off) rto_at_s ("10.72;11.42": when the timeouts were)
  others        every other column of those two files is accepted and ignored
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

T = TypeVar("T")

JUDGED = (
    "goodput_mbps",
    "mean_rtt_ms",
    "mean_cwnd",
    "retrans_packets",
    "ns_TCPTimeouts",
    "max_backoff",
    "last_rx_ms",
)
_REST = "(fields beyond the columns)"
_IDENTITY = ("scenario", "cc", "competitor", "flow", "rep", "duration_s", "window_s")
_IGNORED = {
    *("goodput_all_mbps", "p50_rtt_ms", "p95_rtt_ms", "min_rtt_ms", "max_cwnd", "rto_episodes"),
    *("ns_timeouts", "mean_qlen", "max_qlen", "qdrops", "rwnd_limited_pct", "sndbuf_limited_pct"),
    *("file", "connect_ms", "first_rx_ms", "sender_eof_ms", "retrans", "timeouts"),
    *("hystart_train", "hystart_delay", "tlp"),
}
_ALIASES = {
    "rate_mbit_s": "rate",
    "rate_mbps": "rate",
    "rate_mbit": "rate",
    "delay_ms": "delay",
    "limit_pkts": "limit",
    "limit_packets": "limit",
    "loss_pct": "loss",
    "loss_percent": "loss",
    "starts_s": "starts",
    "blackouts_s": "blackouts",
}
_LINK = (
    *("rate", "delay", "limit", "loss", "starts", "rate_steps", "delay_steps", "blackouts"),
    *("bytes", "ecn"),
)
_SCENARIOS = {
    "S1": {"rate": "10", "delay": "40", "limit": "50", "duration_s": "30"},
    "S1p": {"rate": "10", "delay": "40", "limit": "50", "duration_s": "30"},
    "S2": {"rate": "10", "delay": "100", "limit": "500", "duration_s": "40"},
    "S5": {"rate": "2", "delay": "60", "limit": "30", "duration_s": "60"},
    "S6": {"rate": "10", "delay": "40", "limit": "50", "starts": "0;10"},
    "S9": {"rate": "10", "delay": "40", "limit": "100", "blackouts": "10-13", "duration_s": "30"},
    "S1e": {"rate": "10", "delay": "40", "limit": "100", "ecn": "20", "duration_s": "30"},
    "short": {"rate": "10", "delay": "100", "limit": "500"},
}


class RowError(ValueError):
    """A row file that cannot be used; the message names file, line and column."""


@dataclass(frozen=True)
class Link:
    """The bottleneck and the delay on the path of the ACKs."""

    rate_bit_s: int
    delay_ns: int
    limit_pkts: int | None
    loss_ppb: int = 0
    rate_steps: tuple[tuple[int, int], ...] = ()
    delay_steps: tuple[tuple[int, int], ...] = ()
    blackouts: tuple[tuple[int, int], ...] = ()
    ecn_pkts: int | None = None


@dataclass(frozen=True)
class Row:
    """One flow's measurement."""

    scenario: str
    cc: str
    competitor: str
    flow: int
    rep: int
    duration_s: float | None
    window_s: float | None
    link: Link
    starts_ns: tuple[int, ...]
    size_bytes: int | None
    reference: dict[str, float] = field(default_factory=dict, compare=False)
    rto_at_s: tuple[float, ...] = field(default=(), compare=False)

    @property
    def run_key(self) -> tuple[object, ...]:
        """What the rows of one run have in common."""
        pair = frozenset((self.cc, self.competitor or self.cc))
        return (self.scenario, pair, self.rep, self.link, self.starts_ns, self.size_bytes)

    @property
    def repeated_key(self) -> tuple[object, ...]:
        """What the rows of repetitions have in common, whatever their scenarios are called."""
        return (
            *(self.cc, self.competitor, self.flow, self.duration_s, self.window_s),
            *(self.link, self.starts_ns, self.size_bytes),
        )

    @property
    def is_random(self) -> bool:
        """Whether two runs of the kernel differ: it drew random numbers, or is chaotic."""
        random = {"bbr", "cdg", "lp", "nv"}
        return self.link.loss_ppb > 0 or bool({self.cc, self.competitor} & random)


def read_rows(path: Path) -> list[Row]:
    """Read a row file.

    Raises:
        RowError: a column is unknown, or a field cannot be read.
    """
    with path.open(newline="", encoding="utf-8") as file:
        lines = (line for line in file if line.strip() and not line.startswith("#"))
        reader = csv.DictReader(lines, restkey=_REST)
        names = [name.strip() for name in reader.fieldnames or []]
        reader.fieldnames = [_ALIASES.get(name, name) for name in names]
        known = {*_IDENTITY, *_LINK, *JUDGED, "rto_at_s", *_IGNORED}
        unknown = [n for n in reader.fieldnames if n not in known and not n.startswith("ns_")]
        if unknown:
            message = f"{path}: unknown column {unknown[0]!r}; --help lists the columns"
            raise RowError(message)
        return [
            _read_row(record, f"{path}: row {number}") for number, record in enumerate(reader, 1)
        ]


def _read_row(record: dict[str, str | None], place: str) -> Row:
    fields = {key: (value or "").strip() for key, value in record.items() if key != _REST}
    if _REST in record:
        message = f"{place}: more fields than columns"
        raise RowError(message)
    for key, value in _SCENARIOS.get(fields.get("scenario", ""), {}).items():
        fields[key] = fields.get(key) or value

    def get(column: str, parse: Callable[[str], T], default: T) -> T:
        text = fields.get(column, "")
        if not text:
            return default
        try:
            return parse(text)
        except ValueError as error:
            message = f"{place}, column {column}: {text!r}: {error}"
            raise RowError(message) from None

    for column in ("cc", "rate", "delay"):
        if not fields.get(column):
            message = f"{place}: column {column} is blank"
            raise RowError(message)
    link = Link(
        rate_bit_s=get("rate", parse_rate, 0),
        delay_ns=get("delay", _milliseconds, 0),
        limit_pkts=get("limit", _count, None),
        loss_ppb=get("loss", _percent, 0),
        rate_steps=get("rate_steps", lambda text: _steps(text, parse_rate), ()),
        delay_steps=get("delay_steps", lambda text: _steps(text, _milliseconds), ()),
        blackouts=get("blackouts", _ranges, ()),
        ecn_pkts=get("ecn", _count, None),
    )
    row = Row(
        scenario=fields.get("scenario") or "row",
        cc=fields["cc"],
        competitor=fields.get("competitor", ""),
        flow=get("flow", int, 0),
        rep=get("rep", int, 1),
        duration_s=get("duration_s", float, None),
        window_s=get("window_s", float, None),
        link=link,
        starts_ns=get("starts", lambda text: tuple(map(_seconds, text.split(";"))), (0,)),
        size_bytes=get("bytes", _count, None),
        reference={column: get(column, float, 0.0) for column in JUDGED if fields.get(column, "")},
        rto_at_s=get("rto_at_s", lambda text: tuple(map(float, text.split(";"))), ()),
    )
    if row.flow >= len(row.starts_ns):
        message = f"{place}, column flow: flow {row.flow} has no start in column starts"
        raise RowError(message)
    if row.duration_s is None and row.size_bytes is None:
        message = f"{place}: neither duration_s nor bytes is given"
        raise RowError(message)
    return row


_RATES = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}
_RATES |= {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "Mbit": 10**6, "Mbps": 10**6}
_TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}


def _quantity(text: str, units: dict[str, int], bare: str) -> int:
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z/%]*)\s*", text)
    if match is None or (match[2] or bare) not in units:
        message = f"not a number with one of the units {', '.join(units)}"
        raise ValueError(message)
    return round(float(match[1]) * units[match[2] or bare])


def parse_rate(text: str) -> int:
    """Bits per second of a rate with its unit, or in Mbit/s."""
    return _quantity(text, _RATES, "Mbit/s")


def _milliseconds(text: str) -> int:
    return _quantity(text, _TIMES, "ms")


def _seconds(text: str) -> int:
    return _quantity(text, _TIMES, "s")


def _percent(text: str) -> int:
    return _quantity(text, {"%": 10**7}, "%")


def _count(text: str) -> int:
    units = {"packets": 1, "pkts": 1, "bytes": 1, "B": 1, "kB": 10**3, "MB": 10**6, "": 1}
    return _quantity(text, units, "")


def _steps(text: str, parse: Callable[[str], int]) -> tuple[tuple[int, int], ...]:
    steps = []
    for step in filter(None, text.split(";")):
        at, colon, value = step.partition(":")
        if not colon:
            message = 'write for example "10s:5 Mbit/s;20s:10 Mbit/s"'
            raise ValueError(message)
        steps.append((_seconds(at), parse(value)))
    return tuple(steps)


def _ranges(text: str) -> tuple[tuple[int, int], ...]:
    ranges = []
    for part in filter(None, text.split(";")):
        start, dash, stop = part.partition("-")
        if not dash or _seconds(stop) <= _seconds(start):
            message = 'write for example "10-13;20-21"'
            raise ValueError(message)
        ranges.append((_seconds(start), _seconds(stop)))
    return tuple(ranges)
