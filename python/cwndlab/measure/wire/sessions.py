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
    """Limits of what clients may use of the server."""

    pending: int = 256
    """Most connections that have not proved the token; one more closes an older one."""
    pending_of_address: int = 32
    """Pending connections of one address or IPv6 network; beyond them, its oldest is closed."""
    opening_s: float = 5
    """Longest time of a pending connection."""
    sessions: int = 64
    """Largest number of sessions: one measures, the others wait for their turn."""
    flows: int = 32
    flow_s: float = 600
    idle_s: float = 120
    """Longest silence of a session after the time of its flows."""
    silence_s: float = 10
    """Longest time without an answer from a client's machine before it is given up."""
    turn_idle_s: float = 30
    """Longest time without a request after the time of the flows; then a client loses its turn."""
    turn_answer_s: float = 5
    """Interval at which a waiting client is told how many are ahead."""
    samples: int = MOST_SAMPLES
    """Limit for all flows of a session together."""
    datagram_mbit_s: int = 2_000
    asking_s: float = 5
    """Time within which a client that wants datagrams must send the first one itself."""


@dataclass(slots=True)
class ServedFlow:
    """A flow that a client has requested, and this end of it once it is connected."""

    request: protocol.Prepare
    ticket: bytes
    """Ticket that binds the data connection to the flow."""
    end: FlowEnd | None = None


@dataclass(slots=True)
class ServedSession:
    """A client that has proved that it has the token."""

    id: str
    key: bytes
    address: str
    connection: socket.socket
    syn: View | None
    turn: str
    """Session whose turn it uses: its own, or the one that it accompanies."""
    flows: dict[int, ServedFlow] = field(default_factory=dict)
    datagrams: DatagramReceiver | None = None
    saturator: Saturator | None = None
