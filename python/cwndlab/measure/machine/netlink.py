"""Request data from the Linux kernel over netlink (rtnetlink(7), sock_diag(7))."""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_ATTRIBUTE = struct.Struct("=HH")
_REQUEST, _DUMP = 0x1, 0x300
_ERROR, _DONE = 2, 3
_ATTRIBUTE_TYPE = 0x3FFF  # mask without the flags for nesting and byte order
_ANSWER_BYTES = 1 << 18

_GET_LINK, _GET_ROUTE, _GET_QDISC = 18, 26, 38
_LINK = struct.Struct("=BxHiII")
_ROUTE = struct.Struct("=BBBBBBBBI")
_QDISC = struct.Struct("=BxxxiIII")
_ROUTE_DESTINATION, _ROUTE_INTERFACE = 1, 4
_LINK_NAME, _LINK_MTU, _LINK_QDISC, _LINK_QUEUE, _LINK_STATE, _LINK_COUNTERS = 3, 4, 6, 13, 16, 23
_STATES_UP = (0, 6)  # "unknown" and "up" (RFC 2863)
_COUNTERS = (
    "rx_pkts",
    "tx_pkts",
    "rx_bytes",
    "tx_bytes",
    "rx_errors",
    "tx_errors",
    "rx_dropped_pkts",
    "tx_dropped_pkts",
)
_QDISC_KIND, _QDISC_OPTIONS = 1, 2
_ROOT = 0xFFFF_FFFF
_LIMIT_OPTION = {"fq": 1, "fq_codel": 2, "codel": 2}

Attributes = dict[int, bytes]


def ask(family: int, kind: int, body: bytes, *, is_dump: bool = False) -> Iterator[bytes]:
    """Send a netlink request, and yield the payload of each message of the answer.

    Raises:
        OSError: the kernel refuses the request, or does not support netlink.
    """
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, family) as link:
        flags = _REQUEST | (_DUMP if is_dump else 0)
        link.sendall(_HEADER.pack(_HEADER.size + len(body), kind, flags, 1, 0) + body)
        while True:
            content = link.recv(_ANSWER_BYTES)
            while len(content) >= _HEADER.size:
                length, answer, _flags, _sequence, _port = _HEADER.unpack_from(content)
                payload, content = content[_HEADER.size : length], content[_aligned(length) :]
                if answer == _DONE:
                    return
                if answer == _ERROR:
                    code = -struct.unpack_from("=i", payload)[0]
                    if code:
                        raise OSError(code, os.strerror(code))
                    return
                yield payload
            if not is_dump:
                return


def attributes(content: bytes) -> Attributes:
    """Return the attributes of a netlink message, keyed by attribute type."""
    found = {}
    while len(content) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(content)
        if length < _ATTRIBUTE.size:
            break
        found[kind & _ATTRIBUTE_TYPE] = content[_ATTRIBUTE.size : length]
        content = content[_aligned(length) :]
    return found


def interface_to(address: str) -> int | None:
    """Return the index of the interface on the route to an address, or None without a route."""
    packed = ipaddress.ip_address(address.partition("%")[0]).packed
    family = socket.AF_INET if len(packed) == 4 else socket.AF_INET6  # noqa: PLR2004  bytes of IPv4
    head = _ROUTE.pack(family, 8 * len(packed), 0, 0, 0, 0, 0, 0, 0)
    destination = _ATTRIBUTE.pack(_ATTRIBUTE.size + len(packed), _ROUTE_DESTINATION) + packed
    try:
        for answer in ask(socket.NETLINK_ROUTE, _GET_ROUTE, head + destination):
            found = attributes(answer[_ROUTE.size :]).get(_ROUTE_INTERFACE)
            if found is not None:
                return _whole(found)
    except OSError:
        return None
    return None


def link(index: int) -> dict[str, Any]:
    """Return name, MTU, queue length, queueing discipline, state and counters of an interface.

    Raises:
        OSError: no interface has this index.
    """
    head = _LINK.pack(0, 0, index, 0, 0)
    answer = next(iter(ask(socket.NETLINK_ROUTE, _GET_LINK, head)), b"")
    return _link(attributes(answer[_LINK.size :]))


def _link(found: Attributes) -> dict[str, Any]:
    return {
        "name": _text(found.get(_LINK_NAME, b"")),
        "mtu_bytes": _whole(found.get(_LINK_MTU, bytes(4))),
        "queue_length_pkts": _whole(found.get(_LINK_QUEUE, bytes(4))),
        "qdisc": _text(found.get(_LINK_QDISC, b"")),
        "is_up": found.get(_LINK_STATE, b"\0")[0] in _STATES_UP,
        **_counters(found.get(_LINK_COUNTERS, b"")),
    }


def links() -> list[dict[str, Any]]:
    """Return name, MTU, state and other properties of each interface, as `link` returns them."""
    head = _LINK.pack(0, 0, 0, 0, 0)
    answers = ask(socket.NETLINK_ROUTE, _GET_LINK, head, is_dump=True)
    return [_link(attributes(answer[_LINK.size :])) for answer in answers]


def qdisc_limit_pkts(index: int) -> int | None:
    """Return the packet limit of an interface's root qdisc; None if the limit is unknown."""
    head = _QDISC.pack(0, index, 0, _ROOT, 0)
    try:
        for answer in ask(socket.NETLINK_ROUTE, _GET_QDISC, head, is_dump=True):
            _family, at, _handle, parent, _info = _QDISC.unpack_from(answer)
            found = attributes(answer[_QDISC.size :])
            if at == index and parent == _ROOT:
                return _limit(_text(found.get(_QDISC_KIND, b"")), found.get(_QDISC_OPTIONS, b""))
    except OSError:
        return None
    return None


def _counters(content: bytes) -> dict[str, int]:
    count = min(len(_COUNTERS), len(content) // 8)
    return dict(zip(_COUNTERS, struct.unpack_from(f"={count}Q", content), strict=False))


def _limit(kind: str, options: bytes) -> int | None:
    if kind == "pfifo" and len(options) >= 4:  # noqa: PLR2004  32 bits
        return _whole(options)
    place = _LIMIT_OPTION.get(kind)
    value = None if place is None else attributes(options).get(place)
    return None if value is None else _whole(value)


def _aligned(length: int) -> int:
    return (length + 3) & ~3


def _whole(value: bytes) -> int:
    return int(struct.unpack_from("=I", value)[0])


def _text(value: bytes) -> str:
    return value.rstrip(b"\0").decode(errors="replace")
