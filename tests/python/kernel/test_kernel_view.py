"""Kernel data on runs: `TCP_INFO` of both ends, tracepoints, and the resulting tables."""

from __future__ import annotations

import socket
import struct
import sys
from typing import Any

import pytest

from cwndlab.backends.kernel.states import state_table
from cwndlab.backends.kernel.tracing import count, fill, happenings, replace_events
from cwndlab.results import tcp_info

NETWORK, USER, OTHER = 11, 12, 13
KERNEL = {"began_ns": 1_000_000_000, "namespaces": [NETWORK, USER]}
FLOWS: list[dict[str, Any]] = [{"id": 4}, {"id": 5, "direction": "reverse"}]
RETRANSMISSION, TIMEOUT, RECOVERY = range(3)


def told(at_ns: int, flow: int, end: int, answer: bytes) -> bytes:
    return struct.pack("<QIHH", at_ns, flow, end, len(answer)) + answer


def answer(length: int = 248, **fields: int) -> bytes:
    """Return a `TCP_INFO` of this length, as an older or newer kernel returns it."""
    raw = bytearray(length)
    for field in tcp_info.FIELDS:
        if field.name in fields:
            struct.pack_into(field.format, raw, field.offset, fields[field.name])
    return bytes(raw)


def traced(*rows: tuple[int, int, int, int, int]) -> bytes:
    return b"".join(struct.pack("<QIIHHI", *row, 0) for row in rows)


def test_both_ends_of_a_flow_become_rows_of_one_table() -> None:
    records = (
        told(10_000_000, 4, 0, answer(snd_cwnd=10, total_rto=1))
        + told(10_000_000, 4, 1, answer(bytes_received=7))
        + told(20_000_000, 4, 0, answer(snd_cwnd=20, total_rto=2))
    )
    table = state_table("key", records)
    assert table is not None
    assert table.select("run", "flow", "end", "t_s", "snd_cwnd", "bytes_received").rows() == [
        ("key", 4, "sender", 0.01, 10, 0),
        ("key", 4, "sender", 0.02, 20, 0),
        ("key", 4, "receiver", 0.01, 0, 7),
    ]
    assert table["total_rto"].to_list() == [1, 2, 0]
    assert state_table("key", b"") is None


def test_what_an_older_kernel_does_not_know_is_no_column() -> None:
    table = state_table("key", told(0, 0, 0, answer(232, snd_cwnd=3)))
    assert table is not None
    assert "total_rto" not in table.columns
    assert table["snd_cwnd"].to_list() == [3]


@pytest.mark.skipif(sys.platform != "linux", reason="TCP_INFO is Linux's")
def test_the_running_kernel_has_the_fields_where_the_table_says() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.connect(server.getsockname())
        connection, _ = server.accept()
        with connection:
            client.sendall(bytes(1000))
            left = 1000
            while left:
                left -= len(connection.recv(left))
            columns = tcp_info.columns([tcp_info.read(end) for end in (client, connection)])
    assert columns["state"] == [1, 1]
    assert columns["bytes_received"] == [0, 1000]
    assert min(columns["snd_cwnd"]) > 0


def test_happenings_are_those_of_the_senders_of_the_run() -> None:
    records = traced(
        (1_500_000_000, NETWORK, TIMEOUT, 40_000, 10_000),  # the sender connects
        (1_400_000_000, USER, RECOVERY, 10_001, 40_000),  # the sender listens
        (1_400_000_000, USER, RETRANSMISSION, 10_000, 40_000),  # the receiver of flow 0
        (1_400_000_000, OTHER, TIMEOUT, 40_000, 10_000),  # another connection
        (1_400_000_000, NETWORK, TIMEOUT, 22, 40_000),
        (900_000_000, NETWORK, TIMEOUT, 40_000, 10_000),  # before the run; the next one is after it
        (3_100_000_000, NETWORK, TIMEOUT, 40_000, 10_000),
    )
    found = happenings(records + b"torn", FLOWS, KERNEL, 2_000_000_000)
    assert [(each.flow, each.t_s, each.event) for each in found] == [
        (1, 0.4, "recovery"),
        (0, 0.5, "timeout"),
    ]
    assert count(found, 2) == [
        {"retransmission": 0, "timeout": 1, "recovery": 0},
        {"retransmission": 0, "timeout": 0, "recovery": 1},
    ]


def test_what_was_traced_fills_what_nobody_else_told_and_replaces_what_was_seen_late() -> None:
    found = happenings(traced((1_500_000_000, NETWORK, TIMEOUT, 1, 10_000)), FLOWS, KERNEL, 10**10)
    tables = {"flows": {"timeouts": [None, 3], "recoveries": [7, None]}}
    fill(tables, count(found, 2))
    assert tables["flows"] == {"timeouts": [1, 3], "recoveries": [7, 0]}
    events: dict[str, list[Any]] = {
        "flow": [None, 4, 4, 4],
        "t_s": [0.1, 0.2, 0.51, 0.6],
        "event": ["outage_began", "open", "timeout", "loss"],
        "value": [None, None, None, None],
    }
    replaced = replace_events(events, found, [4, 5])
    assert replaced["event"] == ["outage_began", "open", "timeout", "loss"]
    assert replaced["t_s"] == [0.1, 0.2, 0.5, 0.6]
    assert replaced["flow"] == [None, 4, 4, 4]
