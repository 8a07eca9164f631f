"""`cwndlab serve`: the far end of live measurements, on a machine that anybody can reach.

One port, TCP and UDP. Who does not know the token gets a nonce and nothing else. Everything is
bounded: connections that have not yet shown the token (the oldest gives way), their time, clients,
flows, bytes of a message, samples, the time of a flow and of a session. A client names no command
and no file. What is served are zeros.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from cwndlab.errors import CwndlabError
from cwndlab.measure.machine.clock import now_ns
from cwndlab.measure.machine.host import describe_host
from cwndlab.measure.machine.path_view import save_syns, saved_syn, view_of
from cwndlab.measure.wire import protocol, sftp
from cwndlab.measure.wire.datagrams import DatagramReceiver, prepare, receive, send_datagrams
from cwndlab.measure.wire.exchange import LibraryMissingError
from cwndlab.measure.wire.flow import AlgorithmMissingError, FlowEnd, set_algorithm
from cwndlab.measure.wire.lines import LineStream, closed_by_peer
from cwndlab.measure.wire.protocol import ProtocolError, Signer
from cwndlab.measure.wire.saturator import FEEDBACK_EVERY_S, ArrivalRecorder, Saturator
from cwndlab.measure.wire.sessions import Limits, ServedFlow, ServedSession
from cwndlab.schema.application import Sftp

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from cwndlab.measure.wire.datagrams import SocketAddress

_NS_PER_S = 10**9
_NO_DATAGRAM = "no datagram came through; the network may block UDP"


class ServerError(CwndlabError):
    """The server cannot start."""


class Server:
    """Accepts clients until it is cancelled."""

    def __init__(self, token: str, limits: Limits | None = None) -> None:
        """Serve those who know `token`."""
        self._token = token
        self._limits = limits or Limits()
        self._pending: OrderedDict[socket.socket, asyncio.Task[None]] = OrderedDict()
        self._sessions: dict[str, ServedSession] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.address: tuple[str, int] = ("", 0)

    async def run(self, host: str, port: int, ready: Callable[[], None] | None = None) -> None:
        """Listen on a port of TCP and UDP.

        Raises:
            ServerError: the port is taken, or the address is not this machine's.
        """
        loop = asyncio.get_running_loop()
        with contextlib.ExitStack() as stack:
            listener = stack.enter_context(self._listen(host, port))
            family = listener.family
            self.address = listener.getsockname()[:2]
            datagrams = stack.enter_context(socket.socket(family, socket.SOCK_DGRAM))
            datagrams.bind(listener.getsockname())
            datagrams.settimeout(0)
            prepare(datagrams)
            loop.add_reader(datagrams, self._answer_datagrams, datagrams)
            stack.callback(loop.remove_reader, datagrams)
            if ready is not None:
                ready()
            try:
                while True:
                    await self._accept(loop, listener, datagrams)
            finally:
                for session in list(self._sessions.values()):
                    self._end(session)

    def _listen(self, host: str, port: int) -> socket.socket:
        try:
            listener = socket.create_server(
                (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=512
            )
        except OSError as error:
            msg = f"cannot listen on {host} port {port}: {error.strerror}; name another --port"
            raise ServerError(msg) from None
        listener.settimeout(0)
        save_syns(listener)
        return listener

    async def _accept(
        self, loop: asyncio.AbstractEventLoop, listener: socket.socket, datagrams: socket.socket
    ) -> None:
        try:
            connection, address = await loop.sock_accept(listener)
        except OSError:
            await asyncio.sleep(0.05)  # no descriptors left for the moment
            return
        connection.settimeout(0)
        work = self._serve(LineStream(loop, connection), address[0], datagrams)
        self._pending[connection] = self._spawn(work)
        if len(self._pending) > self._limits.pending:
            # Closed before the next is accepted, so that there are never more.
            _, oldest = self._pending.popitem(last=False)
            oldest.cancel()
            await asyncio.wait([oldest])

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _serve(self, line: LineStream, address: str, datagrams: socket.socket) -> None:
        is_kept = False
        try:
            async with asyncio.timeout(self._limits.opening_s):
                opening, signer = await self._open(line)
            self._pending.pop(line.connection, None)
            if isinstance(opening, protocol.Attach):
                is_kept = await self._attach(line, opening, signer)
            else:
                await self._control(line, opening, signer, address, datagrams)
        except (ProtocolError, TimeoutError, OSError):
            pass  # who cannot show the token is told nothing
        finally:
            self._pending.pop(line.connection, None)
            if not is_kept:
                line.connection.close()

    async def _open(self, line: LineStream) -> tuple[protocol.Hello | protocol.Attach, Signer]:
        nonce = secrets.token_bytes(protocol.NONCE_BYTES)
        await line.write(protocol.greeting(nonce))
        key = protocol.opening_key(self._token, nonce)
        signer = Signer(key, protocol.SERVER)
        opening = protocol.read_opening(signer.check(await line.read()))
        if isinstance(opening, protocol.Hello):
            client_nonce = bytes.fromhex(opening.nonce)
            signer = Signer(protocol.session_key(self._token, nonce, client_nonce), protocol.SERVER)
        return opening, signer

    async def _attach(self, line: LineStream, opening: protocol.Attach, signer: Signer) -> bool:
        """Give a data connection to the flow that waits for it; whether it was taken."""
        session = self._sessions.get(opening.session)
        flow = session.flows.get(opening.flow) if session else None
        if session is None or flow is None or flow.end is not None:
            await line.write(signer.sign({"error": "there is no such flow"}))
            return False
        request = flow.request
        is_sender = request.direction == "forward"
        try:
            if isinstance(request.application, Sftp):
                sftp.require("server")
            algorithm = set_algorithm(line.connection, request.algorithm, "server")
        except AlgorithmMissingError as error:
            await line.write(signer.sign({"error": str(error), "is_algorithm_missing": True}))
            return False
        except LibraryMissingError as error:
            await line.write(signer.sign({"error": str(error), "is_library_missing": True}))
            return False
        await line.write(signer.sign({"algorithm": algorithm}))
        flow.end = FlowEnd(
            line.connection,
            application=request.application,
            is_sender=is_sender,
            duration_s=request.duration_ns / _NS_PER_S,
            max_samples=self._limits.samples // self._limits.flows,
            secret=protocol.flow_secret(session.key, opening.flow),
        )
        session.arrived.set()
        return True

    async def _control(
        self,
        line: LineStream,
        _hello: protocol.Hello,
        signer: Signer,
        address: str,
        datagrams: socket.socket,
    ) -> None:
        if len(self._sessions) >= self._limits.sessions:
            await line.write(signer.sign({"error": "the server is busy; try again later"}))
            return
        syn = saved_syn(line.connection)
        session = ServedSession(secrets.token_hex(8), signer.key, address, line.connection, syn)
        self._sessions[session.id] = session
        try:
            await line.write(signer.sign({"session": session.id} | _describe(session)))
            while True:
                async with asyncio.timeout(self._patience_s(session)):
                    body = signer.check(await line.read())
                try:
                    answer = await self._obey(session, protocol.read_request(body), datagrams)
                except ProtocolError as error:
                    answer = {"error": str(error)}
                await line.write(signer.sign(answer))
        finally:
            self._end(session)

    def _patience_s(self, session: ServedSession) -> float:
        longest_ns = max((flow.request.duration_ns for flow in session.flows.values()), default=0)
        return self._limits.idle_s + longest_ns / _NS_PER_S

    async def _obey(
        self, session: ServedSession, request: protocol.Request, datagrams: socket.socket
    ) -> dict[str, Any]:
        match request:
            case protocol.Describe():
                return _describe(session)
            case protocol.Prepare():
                return self._prepare(session, request)
            case protocol.Start():
                return self._start(session)
            case protocol.Finish():
                return await self._finish(session)
            case protocol.DatagramTest() | protocol.Saturate():
                return await self._send_or_count(session, request, datagrams)

    async def _send_or_count(
        self,
        session: ServedSession,
        request: protocol.DatagramTest | protocol.Saturate,
        datagrams: socket.socket,
    ) -> dict[str, Any]:
        if isinstance(request, protocol.Saturate):
            return await self._saturate(session, request, datagrams)
        return await self._datagrams(session, request, datagrams)

    @staticmethod
    def _start(session: ServedSession) -> dict[str, Any]:
        if any(flow.end is None for flow in session.flows.values()):
            return {"error": "a flow has no data connection"}
        for flow in session.flows.values():
            if flow.end is not None and not flow.end.began_ns:
                flow.end.start()
        return {"now_ns": now_ns()}

    def _prepare(self, session: ServedSession, request: protocol.Prepare) -> dict[str, Any]:
        limits = self._limits
        if len(session.flows) >= limits.flows or request.flow in session.flows:
            return {"error": f"at most {limits.flows} flows, each with a number of its own"}
        if request.duration_ns > limits.flow_s * _NS_PER_S:
            return {"error": f"at most {limits.flow_s:g} s a flow; shorten the study's duration"}
        session.flows[request.flow] = ServedFlow(request)
        return {}

    async def _finish(self, session: ServedSession) -> dict[str, Any]:
        flows, session.flows = session.flows, {}
        loop = asyncio.get_running_loop()
        results = {}
        for number, flow in flows.items():
            if flow.end is not None:
                await loop.run_in_executor(None, flow.end.stop)
                results[str(number)] = flow.end.result()
        return {"flows": results}

    async def _datagrams(
        self, session: ServedSession, request: protocol.DatagramTest, datagrams: socket.socket
    ) -> dict[str, Any]:
        limits = self._limits
        if request.bits_per_sec > limits.datagram_mbit_s * 1_000_000:
            return {"error": f"at most {limits.datagram_mbit_s} Mbit/s of datagrams"}
        if request.duration_ns > limits.flow_s * _NS_PER_S:
            return {"error": f"at most {limits.flow_s:g} s of datagrams"}
        if request.direction == "reverse":
            session.datagrams = DatagramReceiver(session.key, bytes.fromhex(session.id))
            await asyncio.sleep(request.duration_ns / _NS_PER_S + 1)
            receiver, session.datagrams = session.datagrams, None
            return receiver.result()
        peer = await self._who_wants(session)
        if peer is None:
            return {"error": _NO_DATAGRAM}
        loop = asyncio.get_running_loop()
        key, name = session.key, bytes.fromhex(session.id)

        def send(content: bytes) -> None:
            datagrams.sendto(content, peer)

        with closed_by_peer(loop, session.connection) as gone:
            sent = await loop.run_in_executor(
                None,
                lambda: send_datagrams(send, key, name, protocol.SERVER, request, gone),
            )
        return {"sent": sent}

    async def _who_wants(self, session: ServedSession) -> SocketAddress | None:
        """From where the session asked for datagrams; nobody else is sent any."""
        receiver = session.datagrams = DatagramReceiver(session.key, bytes.fromhex(session.id))
        try:
            async with asyncio.timeout(self._limits.asking_s):
                await receiver.has_begun.wait()
        except TimeoutError:
            return None
        finally:
            session.datagrams = None
        return receiver.peer

    async def _saturate(
        self, session: ServedSession, request: protocol.Saturate, datagrams: socket.socket
    ) -> dict[str, Any]:
        limits = self._limits
        if request.duration_ns > limits.flow_s * _NS_PER_S:
            return {"error": f"at most {limits.flow_s:g} s of datagrams; shorten --duration"}
        most = min(request.most_bits_per_sec, limits.datagram_mbit_s * 1_000_000)
        request = request.model_copy(update={"most_bits_per_sec": most})
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
        peer = await self._who_wants(session)
        if peer is None:
            return {"error": _NO_DATAGRAM}
        saturator = session.saturator = Saturator(
            lambda content: datagrams.sendto(content, peer), key, name, protocol.SERVER, request
        )
        loop = asyncio.get_running_loop()
        try:
            with closed_by_peer(loop, session.connection) as gone:
                await loop.run_in_executor(None, saturator.run, gone)
        finally:
            session.saturator = None
        return saturator.result()

    def _answer_datagrams(self, datagrams: socket.socket) -> None:
        """Answer probes of sessions, each by a datagram of the same length; drop all else."""
        for _ in range(256):
            try:
                content, address, arrived_ns = receive(datagrams)
            except (BlockingIOError, OSError):
                return
            received_ns = now_ns()
            session = self._sessions.get(content[:8].hex())
            if session is None or session.address != address[0]:
                continue
            if session.datagrams is not None and session.datagrams.take(
                content, address, arrived_ns, protocol.CLIENT
            ):
                continue
            if session.saturator is not None and session.saturator.take(content, protocol.CLIENT):
                continue
            probe = protocol.read_probe(content, session.key, protocol.CLIENT)
            if probe is None:
                continue
            answer = protocol.Probe(
                probe.session, probe.number, probe.sent_ns, received_ns, now_ns(), session.key
            )
            with contextlib.suppress(OSError):
                datagrams.sendto(answer.encode(protocol.SERVER), address)

    def _end(self, session: ServedSession) -> None:
        self._sessions.pop(session.id, None)
        for flow in session.flows.values():
            if flow.end is not None:
                asyncio.get_running_loop().run_in_executor(None, flow.end.stop)
        session.flows.clear()


def _describe(session: ServedSession) -> dict[str, Any]:
    """This end, and the client's connection as it is seen from here."""
    path = view_of(session.connection) | {"syn": session.syn}
    own = {"now_ns": now_ns(), "is_root": os.geteuid() == 0, "path": path}
    return own | describe_host()
