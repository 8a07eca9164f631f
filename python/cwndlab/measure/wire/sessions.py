"""Represent the sessions of clients at a server, and the limits on their use."""

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
    """Limits on the use of the server by its clients."""

    pending: int = 256
    """Maximum number of connections without proof of the token; a further connection closes an
    older one."""
    pending_of_address: int = 32
    """The same limit for one address or IPv6 network; a further connection closes the oldest
    one."""
    opening_s: float = 5
    """Maximum time in seconds until a client must have proved its knowledge of the token."""
    sessions: int = 64
    """Maximum number of sessions: one session measures, the others wait for their turn."""
    flows: int = 32
    flow_s: float = 600
    idle_s: float = 120
    """Maximum time in seconds without a request of a session, in addition to the duration of its
    flows."""
    silence_s: float = 10
    """Time in seconds without an answer from the client's computer after which the client is
    considered lost."""
    turn_idle_s: float = 30
    """The same limit as `idle_s`, for the session that may measure at present (has the turn)."""
    turn_answer_s: float = 5
    """Interval in seconds at which a waiting client receives the number of clients ahead."""
    samples: int = MOST_SAMPLES
    """Maximum number of samples of all flows of a session together."""
    datagram_mbit_s: int = 2_000
    asking_s: float = 5
    """Time in seconds within which a client that requests datagrams must first send a datagram."""


@dataclass(slots=True)
class ServedFlow:
    """A flow that a client has requested, and the server's end of the flow, if connected."""

    request: protocol.Prepare
    ticket: bytes
    """Ticket that binds the data connection to the flow."""
    end: FlowEnd | None = None


@dataclass(slots=True)
class ServedSession:
    """The session of a client that has proved its knowledge of the token."""

    id: str
    key: bytes
    address: str
    connection: socket.socket
    syn: View | None
    turn: str
    """`id` of the session in whose turn this session may measure: this session, or the session that
    it accompanies."""
    flows: dict[int, ServedFlow] = field(default_factory=dict)
    datagrams: DatagramReceiver | None = None
    saturator: Saturator | None = None
