"""The clients of a server, and how much it lets them have."""

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
    """Connections that have not shown the token; one more, and an older one is closed."""
    pending_of_address: int = 32
    """Pending connections of one address or IPv6 network; beyond them, its oldest is closed."""
    opening_s: float = 5
    """Longest time of a pending connection."""
    sessions: int = 64
    """One measures, the others wait for their turn."""
    flows: int = 32
    flow_s: float = 600
    idle_s: float = 120
    """A session that says nothing for so long after its flows' time is over."""
    silence_s: float = 10
    """A client whose machine answers nothing for so long is given up."""
    turn_idle_s: float = 30
    """One that has its turn and asks for nothing for so long, beyond its flows' time, loses it."""
    turn_answer_s: float = 5
    """After which one that waits for its turn is told how many are ahead."""
    samples: int = MOST_SAMPLES
    """Limit for all flows of a session together."""
    datagram_mbit_s: int = 2_000
    asking_s: float = 5
    """Time within which a client that wants datagrams must send the first one itself."""


@dataclass(slots=True)
class ServedFlow:
    """A flow that a client has asked for, and its end here once it is connected."""

    request: protocol.Prepare
    ticket: bytes
    """With which its data connection is bound to it."""
    end: FlowEnd | None = None


@dataclass(slots=True)
class ServedSession:
    """A client that has shown the token."""

    id: str
    key: bytes
    address: str
    connection: socket.socket
    syn: View | None
    turn: str
    """Session whose turn it uses: its own, or that of the session beside which it runs."""
    flows: dict[int, ServedFlow] = field(default_factory=dict)
    datagrams: DatagramReceiver | None = None
    saturator: Saturator | None = None
