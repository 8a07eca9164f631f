"""HTTP and SFTP: real clients and servers over a socket, and requests that the servers refuse."""

from __future__ import annotations

import contextlib
import http.client
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from cwndlab.measure.wire import http as web
from cwndlab.measure.wire import sftp
from cwndlab.measure.wire.exchange import Exchange, LibraryMissingError
from patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SIZE = 100_000
SECRET = bytes(32)


class Served:
    """A server at the other end of a socket, and its counters."""

    def __init__(self, be_server: Callable[[Exchange], None], *, is_upload: bool) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.client = socket.create_connection(listener.getsockname())
            self._server, _ = listener.accept()
        self._server.settimeout(0.05)
        self.client.settimeout(PATIENCE_S)
        self.moved_bytes = 0
        self._is_over = threading.Event()
        exchange = Exchange(self._server, SIZE, is_upload, self._count, self._is_over.is_set)
        self._thread = threading.Thread(target=self._run, args=(be_server, exchange))
        self._thread.start()

    def _count(self, size: int) -> None:
        self.moved_bytes += size

    def _run(self, be_server: Callable[[Exchange], None], exchange: Exchange) -> None:
        with contextlib.suppress(OSError):
            be_server(exchange)
        self._server.close()

    def end(self) -> None:
        """End the server's time limit, regardless of its current activity."""
        self._is_over.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        self.client.close()


@contextlib.contextmanager
def served(be_server: Callable[[Exchange], None], *, is_upload: bool) -> Iterator[Served]:
    found = Served(be_server, is_upload=is_upload)
    try:
        yield found
    finally:
        found.end()


def said(server: Served, request: bytes) -> bytes:
    """Return the answer, until the server closes the connection or the answer is long enough."""
    server.client.sendall(request)
    with contextlib.suppress(OSError):  # it closed the connection without reading the refused data
        server.client.shutdown(socket.SHUT_WR)
    content = b""
    with contextlib.suppress(ConnectionError):
        while part := server.client.recv(65_536):
            content += part
    return content


@pytest.mark.parametrize(
    ("request_of", "status"),
    [
        (b"GET /../../etc/passwd HTTP/1.1\r\n\r\n", b"404"),
        (b"GET /etc/passwd HTTP/1.1\r\n\r\n", b"404"),
        (b"PUT /file HTTP/1.1\r\nContent-Length: 10\r\n\r\n0123456789", b"404"),
        (b"POST /file HTTP/1.1\r\n\r\n", b"501"),
        (b"GET /file HTTP/2.0\r\n\r\n", b"505"),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"GET /file HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n", b"431"),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", b"400"),
    ],
)
def test_the_web_server_has_one_file_and_refuses_the_rest(request_of: bytes, status: bytes) -> None:
    with served(web.be_server, is_upload=False) as server:
        answer = said(server, request_of)
    assert status in answer.split(b"\r\n")[0] + answer[:200], answer[:200]
    assert b"root:" not in answer
    assert server.moved_bytes == 0


def test_the_file_is_zeros_of_the_announced_length() -> None:
    with served(web.be_server, is_upload=False) as server:
        connection = http.client.HTTPConnection("server")
        connection.sock = server.client
        connection.request("GET", "/file")
        response = connection.getresponse()
        assert (response.status, response.read()) == (200, bytes(SIZE))
    assert server.moved_bytes == SIZE


