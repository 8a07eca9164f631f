"""Read `struct tcp_info`, the kernel's state of a connection (tcp(7), linux/tcp.h).

Newer kernels append fields, and each kernel returns only the fields that it knows. A field that the
kernel does not know is absent, never 0. The backends that run on kernels fill the table `tcp_info`
from this struct. Every 10 ms, each flow adds one row for its sender and one for its receiver.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_BYTES = 256
INFINITE_SSTHRESH = 0x7FFF_FFFF

_LAYOUT = """
B state ca_state retransmits probes backoff options window_scales flags
I rto_us ato_us snd_mss rcv_mss unacked sacked lost retrans fackets
I last_data_sent_ms last_ack_sent_ms last_data_recv_ms last_ack_recv_ms pmtu
I rcv_ssthresh rtt_us rttvar_us snd_ssthresh snd_cwnd advmss reordering
I rcv_rtt_us rcv_space total_retrans
Q pacing_rate max_pacing_rate bytes_acked bytes_received
I segs_out segs_in notsent_bytes min_rtt_us data_segs_in data_segs_out
Q delivery_rate busy_time_us rwnd_limited_us sndbuf_limited_us
I delivered delivered_ce
Q bytes_sent bytes_retrans
I dsack_dups reord_seen rcv_ooopack snd_wnd rcv_wnd rehash
H total_rto total_rto_recoveries
I total_rto_time_ms
"""


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    format: str
    offset: int
    end: int


def _fields() -> tuple[_Field, ...]:
    found = []
    at = 0
    for letter, *names in map(str.split, _LAYOUT.strip().splitlines()):
        size = struct.calcsize(f"={letter}")
        at = -(-at // size) * size  # a field is aligned to its size
        for name in names:
            found.append(_Field(name, letter, at, at + size))
            at += size
    return tuple(found)


FIELDS = _fields()

Info = dict[str, int]


def read(connection: socket.socket) -> bytes:
    """Read TCP_INFO from the socket of a connection.

    Raises:
        OSError: the socket is closed.
    """
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, MAX_BYTES)


def columns(answers: Sequence[bytes]) -> dict[str, list[int]]:
    """Map the name of each field to the list of the field's values in `answers` (raw structs).

    A field that is missing from one or more answers is left out.
    """
    if not answers:
        return {}
    length = min(map(len, answers))
    fields = [field for field in FIELDS if field.end <= length]
    unpack = _layout(fields).unpack_from
    rows = zip(*(unpack(answer) for answer in answers), strict=True)
    return {field.name: list(values) for field, values in zip(fields, rows, strict=True)}


def _layout(fields: Sequence[_Field]) -> struct.Struct:
    """Return a format that unpacks only the given fields of `struct tcp_info`."""
    at = 0
    formats = ["="]
    for field in fields:
        formats.append(f"{field.offset - at}x{field.format}")
        at = field.end
    return struct.Struct("".join(formats))


def decode(answer: bytes) -> Info:
    """Unpack one raw `struct tcp_info`: map the name of each field to the field's value."""
    return {name: values[0] for name, values in columns([answer]).items()}


def series_row(t_s: float, info: Mapping[str, int]) -> dict[str, float | None]:
    """Convert the fields at time `t_s` to a row with the columns of `cwndlab.imports.series`."""
    ssthresh = info["snd_ssthresh"]
    shortest = info.get("min_rtt_us", 0)
    in_flight = info["unacked"] - info["sacked"] - info["lost"] + info["retrans"]
    row: dict[str, float | None] = {
        "t_s": t_s,
        "cwnd_pkts": info["snd_cwnd"],
        "ssthresh_pkts": ssthresh if ssthresh < INFINITE_SSTHRESH else None,
        "srtt_ms": info["rtt_us"] / 1e3 or None,
        "min_rtt_ms": shortest / 1e3 if 0 < shortest < 2**32 - 1 else None,
        "inflight_pkts": max(0, in_flight),
        "retransmitted_pkts": info["total_retrans"],
        "acked_bytes": info.get("bytes_acked"),
        "sent_bytes": info.get("bytes_sent"),
        "sent_pkts": info.get("data_segs_out"),
        "timeouts": info.get("total_rto"),
        "ca_state": info["ca_state"],
        "unacked_pkts": info["unacked"],
        "backoff": info["backoff"],
    }
    for name, column in (
        ("pacing_rate", "pacing_rate_mbit_s"),
        ("delivery_rate", "delivery_rate_mbit_s"),
    ):
        rate = info.get(name, 2**64 - 1)
        row[column] = rate * 8e-6 if rate < 2**63 else None
    return row
