"""Execute the requests that a client sends on its control connection."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from cwndlab.measure.machine.clock import now_ns
from cwndlab.measure.machine.host import describe_host
from cwndlab.measure.machine.path_view import view_of, waited_ms
from cwndlab.measure.wire import protocol
from cwndlab.measure.wire.datagrams import DatagramReceiver, send_datagrams
from cwndlab.measure.wire.saturator import FEEDBACK_EVERY_S, ArrivalRecorder, Saturator
from cwndlab.measure.wire.sessions import Limits, ServedFlow, ServedSession
from cwndlab.measure.wire.threads import in_own_thread
from cwndlab.measure.wire.trains import TrainReceiver, send_trains

if TYPE_CHECKING:
    import socket
    import threading

    from cwndlab.measure.wire.datagrams import SocketAddress
    from cwndlab.measure.wire.flow import FlowEnd
    from cwndlab.measure.wire.turns import Turns

_NS_PER_S = 10**9
_NO_DATAGRAM = "no datagram arrived; the network may block UDP"


class SessionControl:
    """Executes the requests of one client's session."""

    def __init__(
        self, session: ServedSession, limits: Limits, turns: Turns, datagrams: socket.socket
    ) -> None:
        """Serve a session within `limits`; `datagrams` is the UDP socket of the server."""
        self._session = session
        self._limits = limits
        self._turns = turns
        self._datagrams = datagrams
        self._read_s = time.perf_counter()
        self._waited_ms = 0.0

    def begin(self) -> None:
        """Record when a request was read, and how long it had waited in the receive buffer."""
        self._read_s = time.perf_counter()
        self._waited_ms = waited_ms(self._session.connection)

    @property
    def connection(self) -> socket.socket:
        """Control connection of this session."""
        return self._session.connection

    @property
    def patience_s(self) -> float:
        """Time in seconds after which the session ends if the client sends no request."""
        flows = self._session.flows.values()
        longest_ns = max((flow.request.duration_ns for flow in flows), default=0)
        idle_s = self._limits.turn_idle_s if self._has_turn else self._limits.idle_s
        return idle_s + longest_ns / _NS_PER_S

    @property
    def _has_turn(self) -> bool:
        return self._turns.has(self._session.turn)

    async def obey(self, request: protocol.AnyRequest, gone: threading.Event) -> dict[str, Any]:
        """Carry out a request and return the answer.

        If the client disconnects in the meantime, the request is cancelled: `gone` is set, and the
        threads of the request end.
        """
        is_measuring = isinstance(
            request, protocol.Start | protocol.DatagramTest | protocol.Saturate | protocol.Trains
        )
        if is_measuring and not self._has_turn:
            return {"error": "only one client can measure at a time; request a turn first"}
        match request:
            case protocol.Describe():
                answer = self.describe()
            case protocol.TakeTurn():
                answer = {"ahead": await self._turn()}
            case protocol.Prepare():
                answer = self._prepare(request)
            case protocol.Start():
                answer = self._start()
            case protocol.Progress():
                answer = self._progress()
            case protocol.Finish():
                answer = await self._finish()
            case protocol.DatagramTest() | protocol.Saturate() | protocol.Trains():
                answer = await self._send_or_count(request, gone)
        return answer

    def describe(self) -> dict[str, Any]:
        """Describe this computer and its view of the control connection (TCP options, RTT)."""
        host = describe_host()
        path = view_of(self._session.connection) | {"syn": self._session.syn}
        # The time that the request has spent on this computer, not on the path.
        path["waited_ms"] = self._waited_ms + 1e3 * (time.perf_counter() - self._read_s)
        return {"now_ns": now_ns(), "path": path} | host

    async def _turn(self) -> int:
        if self._has_turn or self._session.turn != self._session.id:
            return 0
        return await self._turns.wait(self._session.id, self._limits.turn_answer_s)

    def _prepare(self, request: protocol.Prepare) -> dict[str, Any]:
        limits, flows = self._limits, self._session.flows
        if len(flows) >= limits.flows or request.flow in flows:
            return {
                ("error"): f"at most {limits.flows} flows are allowed, each with a different number"
            }
        if request.duration_ns > limits.flow_s * _NS_PER_S:
            return {
                "error": f"flows may take at most {limits.flow_s:g} s; shorten the study's duration"
            }
        ticket = secrets.token_bytes(protocol.TICKET_BYTES)
        flows[request.flow] = ServedFlow(request, ticket)
        return {"ticket": ticket.hex()}

    def _start(self) -> dict[str, Any]:
        flows = self._session.flows.values()
        ends = [flow.end for flow in flows if flow.end is not None]
        if len(ends) < len(flows):
            return {"error": "one of the flows has no data connection"}
        for end in ends:
            if not end.began_ns:
                end.start(self._limits.samples // len(ends))
        return {"now_ns": now_ns()}

    def _progress(self) -> dict[str, Any]:
        """Return RTTs, acknowledged bytes and segments of each flow that this computer sends."""
        flows = self._session.flows.items()
        return {
            "flows": {
                str(number): flow.end.state()
                for number, flow in flows
                if flow.end is not None and flow.request.direction == "forward"
            }
        }

    async def _finish(self) -> dict[str, Any]:
        flows, self._session.flows = self._session.flows, {}
        ends = {number: flow.end for number, flow in flows.items() if flow.end is not None}
        results = await asyncio.gather(
            *(in_own_thread(partial(_stopped, end)) for end in ends.values())
        )
        return {"flows": {str(n): result for n, result in zip(ends, results, strict=True)}}

    async def _send_or_count(
        self,
        request: protocol.DatagramTest | protocol.Saturate | protocol.Trains,
        gone: threading.Event,
    ) -> dict[str, Any]:
        limits = self._limits
        if request.duration_ns > limits.flow_s * _NS_PER_S:
            return {
                "error": f"datagram tests may take at most {limits.flow_s:g} s; shorten --duration"
            }
        most = limits.datagram_mbit_s * 1_000_000
        if isinstance(request, protocol.Saturate):
            most = min(request.most_bits_per_sec, most)
            request = request.model_copy(update={"most_bits_per_sec": most})
            return await self._saturate(request, gone)
        if request.bits_per_sec > most:
            return {"error": f"datagrams are limited to {limits.datagram_mbit_s} Mbit/s"}
        if isinstance(request, protocol.Trains):
            return await self._trains(request, gone)
        return await self._send_at_rate(request, gone)

    async def _send_at_rate(
        self, request: protocol.DatagramTest, gone: threading.Event
    ) -> dict[str, Any]:
        session = self._session
        if request.direction == "reverse":
            session.datagrams = DatagramReceiver(session.key, bytes.fromhex(session.id))
            await asyncio.sleep(request.duration_ns / _NS_PER_S + 1)
            receiver, session.datagrams = session.datagrams, None
            return receiver.result()
        peer = await self._who_wants()
        if peer is None:
            return {"error": _NO_DATAGRAM}
        key, name = session.key, bytes.fromhex(session.id)

        def send(content: bytes) -> None:
            self._datagrams.sendto(content, peer)

        sent = await in_own_thread(
            lambda: send_datagrams(send, key, name, protocol.SERVER, request, gone)
        )
        return {"sent": sent}

    async def _who_wants(self) -> SocketAddress | None:
        """Wait for a datagram from the client; return its source address, or None on timeout."""
        session = self._session
        receiver = session.datagrams = DatagramReceiver(session.key, bytes.fromhex(session.id))
        try:
            async with asyncio.timeout(self._limits.asking_s):
                await receiver.has_begun.wait()
        except TimeoutError:
            return None
        finally:
            session.datagrams = None
        return receiver.peer

    async def _saturate(self, request: protocol.Saturate, gone: threading.Event) -> dict[str, Any]:
        session, datagrams = self._session, self._datagrams
        key, name = session.key, bytes.fromhex(session.id)
        if request.direction == "reverse":
            recorder = session.datagrams = ArrivalRecorder(key, name, request)
            until_s = time.monotonic() + request.duration_ns / _NS_PER_S + 1
            while time.monotonic() < until_s:
                await asyncio.sleep(FEEDBACK_EVERY_S)
                feedback = recorder.feedback(protocol.SERVER)
                if feedback is not None and recorder.peer is not None:
                    with contextlib.suppress(OSError):
                        datagrams.sendto(feedback, recorder.peer)
            session.datagrams = None
            return recorder.result() | {"per_ms": recorder.arrivals()}
        peer = await self._who_wants()
        if peer is None:
            return {"error": _NO_DATAGRAM}
        saturator = session.saturator = Saturator(
            lambda content: datagrams.sendto(content, peer), key, name, protocol.SERVER, request
        )
        try:
            await in_own_thread(lambda: saturator.run(gone))
        finally:
            session.saturator = None
        return saturator.result()

    async def _trains(self, request: protocol.Trains, gone: threading.Event) -> dict[str, Any]:
        session = self._session
        key, name = session.key, bytes.fromhex(session.id)
        if request.direction == "reverse":
            receiver = session.datagrams = TrainReceiver(key, name, request)
            await asyncio.sleep(request.duration_ns / _NS_PER_S + 1)
            session.datagrams = None
            return {"arrivals": receiver.arrivals()}
        peer = await self._who_wants()
        if peer is None:
            return {"error": _NO_DATAGRAM}

        def send(content: bytes) -> None:
            self._datagrams.sendto(content, peer)

        sent = await in_own_thread(
            lambda: send_trains(send, key, name, protocol.SERVER, request, gone)
        )
        return {"sent": sent}


def _stopped(end: FlowEnd) -> dict[str, Any]:
    """Stop a flow at the server, and return the server's records of the flow."""
    end.stop()
    return end.result()
