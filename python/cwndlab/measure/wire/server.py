"""Implement `cwndlab serve`: the server of live measurements, reachable from the internet.

The server uses one port for TCP and UDP. A client without the token receives only a certificate
and a nonce. A client must authenticate within a few seconds. The number of unauthenticated
connections is limited, per address and in total; beyond the limit, each new connection closes an
older one. Further limits apply to the number of clients, flows and samples, to the size of a
message, and to the duration of a flow. Idle sessions are ended. A client cannot name commands or
files, and the server sends only zeros as data.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import secrets
import socket
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from cwndlab.errors import CwndlabError
from cwndlab.measure.machine.clock import now_ns
from cwndlab.measure.machine.path_view import save_syns, saved_syn
from cwndlab.measure.wire import protocol, sftp
from cwndlab.measure.wire.address import is_host
from cwndlab.measure.wire.control import SessionControl
from cwndlab.measure.wire.datagrams import prepare, receive
from cwndlab.measure.wire.exchange import LibraryMissingError
from cwndlab.measure.wire.flow import AlgorithmMissingError, FlowEnd, set_algorithm
from cwndlab.measure.wire.lines import LineStream, accept_pipe, notice_loss, while_connected
from cwndlab.measure.wire.protocol import ProtocolError, Signer
from cwndlab.measure.wire.sessions import Limits, ServedFlow, ServedSession
from cwndlab.measure.wire.threads import start_thread
from cwndlab.measure.wire.turns import Turns
from cwndlab.measure.wire.waiting_places import WaitingPlaces
from cwndlab.schema.application import Sftp

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from cwndlab.measure.wire.certificate import ServerCertificate

_NS_PER_S = 10**9
_BACKLOG = 4096
_ACCEPTED_AT_ONCE = 16
_ANY_IPV6 = "::"
_NO_FLOW = "the requested flow does not exist"


@dataclass(frozen=True, slots=True)
class _ControlConnection:
    """A control connection whose client has proved its knowledge of the token."""

    signer: Signer
    hello: protocol.Hello


@dataclass(frozen=True, slots=True)
class _DataConnection:
    """A data connection that the client of a session has opened for a flow."""

    signer: Signer
    flow: ServedFlow
    secret: bytes


class ServerError(CwndlabError):
    """The server cannot start."""


class Server:
    """Serves clients until its task is cancelled."""

    def __init__(
        self, token: str, certificate: ServerCertificate, limits: Limits | None = None
    ) -> None:
        """Create a server for clients that know `token`; `certificate` identifies the server."""
        self._token = token
        self._certificate = certificate
        self._limits = limits or Limits()
        self._pending: WaitingPlaces[asyncio.Task[None]] = WaitingPlaces(
            self._limits.pending, self._limits.pending_of_address
        )
        self._turns = Turns()
        self._sessions: dict[str, ServedSession] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.address: tuple[str, int] = ("", 0)

    async def run(self, host: str, port: int, ready: Callable[[], None] | None = None) -> None:
        """Listen on a port, over TCP and UDP; the host `::` means all IPv6 and IPv4 addresses.

        Raises:
            ServerError: the port is in use, or the address does not belong to this computer.
        """
        loop = asyncio.get_running_loop()
        with contextlib.ExitStack() as stack:
            listener = stack.enter_context(self._listen(host, port))
            self.address = listener.getsockname()[:2]
            datagrams = stack.enter_context(socket.socket(listener.family, socket.SOCK_DGRAM))
            if listener.family == socket.AF_INET6:
                datagrams.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, host != _ANY_IPV6)
            datagrams.bind(listener.getsockname())
            datagrams.settimeout(0)
            prepare(datagrams)
            loop.add_reader(datagrams, self._answer_datagrams, datagrams)
            stack.callback(loop.remove_reader, datagrams)
            if ready is not None:
                ready()
            self._go_on_accepting(listener, datagrams)
            stack.callback(loop.remove_reader, listener)
            try:
                await loop.create_future()  # until cancelled
            finally:
                for session in list(self._sessions.values()):
                    self._end(session)

    def _listen(self, host: str, port: int) -> socket.socket:
        if not is_host(host):
            msg = f"{host!r} is not an address; choose an address of this machine with --host"
            raise ServerError(msg)
        try:
            listener = socket.create_server(
                (host, port),
                family=socket.AF_INET6 if ":" in host else socket.AF_INET,
                backlog=_BACKLOG,
                dualstack_ipv6=host == _ANY_IPV6,
            )
        except OSError as error:
            is_foreign = isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL
            remedy = (
                "choose an address of this machine with --host"
                if is_foreign
                else ("choose another --port")
            )
            msg = f"cannot listen on {host} port {port}: {error.strerror}; {remedy}"
            raise ServerError(msg) from None
        listener.settimeout(0)
        save_syns(listener)
        return listener

    def _accept(self, listener: socket.socket, datagrams: socket.socket) -> None:
        """Accept several waiting connections; if more wait, the event loop calls this again."""
        loop = asyncio.get_running_loop()
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                connection, address = listener.accept()
            except BlockingIOError:
                return
            except OSError:  # temporarily no free file descriptors
                loop.remove_reader(listener)
                loop.call_later(0.05, self._go_on_accepting, listener, datagrams)
                return
            connection.settimeout(0)
            self._receive(connection, address[0], datagrams)

    def _go_on_accepting(self, listener: socket.socket, datagrams: socket.socket) -> None:
        if listener.fileno() >= 0:
            loop = asyncio.get_running_loop()
            loop.add_reader(listener, self._accept, listener, datagrams)

    def _receive(self, connection: socket.socket, address: str, datagrams: socket.socket) -> None:
        """Serve a connection; until its client authenticates, newer connections may displace it."""
        task = self._spawn(self._serve(connection, address, datagrams))

        def leave(done: asyncio.Task[None]) -> None:
            self._pending.leave(done, address)
            if done.cancelled():
                connection.close()  # the task may not have started

        task.add_done_callback(leave)
        displaced = self._pending.enter(task, address)
        if displaced is not None:
            displaced.cancel()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _serve(
        self, connection: socket.socket, address: str, datagrams: socket.socket
    ) -> None:
        is_kept = False
        try:
            async with asyncio.timeout(self._limits.opening_s):
                line = LineStream(await accept_pipe(connection, self._certificate.context))
                opened = await (self._greet(line) if line.is_secure else self._recognise(line))
            own = asyncio.current_task()
            assert own is not None  # noqa: S101  this is one
            self._pending.leave(own, address)
            if isinstance(opened, _DataConnection):
                is_kept = await self._attach(line, opened)
            else:
                await self._control(line, opened, address, datagrams)
        except (ProtocolError, TimeoutError, OSError):
            pass  # clients without the token receive no error message
        finally:
            if not is_kept:
                connection.close()

    async def _greet(self, line: LineStream) -> _ControlConnection:
        """Check that the client knows the token, and prepare to prove that the server knows it."""
        token, binding = self._token, self._certificate.binding
        nonce = secrets.token_bytes(protocol.NONCE_BYTES)
        await line.write(protocol.greeting(nonce))
        opening = Signer(protocol.opening_key(token, binding, nonce), protocol.SERVER)
        hello = protocol.read_hello(opening.check(await line.read()))
        key = protocol.session_key(token, binding, nonce, bytes.fromhex(hello.nonce))
        return _ControlConnection(Signer(key, protocol.SERVER), hello)

    async def _recognise(self, line: LineStream) -> _DataConnection:
        """Find a data connection's flow, and check that the flow's client opened the connection."""
        content = await line.read()
        attach = protocol.read_attach(content)
        session = self._sessions.get(attach.session)
        flow = session.flows.get(attach.flow) if session else None
        if session is None or flow is None or flow.end is not None:
            raise ProtocolError(_NO_FLOW)
        signer = Signer(protocol.data_key(session.key, flow.ticket), protocol.SERVER)
        signer.check(content)
        return _DataConnection(signer, flow, protocol.flow_secret(session.key, attach.flow))

    async def _attach(self, line: LineStream, opened: _DataConnection) -> bool:
        """Assign a data connection to its flow; return False if the flow cannot run."""
        flow, signer = opened.flow, opened.signer
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
        flow.end = FlowEnd(
            line.connection,
            application=request.application,
            is_sender=is_sender,
            duration_s=request.duration_ns / _NS_PER_S,
            secret=opened.secret,
        )
        await line.write(signer.sign({"algorithm": algorithm}))
        return True

    async def _control(
        self,
        line: LineStream,
        opened: _ControlConnection,
        address: str,
        datagrams: socket.socket,
    ) -> None:
        hello, signer = opened.hello, opened.signer
        if len(self._sessions) >= self._limits.sessions:
            await line.write(signer.sign({"error": "the server is busy; try again later"}))
            return
        beside = self._sessions.get(hello.beside or "")
        if hello.beside is not None and (beside is None or beside.address != address):
            await line.write(
                signer.sign(
                    {
                        ("error"): (
                            "this session was meant to run in parallel with another session, which "
                            "has ended or belongs to a different client address"
                        )
                    }
                )
            )
            return
        notice_loss(line.connection, self._limits.silence_s)
        syn = saved_syn(line.connection)
        own = secrets.token_hex(8)
        session = ServedSession(
            own, signer.key, address, line.connection, syn, beside.turn if beside else own
        )
        self._sessions[session.id] = session
        control = SessionControl(session, self._limits, self._turns, datagrams)
        try:
            await line.write(signer.sign({"session": session.id} | control.describe()))
            while True:
                async with asyncio.timeout(control.patience_s):
                    content = await line.read()
                control.begin()
                body = signer.check(content)
                await line.write(signer.sign(await _answer(control, body)))
        finally:
            self._end(session)

    def _answer_datagrams(self, datagrams: socket.socket) -> None:
        """Answer probes, count data datagrams, and pass reports to the saturator; ignore others."""
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
            answer = protocol.ProbeDatagram(
                probe.session, probe.number, probe.sent_ns, received_ns, now_ns(), session.key
            )
            with contextlib.suppress(OSError):
                datagrams.sendto(answer.encode(protocol.SERVER), address)

    def _end(self, session: ServedSession) -> None:
        self._sessions.pop(session.id, None)
        self._turns.leave(session.id)
        for flow in session.flows.values():
            if flow.end is not None:
                start_thread(flow.end.stop)
        session.flows.clear()


async def _answer(control: SessionControl, body: bytes) -> dict[str, Any]:
    """Answer a client's request; the answer to an invalid request states the error.

    Raises:
        ProtocolError: the client has disconnected.
    """
    try:
        request = protocol.read_request(body)
    except ProtocolError as error:
        return {"error": str(error)}
    return await while_connected(control.connection, partial(control.obey, request))
