"""The clients of a server, and how much it lets them have."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

    from cwndlab.measure.machine.path_view import View
    from cwndlab.measure.wire import protocol
    from cwndlab.measure.wire.datagrams import DatagramReceiver
    from cwndlab.measure.wire.flow import FlowEnd
    from cwndlab.measure.wire.saturator import Saturator


@dataclass(frozen=True, slots=True)
class Limits:
    """How much the server lets its clients have."""

    pending: int = 256
    """Connections that have not shown the token; one more, and the oldest is closed."""
    opening_s: float = 5
    """How long such a connection may take."""
    sessions: int = 8
    flows: int = 32
    flow_s: float = 600
    idle_s: float = 120
    """A session that says nothing for so long after its flows' time is over."""
    samples: int = 60_000
    """Of all flows of a session together."""
    datagram_mbit_s: int = 2_000
    asking_s: float = 5
    """How long who wants datagrams may take to ask for them by one of its own."""


@dataclass(slots=True)
class ServedFlow:
    """A flow that a client has asked for, and its end here once it is connected."""

    request: protocol.Prepare
    end: FlowEnd | None = None


@dataclass(slots=True)
class ServedSession:
    """A client that has shown the token."""

    id: str
    key: bytes
    address: str
    connection: socket.socket
    syn: View | None
    flows: dict[int, ServedFlow] = field(default_factory=dict)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    datagrams: DatagramReceiver | None = None
    saturator: Saturator | None = None
