"""Lines over a connection, and when its other end closes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from typing import TYPE_CHECKING

from cwndlab.measure.wire import protocol
from cwndlab.measure.wire.protocol import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def closed_by_peer(
    loop: asyncio.AbstractEventLoop, connection: socket.socket
) -> Iterator[threading.Event]:
    """An event for when the other end closes, while nobody reads from it."""
    gone = threading.Event()

    def look() -> None:
        try:
            is_open = bool(connection.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return
        except OSError:
            is_open = False
        loop.remove_reader(connection)  # a request that waits is read in its turn
        if not is_open:
            gone.set()

    loop.add_reader(connection, look)
    try:
        yield gone
    finally:
        loop.remove_reader(connection)


class LineStream:
    """Lines of a connection, none longer than a request may be."""

    def __init__(self, loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
        """Read and write a connection that does not block."""
        self.connection = connection
        self._loop = loop
        self._buffer = b""

    async def read(self) -> bytes:
        """The next line.

        Raises:
            ProtocolError: it is too long, or the client has gone.
        """
        # Byte for byte would be slow, and beyond the line there is nothing: data follow only after
        # an answer.
        while b"\n" not in self._buffer:
            if len(self._buffer) > protocol.MAX_REQUEST_BYTES:
                msg = "too long a line"
                raise ProtocolError(msg)
            content = await self._loop.sock_recv(self.connection, 4096)
            if not content:
                msg = "the client has gone"
                raise ProtocolError(msg)
            self._buffer += content
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    async def write(self, content: bytes) -> None:
        """Send all of it, within a minute."""
        async with asyncio.timeout(60):
            await self._loop.sock_sendall(self.connection, content)
