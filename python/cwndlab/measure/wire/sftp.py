"""Transfer a file over SFTP, with client and server of asyncssh on the data connection.

The client keeps a fixed number of read or write requests outstanding. Client and server derive the
host key and the password from the secret of the flow, so nobody else can impersonate them. The
server offers a single file of zeros and refuses all operations that do not concern this file.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from cwndlab.measure.wire.exchange import Exchange, LibraryMissingError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

_USER = "cwndlab"
_PATH = "file"
_POLL_S = 0.1
_LOGIN_S = 30


def require(where: str) -> None:
    """Check that this computer can transfer files over SFTP.

    Raises:
        LibraryMissingError: asyncssh is not installed.
    """
    if importlib.util.find_spec("asyncssh") is None:
        msg = (
            f"SFTP requires asyncssh on the {where}; install it there: pip install 'cwndlab[sftp]'"
        )
        raise LibraryMissingError(msg)


def load_methods() -> None:
    """Import asyncssh now, if it is installed.

    A server that has dropped root privileges may be unable to read root's packages later.
    """
    importlib.import_module("concurrent.futures.thread")
    with contextlib.suppress(ImportError):
        importlib.import_module("cwndlab.measure.wire.sftp_server")
        _host_key(b"")
        "localhost".encode("idna")


def be_client(exchange: Exchange, secret: bytes, request_bytes: int, outstanding: int) -> None:
    """Upload or download the file of `exchange`, with `outstanding` requests in flight.

    Raises:
        OSError: the connection was lost, or the server's host key is wrong.
    """
    _run(_ask(exchange, secret, request_bytes, outstanding), exchange)


def be_server(exchange: Exchange, secret: bytes) -> None:
    """Serve the SFTP client until it closes the connection, or the time of the flow is over.

    Raises:
        OSError: the connection was lost.
    """
    _run(_serve(exchange, secret), exchange)


def _run(work: Coroutine[Any, Any, None], exchange: Exchange) -> None:
    import asyncssh  # noqa: PLC0415  an optional dependency

    async def until_over() -> None:
        task = asyncio.ensure_future(work)
        while not task.done() and not exchange.is_over():
            await asyncio.wait({task}, timeout=_POLL_S)
        if not task.done():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            return
        task.result()

    try:
        asyncio.run(until_over())
    except asyncssh.Error as error:
        if not exchange.is_over():
            raise OSError(str(error)) from None


async def _ask(exchange: Exchange, secret: bytes, request_bytes: int, outstanding: int) -> None:
    import asyncssh  # noqa: PLC0415  an optional dependency

    connection = await asyncssh.connect(
        sock=_own_descriptor(exchange),
        config=None,
        known_hosts=([_host_key(secret).convert_to_public()], [], []),
        username=_USER,
        password=_password(secret),
        client_keys=None,
        agent_path=None,
        login_timeout=_LOGIN_S,
    )
    async with connection, connection.start_sftp_client() as sftp:
        mode = "wb" if exchange.is_upload else "rb"
        async with sftp.open(_PATH, mode, block_size=request_bytes) as file:
            starts = iter(range(0, exchange.file_bytes, request_bytes))
            move = _write_blocks if exchange.is_upload else _read_blocks
            workers = (move(file, starts, exchange, request_bytes) for _ in range(outstanding))
            await asyncio.gather(*workers)


async def _write_blocks(
    file: Any,  # noqa: ANN401  asyncssh's, which may not be there
    starts: Iterator[int],
    exchange: Exchange,
    request_bytes: int,
) -> None:
    for start in starts:
        size = min(request_bytes, exchange.file_bytes - start)
        exchange.count(size)
        await file.write(bytes(size), start)


async def _read_blocks(
    file: Any,  # noqa: ANN401  asyncssh's, which may not be there
    starts: Iterator[int],
    exchange: Exchange,
    request_bytes: int,
) -> None:
    for start in starts:
        size = min(request_bytes, exchange.file_bytes - start)
        exchange.count(len(await file.read(size, start)))


async def _serve(exchange: Exchange, secret: bytes) -> None:
    import asyncssh  # noqa: PLC0415  an optional dependency

    from cwndlab.measure.wire.sftp_server import Gate, file_server  # noqa: PLC0415  needs asyncssh

    connection = await asyncssh.run_server(
        _own_descriptor(exchange),
        config=None,
        server_factory=lambda: Gate(_USER, _password(secret)),
        server_host_keys=[_host_key(secret)],
        sftp_factory=file_server(exchange),
        allow_scp=False,
        agent_forwarding=False,
        x11_forwarding=False,
        login_timeout=_LOGIN_S,
    )
    async with connection:
        await connection.wait_closed()


def _own_descriptor(exchange: Exchange) -> Any:  # noqa: ANN401  a socket
    """Return a duplicate of the connection's socket, for the event loop to use and close."""
    own = exchange.connection.dup()
    own.settimeout(0)
    return own


def _password(secret: bytes) -> str:
    return hmac.digest(secret, b"sftp password", "sha256").hex()


def _host_key(secret: bytes) -> Any:  # noqa: ANN401  asyncssh's, which may not be there
    import asyncssh  # noqa: PLC0415  an optional dependency
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415  asyncssh's
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415
        Ed25519PrivateKey,
    )

    seed = hmac.digest(secret, b"sftp host key", "sha256")
    content = Ed25519PrivateKey.from_private_bytes(seed).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    )
    return asyncssh.import_private_key(content)