@pytest.mark.parametrize("length", [b"100001", b"-5", b"1e3", b"", b"0"])
def test_an_upload_is_as_long_as_announced_and_no_longer(length: bytes) -> None:
    with served(web.be_server, is_upload=True) as server:
        answer = said(server, b"PUT /file HTTP/1.1\r\nContent-Length: " + length + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413")
    assert server.moved_bytes == 0


def test_chunks_are_answered_in_turn_and_end_with_the_file() -> None:
    part = b"PUT /file HTTP/1.1\r\nContent-Length: 60000\r\n\r\n" + bytes(60_000)
    with served(web.be_server, is_upload=True) as server:
        answer = said(server, part + part)
    statuses = [line for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.1")]
    assert [status.split()[1] for status in statuses] == [b"204", b"413"]
    assert server.moved_bytes == 60_000


@pytest.mark.parametrize("is_upload", [True, False])
def test_a_client_whose_server_says_no_says_so(*, is_upload: bool) -> None:
    with served(web.be_server, is_upload=not is_upload) as server:
        server.client.settimeout(0.05)
        exchange = Exchange(server.client, SIZE, is_upload, lambda _: None, lambda: False)
        with pytest.raises(OSError, match="404"):
            web.be_client(exchange, None)


def test_a_server_ends_when_its_time_is_over_though_the_client_says_nothing() -> None:
    for be_server in (web.be_server, _sftp_server):
        with served(be_server, is_upload=True):
            pass  # its thread has ended, or `end` fails


def test_without_asyncssh_an_end_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncssh", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(
        LibraryMissingError, match=r"on the server; install it there: pip install 'cwndlab\[sftp\]'"
    ):
        sftp.require("server")


# ---- SFTP, if asyncssh is installed


def _nothing(_: int) -> None:
    pass


def _sftp_server(exchange: Exchange) -> None:
    pytest.importorskip("asyncssh")
    sftp.be_server(exchange, SECRET)


def _as_client(server: Served, work: Callable[[Any], Any], secret: bytes = SECRET) -> Any:  # noqa: ANN401  what work gives
    """Perform `work` with asyncssh's own client on the connection."""
    asyncssh = pytest.importorskip("asyncssh")
    import asyncio  # noqa: PLC0415  beside what needs it

    async def connected() -> Any:  # noqa: ANN401  what work gives
        server.client.settimeout(0)
        async with asyncssh.connect(
            sock=server.client.dup(),
            config=None,
            known_hosts=None,
            username="cwndlab",
            password=sftp._password(secret),  # noqa: SLF001  what a client knows
            client_keys=None,
            agent_path=None,
        ) as connection:
            return await work(connection)

    return asyncio.run(connected())


def test_only_who_knows_the_secret_is_let_in() -> None:
    asyncssh = pytest.importorskip("asyncssh")

    async def nothing(_: object) -> None:
        return None

    with (
        served(_sftp_server, is_upload=True) as server,
        pytest.raises(asyncssh.PermissionDenied),
    ):
        _as_client(server, nothing, secret=b"1" * 32)
    with served(_sftp_server, is_upload=True) as server:
        server.client.settimeout(0.05)
        exchange = Exchange(server.client, SIZE, is_upload=True, count=_nothing, is_over=bool)
        with pytest.raises(OSError, match="Host key"):
            sftp.be_client(exchange, b"1" * 32, 32_768, 4)


def test_no_command_no_shell_no_forwarding_and_no_other_file(tmp_path: Path) -> None:
    asyncssh = pytest.importorskip("asyncssh")
    mark = tmp_path / "mark"
    mark.write_text("here", encoding="ascii")
    found: dict[str, object] = {}

    async def tried(name: str, work: Any) -> None:  # noqa: ANN401  anything to wait for
        try:
            found[name] = await work
        except (asyncssh.Error, asyncssh.ChannelListenError, OSError) as error:
            found[name] = type(error)

    async def attack(connection: Any) -> None:  # noqa: ANN401  asyncssh's
        await tried("command", connection.run(f"touch {mark}.2", check=True))
        await tried("shell", connection.run(check=True))
        await tried("forward", connection.open_connection("127.0.0.1", 22))
        await tried("listen", connection.start_server(lambda *_: None, "127.0.0.1", 0))
        async with connection.start_sftp_client() as client:
            await tried("stat", client.stat(str(mark)))
            await tried("list", client.listdir("/"))
            await tried("remove", client.remove(str(mark)))
            await tried("mkdir", client.mkdir(f"{mark}.d"))
            await tried("rename", client.rename(str(mark), f"{mark}.3"))
            await tried("symlink", client.symlink("/etc/passwd", f"{mark}.4"))
            await tried("realpath", client.realpath(".."))
            await tried("chmod", client.chmod(str(mark), 0))
            await tried("write", client.open(str(mark), "wb"))
            async with client.open("/etc/passwd", "rb") as file:
                found["content"] = await file.read()

    with served(_sftp_server, is_upload=False) as server:
        _as_client(server, attack)
    assert found.pop("content") == bytes(SIZE), "whatever is asked for, it is zeros"
    assert all(isinstance(value, type) for value in found.values()), found
    assert [path.name for path in tmp_path.iterdir()] == ["mark"]
    assert mark.read_text(encoding="ascii") == "here"


def test_what_asyncssh_can_do_with_files_is_refused_whatever_its_version() -> None:
    asyncssh = pytest.importorskip("asyncssh")
    from cwndlab.measure.wire.sftp_server import _NEUTRAL, OneFile  # noqa: PLC0415  needs asyncssh

    for name in dir(asyncssh.SFTPServer):
        if not name.startswith("_") and name not in _NEUTRAL:
            assert name in vars(OneFile), name
