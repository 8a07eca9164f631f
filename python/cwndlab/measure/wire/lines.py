"""Server side: read and write lines with or without TLS, and detect lost connections."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from cwndlab.measure.wire import protocol
from cwndlab.measure.wire.protocol import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_T = TypeVar("_T")
_GONE = "the client has disconnected"
_TLS_HANDSHAKE = 0x16  # RFC 8446 section 5.1
_READ_BYTES = 4096
_RECORDS_BYTES = 1 << 16


def notice_loss(connection: socket.socket, silence_s: float) -> None:
    """Let the kernel close a connection if the client acknowledges nothing for `silence_s`."""
    probes = 3
    every_s = max(1, int(silence_s / (probes + 1)))
    tcp = socket.IPPROTO_TCP
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(tcp, socket.TCP_KEEPIDLE, every_s)
    connection.setsockopt(tcp, socket.TCP_KEEPINTVL, every_s)
    connection.setsockopt(tcp, socket.TCP_KEEPCNT, probes)
    # RFC 5482: the same limit for sent data that are not acknowledged.
    connection.setsockopt(tcp, socket.TCP_USER_TIMEOUT, int(1e3 * every_s * (probes + 1)) - 500)


async def while_connected(
    connection: socket.socket, work: Callable[[threading.Event], Coroutine[Any, Any, _T]]
) -> _T:
    """Await `work`, but cancel it if the connection is closed or lost in the meantime.

    Args:
        connection: the connection. Until `work` ends, no other code may read from it.
        work: function that takes an event and returns a coroutine. The event is set when the
            coroutine has ended or is cancelled; threads of the coroutine must then end.

    Raises:
        ProtocolError: the connection was closed or lost.
    """
    loop = asyncio.get_running_loop()
    gone = threading.Event()
    task = loop.create_task(work(gone))

    def look() -> None:
        try:
            is_open = bool(connection.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return
        except OSError:
            is_open = False
        loop.remove_reader(connection)  # a waiting request is read later
        if not is_open:
            gone.set()
            task.cancel()

    loop.add_reader(connection, look)
    try:
        return await task
    except asyncio.CancelledError:
        if not gone.is_set():
            task.cancel()
            raise
        raise ProtocolError(_GONE) from None
    finally:
        gone.set()
        loop.remove_reader(connection)


class Pipe:
    """The server's non-blocking connection to a client, without TLS."""

    def __init__(self, connection: socket.socket, first: bytes) -> None:
        """Create a pipe on `connection`, from which the bytes `first` have already been read."""
        self.connection = connection
        self._first = first
        self._loop = asyncio.get_running_loop()

    async def receive(self) -> bytes:
        """Read the next bytes; return b"" at the end of the data."""
        if self._first:
            first, self._first = self._first, b""
            return first
        return await self._loop.sock_recv(self.connection, _READ_BYTES)

    async def send(self, content: bytes) -> None:
        """Send all bytes."""
        await self._loop.sock_sendall(self.connection, content)


class SecurePipe(Pipe):
    """The server's non-blocking connection to a client, with TLS."""

    def __init__(self, connection: socket.socket, first: bytes, context: ssl.SSLContext) -> None:
        """Create a pipe on `connection`; `first` is the received start of the TLS handshake."""
        super().__init__(connection, first)
        self._arrived, self._leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._arrived, self._leaving, server_side=True)

    async def shake_hands(self) -> None:
        """Complete the TLS handshake.

        Raises:
            OSError: the handshake failed, for example because the client does not support TLS 1.3.
            ProtocolError: the client has disconnected.
        """
        await self._when_ready(self._tls.do_handshake)
        await self._flush()

    async def receive(self) -> bytes:
        """Read the next bytes; return b"" at the end of the data."""
        return await self._when_ready(lambda: self._tls.read(_READ_BYTES))

    async def send(self, content: bytes) -> None:
        """Send all bytes."""
        left = memoryview(content)
        while left:
            self._tls.write(left[:_RECORDS_BYTES])
            left = left[_RECORDS_BYTES:]
            await self._flush()

    async def _when_ready(self, step: Callable[[], _T]) -> _T:
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                await self._flush()
            content = await super().receive()
            if not content:
                raise ProtocolError(_GONE)
            self._arrived.write(content)

    async def _flush(self) -> None:
        if content := self._leaving.read():
            await super().send(content)


async def accept_pipe(connection: socket.socket, context: ssl.SSLContext) -> Pipe:
    """Read a client's first bytes; return a pipe, which uses TLS if the bytes begin a handshake.

    Raises:
        ProtocolError: the client closes the connection immediately.
        OSError: the connection was lost.
    """
    first = await asyncio.get_running_loop().sock_recv(connection, _READ_BYTES)
    if not first:
        raise ProtocolError(_GONE)
    if first[0] != _TLS_HANDSHAKE:
        return Pipe(connection, first)
    pipe = SecurePipe(connection, first, context)
    await pipe.shake_hands()
    return pipe


class LineStream:
    """Reads lines of limited length from a client, and writes lines to the client."""

    def __init__(self, pipe: Pipe) -> None:
        """Create an object that reads lines from `pipe` and writes lines to it."""
        self._pipe = pipe
        self._buffer = b""

    @property
    def connection(self) -> socket.socket:
        """The underlying socket."""
        return self._pipe.connection

    @property
    def is_secure(self) -> bool:
        """True if TLS encrypts the lines."""
        return isinstance(self._pipe, SecurePipe)

    async def read(self) -> bytes:
        """Read the next line.

        Raises:
            ProtocolError: the line is too long, or the client has disconnected.
        """
        # Reading in larger pieces is fast and safe: after a line, a client sends data only when it
        # has received an answer.
        while b"\n" not in self._buffer:
            if len(self._buffer) > protocol.MAX_REQUEST_BYTES:
                msg = "the line is too long"
                raise ProtocolError(msg)
            content = await self._pipe.receive()
            if not content:
                raise ProtocolError(_GONE)
            self._buffer += content
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    async def write(self, content: bytes) -> None:
        """Send `content`; raise TimeoutError if this takes longer than one minute."""
        async with asyncio.timeout(60):
            await self._pipe.send(content)
