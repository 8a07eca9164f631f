"""List the established TCP connections of this computer with their TCP_INFO (sock_diag(7))."""

from __future__ import annotations

import ipaddress
import socket
import struct
from dataclasses import dataclass

from cwndlab.measure.machine import netlink
from cwndlab.results import tcp_info

_NETLINK_SOCK_DIAG = 4
_BY_FAMILY = 20
_REQUEST = struct.Struct("=BBBxI48x")
_ESTABLISHED = 1 << 1
_INFO, _ALGORITHM = 2, 4
_EXTENSIONS = 1 << (_INFO - 1) | 1 << (_ALGORITHM - 1)
_PORTS = struct.Struct("!HH")
_FAMILY_AT, _PORTS_AT, _FROM_AT, _TO_AT, _COOKIE_AT, _ATTRIBUTES_AT = 0, 4, 8, 24, 44, 72


@dataclass(frozen=True, slots=True)
class Connection:
    """State of one TCP connection at one moment."""

    cookie: bytes
    """Identifier of the connection, unique since the computer started."""
    own: tuple[str, int]
    peer: tuple[str, int]
    algorithm: str
    info: dict[str, int]


def connections() -> list[Connection]:
    """Return all established connections of this network namespace; needs no root privileges.

    Raises:
        OSError: the kernel does not support sock_diag.
    """
    found = []
    for family in (socket.AF_INET, socket.AF_INET6):
        request = _REQUEST.pack(family, socket.IPPROTO_TCP, _EXTENSIONS, _ESTABLISHED)
        for answer in netlink.ask(_NETLINK_SOCK_DIAG, _BY_FAMILY, request, is_dump=True):
            connection = read(answer)
            if connection is not None:
                found.append(connection)
    return found


def read(answer: bytes) -> Connection | None:
    """Parse a sock_diag message about one connection; None if it contains no TCP_INFO."""
    if len(answer) < _ATTRIBUTES_AT:
        return None
    attributes = netlink.attributes(answer[_ATTRIBUTES_AT:])
    if _INFO not in attributes:
        return None
    own_port, peer_port = _PORTS.unpack_from(answer, _PORTS_AT)
    family = answer[_FAMILY_AT]
    return Connection(
        answer[_COOKIE_AT : _COOKIE_AT + 8],
        (_address(answer, _FROM_AT, family), own_port),
        (_address(answer, _TO_AT, family), peer_port),
        attributes.get(_ALGORITHM, b"").rstrip(b"\0").decode(errors="replace"),
        tcp_info.decode(attributes[_INFO]),
    )


def _address(answer: bytes, at: int, family: int) -> str:
    if family == socket.AF_INET:
        return str(ipaddress.IPv4Address(answer[at : at + 4]))
    address = ipaddress.IPv6Address(answer[at : at + 16])
    return str(address.ipv4_mapped or address)
