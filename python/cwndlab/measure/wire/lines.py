"""Lines over a connection, and when its other end closes."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from cwndlab.measure.wire import protocol
from cwndlab.measure.wire.protocol import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_T = TypeVar("_T")
_GONE = "the client has gone"


def notice_loss(connection: socket.socket, silence_s: float) -> None:
    """Break a connection off whose other end answers nothing for that long."""
    probes = 3
    every_s = max(1, int(silence_s / (probes + 1)))
    tcp = socket.IPPROTO_TCP
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(tcp, socket.TCP_KEEPIDLE, every_s)
    connection.setsockopt(tcp, socket.TCP_KEEPINTVL, every_s)
    connection.setsockopt(tcp, socket.TCP_KEEPCNT, probes)
    # RFC 5482: what was sent and not acknowledged counts, too.
    connection.setsockopt(tcp, socket.TCP_USER_TIMEOUT, int(1e3 * every_s * (probes + 1)) - 500)


async def while_connected(
    connection: socket.socket, work: Callable[[threading.Event], Coroutine[Any, Any, _T]]
) -> _T:
    """What the work gives, which is cancelled when the other end closes or is lost meanwhile.

    Args:
        connection: nobody else may read from it.
        work: is handed an event, set when it has ended, for threads that it started.

    Raises:
        ProtocolError: the other end has gone.
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
        loop.remove_reader(connection)  # a request that waits is read in its turn
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
                raise ProtocolError(_GONE)
            self._buffer += content
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    async def write(self, content: bytes) -> None:
        """Send all of it, within a minute."""
        async with asyncio.timeout(60):
            await self._loop.sock_sendall(self.connection, content)
