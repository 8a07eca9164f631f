"""The clients of a server, and the limits of their use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cwndlab.measure.wire.flow import MOST_SAMPLES

if TYPE_CHECKING:
    import socket

    from cwndlab.measure.machine.path_view import View
    from cwndlab.measure.wire import protocol
    from cwndlab.measure.wire.datagrams import DatagramReceiver
    from cwndlab.measure.wire.flow import FlowEnd
    from cwndlab.measure.wire.saturator import Saturator


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the use of the server by clients."""

    pending: int = 256
    """Largest number of connections without proof of the token; a new one closes an older one."""
    pending_of_address: int = 32
    """Same limit for one address or IPv6 network; a new connection closes its oldest."""
    opening_s: float = 5
    """Longest time until a client must prove that it knows the token."""
    sessions: int = 64
    """Largest number of sessions: one measures, the others wait for their turn."""
    flows: int = 32
    flow_s: float = 600
    idle_s: float = 120
    """Longest silence of a session after the time of its flows."""
    silence_s: float = 10
    """Time without an answer from a client's machine after which the client counts as lost."""
    turn_idle_s: float = 30
    """Longest time without a request after the flows' time; a client then loses its turn."""
    turn_answer_s: float = 5
    """Interval at which a waiting client gets the number of clients ahead."""
    samples: int = MOST_SAMPLES
    """Limit for all flows of a session together."""
    datagram_mbit_s: int = 2_000
    asking_s: float = 5
    """Time within which a client that requests datagrams must send a first datagram itself."""


@dataclass(slots=True)
class ServedFlow:
    """A flow that a client has requested, and the server's end of the flow once connected."""

    request: protocol.Prepare
    ticket: bytes
    """Ticket that binds the data connection to the flow."""
    end: FlowEnd | None = None


@dataclass(slots=True)
class ServedSession:
    """A client that has proved that it knows the token."""

    id: str
    key: bytes
    address: str
    connection: socket.socket
    syn: View | None
    turn: str
    """Session whose turn this one uses: itself, or the session that it accompanies."""
    flows: dict[int, ServedFlow] = field(default_factory=dict)
    datagrams: DatagramReceiver | None = None
    saturator: Saturator | None = None
