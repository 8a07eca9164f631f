"""Represent the sessions of clients at a server, and the server's limits on these sessions."""

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
    from cwndlab.measure.wire.trains import TrainReceiver


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits that the server imposes on its clients."""

    pending: int = 256
    """Maximum number of unauthenticated connections; each further connection closes an older
    one."""
    pending_of_address: int = 32
    """Maximum number of unauthenticated connections per IPv4 address or IPv6 /64; each further
    connection closes the oldest one."""
    opening_s: float = 5
    """Time in seconds within which a client must prove that it knows the token."""
    sessions: int = 64
    """Maximum number of sessions, including those that wait for their turn to measure."""
    flows: int = 32
    flow_s: float = 600
    idle_s: float = 120
    """Time in seconds after which a session ends if the client sends no request.

    The server adds the duration of the session's longest flow to this time.
    """
    silence_s: float = 10
    """Time in seconds after which a client is disconnected if its computer acknowledges nothing."""
    turn_idle_s: float = 30
    """Time in seconds that replaces `idle_s` while the session has the turn to measure."""
    turn_answer_s: float = 5
    """Interval in seconds at which the server reports to a waiting client how many clients are
    ahead."""
    samples: int = MOST_SAMPLES
    """Maximum number of TCP_INFO samples of a session, all flows together."""
    datagram_mbit_s: int = 2_000
    asking_s: float = 5
    """Time in seconds for which the server waits for a first datagram from a client that requested
    datagrams. The server sends the requested datagrams to the source address of this first
    datagram."""


@dataclass(slots=True)
class ServedFlow:
    """A flow that a client has announced."""

    request: protocol.Prepare
    ticket: bytes
    """Secret with which a data connection proves that it belongs to the flow."""
    end: FlowEnd | None = None
    """The server's end of the flow; None until the data connection is open."""


@dataclass(slots=True)
class ServedSession:
    """The session of a client that has proved its knowledge of the token."""

    id: str
    key: bytes
    address: str
    connection: socket.socket
    syn: View | None
    turn: str
    """`id` of the session whose turns this session uses to measure. By default, this session uses
    its own turns. If the client already has an older session, a new session may use the turns of
    the older session."""
    flows: dict[int, ServedFlow] = field(default_factory=dict)
    datagrams: DatagramReceiver | TrainReceiver | None = None
    saturator: Saturator | None = None
