"""Connect to a measurement server, transfer data, and collect the records of client and server."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from cwndlab.errors import CwndlabError, plural
from cwndlab.measure.machine.clock import now_ns
from cwndlab.measure.machine.path_view import compare_views, initial_sequence, view_of, waited_ms
from cwndlab.measure.wire import protocol, sftp
from cwndlab.measure.wire.address import Address, ServerUnreachableError
from cwndlab.measure.wire.channel import ControlChannel, read_line
from cwndlab.measure.wire.early_end import wait_for
from cwndlab.measure.wire.exchange import LibraryMissingError
from cwndlab.measure.wire.flow import MOST_SAMPLES, AlgorithmMissingError, FlowEnd, set_algorithm
from cwndlab.measure.wire.near_datagrams import NearDatagrams
from cwndlab.measure.wire.probes import Clock, Prober, ProbeResult
from cwndlab.measure.wire.protocol import ProtocolError, Signer
from cwndlab.measure.wire.transfer import Transfer
from cwndlab.schema.application import Sftp, Sized

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cwndlab.measure.machine.path_view import View
    from cwndlab.measure.wire.early_end import EndsEarly
    from cwndlab.schema.base import Model
    from cwndlab.schema.scenario import ScenarioFlow

_CONNECT_S = 10
_ANSWER_S = 90
_PROBE_EVERY_S = 0.1
_NS_PER_S = 10**9


class TransferFailedError(CwndlabError):
    """A transfer failed, or the server refused it; a live study repeats the failed run."""


class Session:
    """Context manager for a session with a server: its control connection and its transfers."""

    def __init__(self, address: Address, beside: str | None = None) -> None:
        """Prepare a session; entering the context connects to the server.

        Args:
            address: address of the server.
            beside: `id` of this client's other session, during whose turn this session may measure.
        """
        self._address = address
        self._beside_of = beside
        self._has_turn = False
        self.answered_after_ms = 0.0  # between the last request and the arrival of its answer
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Connect to the server and authenticate.

        Raises:
            ServerUnreachableError: no program answers at the address.
            ProtocolError: another program answers, or the token is wrong.
            OtherServerError: the server's fingerprint is not the expected one.
            TransferFailedError: the server refuses the session, for example because it is busy.
        """
        try:
            self._channel, self._signer, welcome = self._open()
        except BaseException:
            self._stack.close()
            raise
        self._control = self._channel.socket
        self.server = welcome
        self.id: str = welcome["session"]
        self._probes = self._stack.enter_context(
            socket.socket(self._control.family, socket.SOCK_DGRAM)
        )
        self._probes.connect(self._control.getpeername())
        return self

    def close(self) -> None:
        """Abort the session; another thread may call this method."""
        with contextlib.suppress(OSError):
            # Without TLS, because another thread may be reading from the TLS connection.
            socket.socket.shutdown(self._control, socket.SHUT_RDWR)

    @property
    def peer(self) -> str:
        """IP address of the server."""
        with _telling("the connection to the server was lost"):
            return str(self._control.getpeername()[0])

    def view(self) -> View:
        """Return the client's view of the control connection: TCP options, RTT, setup time."""
        with _telling("the connection to the server was lost"):
            return view_of(self._control) | self._opening

    @property
    def is_through_proxy(self) -> bool:
        """True if TCP timestamps or window scales differ between the ends, because of a proxy."""
        found = compare_views(self.view(), self.server["path"])
        return any(finding.kind == "proxy" for finding in found)

    def try_algorithm(self, name: str) -> None:
        """Check that the server can use an algorithm for its connections.

        Raises:
            AlgorithmMissingError: the algorithm is missing; the message explains how to load it.
        """
        prepare = protocol.Prepare(
            flow=0,
            direction="forward",
            algorithm=name,
            application=Sized(bytes=1),
            duration_ns=_NS_PER_S,
        )
        try:
            self._attached(prepare).close()
        finally:
            self.ask(protocol.Finish())

    def __exit__(self, *_: object) -> None:
        """End the session at the client and at the server."""
        self._stack.close()

    def _connect(self) -> socket.socket:
        host, port = self._address.host, self._address.port
        try:
            connection = socket.create_connection((host, port), timeout=_CONNECT_S)
        except OSError as error:
            raise ServerUnreachableError(_unreachable(host, port, error)) from None
        self._stack.callback(connection.close)
        return connection

    def _open(self) -> tuple[ControlChannel, Signer, dict[str, Any]]:
        address = self._address
        began_ns = now_ns()
        connection = self._connect()
        self._opening = {
            "opened_ns": now_ns(),
            "opened_ms": (now_ns() - began_ns) / 1e6,
            "sequence": initial_sequence(connection),
        }
        try:
            channel = ControlChannel(connection)
            self._stack.callback(channel.socket.close)
            nonce = protocol.read_greeting(channel.read_line(protocol.MAX_GREETING_BYTES) + b"\n")
        except (OSError, EOFError) as error:
            raise ServerUnreachableError(_unreachable(address.host, address.port, error)) from None
        address.check(channel.fingerprint)
        own = secrets.token_bytes(protocol.NONCE_BYTES)
        hello = protocol.Hello(nonce=own.hex(), beside=self._beside_of)
        token, binding = address.token, channel.binding
        opening = Signer(protocol.opening_key(token, binding, nonce), protocol.CLIENT)
        signer = Signer(protocol.session_key(token, binding, nonce, own), protocol.CLIENT)
        try:
            channel.socket.sendall(opening.sign(hello))
            welcome = _answer(channel.read_line(protocol.MAX_ANSWER_BYTES), signer)
        except (ConnectionError, EOFError):
            msg = (
                "the server closed the connection: wrong token (use the same --token "
                "file at both ends), or a proxy answers in place of the server"
            )
            raise ProtocolError(msg) from None
        except OSError as error:
            raise ServerUnreachableError(_unreachable(address.host, address.port, error)) from None
        address.remember(channel.fingerprint)
        return channel, signer, welcome

    def ask(self, request: Model, timeout_s: float = _ANSWER_S) -> dict[str, Any]:
        """Send a request to the server, and return the answer.

        Raises:
            TransferFailedError: the server refuses the request, or the connection was lost.
        """
        with _telling("the connection to the server was lost"):
            self._control.settimeout(timeout_s)
            signed = self._signer.sign(request)
            asked_s = time.perf_counter()
            self._control.sendall(signed)
            line = self._channel.read_line(protocol.MAX_ANSWER_BYTES)
            answered_s = time.perf_counter()
            self.answered_after_ms = 1e3 * (answered_s - asked_s) - waited_ms(self._control)
            return _answer(line, self._signer)

    def turn(self) -> Iterator[int]:
        """Wait until this session may measure; from then on, it may measure until the session ends.

        While waiting, yields the number of clients ahead of this session whenever it changes.

        Raises:
            TransferFailedError: the connection to the server was lost.
        """
        told = 0
        while not self._has_turn:
            ahead: int = self.ask(protocol.TakeTurn())["ahead"]
            self._has_turn = ahead == 0
            if ahead not in {0, told}:
                told = ahead
                yield ahead

    def _take_turn(self) -> None:
        for _ in self.turn():
            pass

    def probe(self, count: int = 10, every_s: float = 0.02) -> list[ProbeResult]:
        """Send `count` or more UDP probes to the server, and return those that were answered."""
        prober = Prober(self._probes, self.id, self._signer.key, every_s)
        with prober:
            time.sleep(count * every_s + 0.3)
        return prober.results

    def transfer(
        self,
        flows: Sequence[ScenarioFlow],
        duration_ns: int,
        algorithms: Sequence[tuple[str | None, str | None]],
        ends_early: EndsEarly | None = None,
    ) -> Transfer:
        """Run all flows of a scenario simultaneously.

        Args:
            flows: the flows, with application and direction.
            duration_ns: duration of each flow.
            algorithms: per flow, the client's and the server's; None means the computer's default.
            ends_early: function that decides from the senders' states whether to end all flows.

        Raises:
            TransferFailedError: the transfer failed, or the server refused the transfer.
            AlgorithmMissingError: the client or the server lacks its algorithm.
            LibraryMissingError: a library that a transfer method needs is not installed.
        """
        self._take_turn()
        ends: dict[int, FlowEnd] = {}
        before = self.probe()
        prober = Prober(self._probes, self.id, self._signer.key, _PROBE_EVERY_S)
        try:
            for flow, (near, far) in zip(flows, algorithms, strict=True):
                ends[flow.id] = self._attach(flow, duration_ns, near, far)
            with prober:
                asked_ns = now_ns()
                self.ask(protocol.Start())
                began_ns = now_ns()
                for end in ends.values():
                    end.start(MOST_SAMPLES // len(ends))
                is_cut_short = wait_for(
                    ends.values(), duration_ns / _NS_PER_S, partial(self._states, ends), ends_early
                )
                far_results = self._end_both(ends, is_cut_short=is_cut_short)
        except OSError as error:
            msg = f"the transfer was interrupted: {(error.strerror or str(error)).lower()}"
            raise TransferFailedError(msg) from None
        finally:
            for end in ends.values():
                end.stop()
        near_results = {number: end.result() for number, end in ends.items()}
        for number, result in near_results.items():
            for found in (result, far_results.get(str(number), {"error": "unknown flow"})):
                if found["error"] is not None:
                    msg = f"the transfer was interrupted: {found['error']}"
                    raise TransferFailedError(msg)
        # If UDP is blocked, the exchange that starts the flows is used to estimate clock offset.
        there_ns = far_results[str(flows[0].id)]["began_ns"]
        started = ProbeResult(asked_ns, there_ns, there_ns, began_ns)
        return Transfer(
            near=near_results,
            far={int(number): result for number, result in far_results.items()},
            probes=prober.results,
            probes_sent=prober.sent,
            clock=Clock.of([*before, *prober.results, started]),
            began_ns=began_ns,
            server=self.server,
            is_through_proxy=self.is_through_proxy,
            is_cut_short=is_cut_short,
        )

    def _end_both(self, ends: dict[int, FlowEnd], *, is_cut_short: bool) -> dict[str, Any]:
        """End all flows at client and server, and return the server's records of the flows."""
        if is_cut_short:  # the server ends its flows before any connection is closed
            for end in ends.values():
                end.break_off()
            far_results: dict[str, Any] = self.ask(protocol.Finish())["flows"]
        # Both ends break off at the same time, so that neither waits for the other.
        stopping = [threading.Thread(target=end.stop) for end in ends.values()]
        for thread in stopping:
            thread.start()
        for thread in stopping:
            thread.join()
        return far_results if is_cut_short else self.ask(protocol.Finish())["flows"]

    def _states(self, ends: dict[int, FlowEnd]) -> dict[int, dict[str, int]]:
        """Map each flow's number to its sender's TCP_INFO: RTTs, acknowledged bytes, segments."""
        far = {int(n): state for n, state in self.ask(protocol.Progress())["flows"].items()}
        return {number: far.get(number) or end.state() for number, end in ends.items()}

    def _attach(
        self, flow: ScenarioFlow, duration_ns: int, near: str | None, far: str | None
    ) -> FlowEnd:
        prepare = protocol.Prepare(
            flow=flow.id,
            direction=flow.direction,
            algorithm=far,
            application=flow.application,
            duration_ns=duration_ns,
        )
        if isinstance(flow.application, Sftp):
            sftp.require("client")
        connection = self._attached(prepare)
        set_algorithm(connection, near, "client")
        return FlowEnd(
            connection,
            application=flow.application,
            is_sender=flow.direction == "reverse",
            duration_s=duration_ns / _NS_PER_S,
            secret=protocol.flow_secret(self._signer.key, flow.id),
        )

    def _attached(self, prepare: protocol.Prepare) -> socket.socket:
        """Announce a flow to the server, and open the data connection of the flow."""
        ticket = bytes.fromhex(self.ask(prepare)["ticket"])
        connection = self._connect()
        key = protocol.data_key(self._signer.key, ticket)
        signer = Signer(key, protocol.CLIENT)
        with _telling("a data connection was lost"):
            connection.sendall(signer.sign(protocol.Attach(session=self.id, flow=prepare.flow)))
            _answer(read_line(connection), signer)
        return connection

    def datagrams(self, request: protocol.DatagramTest) -> dict[str, Any]:
        """Send or receive datagrams at a fixed rate; return their number, losses and jitter.

        Raises:
            TransferFailedError: the server refuses the request, or UDP is blocked.
        """
        return self.near_datagrams().datagrams(request)

    def saturate(self, request: protocol.Saturate) -> dict[str, Any]:
        """Saturate the link in one direction; return how many bytes arrived in each millisecond.

        Raises:
            TransferFailedError: the server refuses the request, or UDP is blocked.
        """
        answer = self.near_datagrams().saturate(request)
        if not answer["received"]:
            msg = "no datagram arrived; the network may block UDP"
            raise TransferFailedError(msg)
        return answer

    def near_datagrams(self) -> NearDatagrams:
        """Wait until this session may measure; return the sender and receiver of its datagrams."""
        self._take_turn()

        def ask(request: Model, lasts_s: float) -> dict[str, Any]:
            return self.ask(request, lasts_s + _ANSWER_S)

        return NearDatagrams(self._probes, self._signer.key, bytes.fromhex(self.id), ask)


def waiting_for(ahead: int) -> str:
    """Return the message to show while the client waits for its turn to measure."""
    return f"waiting for {plural(ahead, 'other client')}: the server serves one client at a time"


@contextlib.contextmanager
def _telling(what: str) -> Iterator[None]:
    """Convert errors of a lost connection into `TransferFailedError`."""
    try:
        yield
    except (OSError, EOFError) as error:
        msg = f"{what}: {_reason(error)}"
        raise TransferFailedError(msg) from None


def _unreachable(host: str, port: int, error: OSError | EOFError) -> str:
    if isinstance(error, socket.gaierror):
        return f"{host}: no IP address found ({_reason(error)}); check the name"
    return (
        f"{host} port {port} does not answer ({_reason(error)}); is `cwndlab serve` running there, "
        "and is the port open for TCP and UDP?"
    )


def _reason(error: OSError | EOFError) -> str:
    text = error.strerror if isinstance(error, OSError) else None
    return (text or str(error)).lower() or "connection closed"


def _answer(line: bytes, signer: Signer) -> dict[str, Any]:
    answer = protocol.read_answer(signer.check(line))
    if answer.get("is_algorithm_missing"):
        raise AlgorithmMissingError(answer["error"])
    if answer.get("is_library_missing"):
        raise LibraryMissingError(answer["error"])
    if "error" in answer:
        raise TransferFailedError(answer["error"])
    return answer
