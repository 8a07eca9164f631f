"""Transfer a file over HTTP/1.1, with the client and the server of the standard library.

The client downloads the file (GET), or uploads it (PUT) as a whole or in chunks. The server
answers each chunk before the client sends the next chunk (RFC 9110 section 14.5: PUT with
Content-Range). The file contains only zeros.
"""

from __future__ import annotations

import http.client
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, cast

from cwndlab.measure.wire.exchange import ZEROS, Exchange, PatientSocket

if TYPE_CHECKING:
    import socket
    import socketserver
    from collections.abc import Iterator

_PATH = "/file"
_TYPE = "application/octet-stream"


class RefusedError(OSError):
    """The server refused a request."""


def be_client(exchange: Exchange, chunk_bytes: int | None) -> None:
    """Download or upload the file.

    Raises:
        OSError: the connection was lost, or the server refused a request.
    """
    connection = http.client.HTTPConnection("server")
    connection.sock = _as_socket(exchange)
    try:
        if exchange.is_upload:
            _upload(connection, exchange, chunk_bytes or exchange.file_bytes)
        else:
            _download(connection, exchange)
    except http.client.HTTPException as error:
        if not exchange.is_over():
            raise RefusedError(str(error) or type(error).__name__) from None


def _download(connection: http.client.HTTPConnection, exchange: Exchange) -> None:
    connection.request("GET", _PATH)
    response = connection.getresponse()
    _require(response, HTTPStatus.OK)
    while read := len(response.read1(len(ZEROS))):
        exchange.count(read)


def _upload(connection: http.client.HTTPConnection, exchange: Exchange, chunk_bytes: int) -> None:
    total = exchange.file_bytes
    for start in range(0, total, chunk_bytes):
        end = min(total, start + chunk_bytes)
        headers = {
            "Content-Length": str(end - start),
            "Content-Range": f"bytes {start}-{end - 1}/{total}",
            "Content-Type": _TYPE,
        }
        connection.request("PUT", _PATH, body=_blocks(exchange, end - start), headers=headers)
        response = connection.getresponse()
        _require(response, HTTPStatus.NO_CONTENT)
        response.read()


def _blocks(exchange: Exchange, size: int) -> Iterator[memoryview]:
    left = size
    while left > 0 and not exchange.is_over():
        block = memoryview(ZEROS)[: min(left, len(ZEROS))]
        exchange.count(len(block))
        yield block
        left -= len(block)


def _require(response: http.client.HTTPResponse, status: HTTPStatus) -> None:
    if response.status != status:
        msg = f"the server answered {response.status} {response.reason}"
        raise RefusedError(msg)


def be_server(exchange: Exchange) -> None:
    """Answer requests until the client closes the connection.

    Raises:
        OSError: the connection was lost.
    """
    _Handler(exchange)


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection, without opening files or running programs."""

    protocol_version = "HTTP/1.1"
    server_version = "cwndlab"
    sys_version = ""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._left = exchange.file_bytes
        nobody = cast("socketserver.BaseServer", None)  # this handler does not use the server
        super().__init__(_as_socket(exchange), ("client", 0), nobody)

    def do_GET(self) -> None:
        """Send the file."""
        exchange = self._exchange
        if exchange.is_upload or self.path != _PATH:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", _TYPE)
        self.send_header("Content-Length", str(exchange.file_bytes))
        self.end_headers()
        for block in _blocks(exchange, exchange.file_bytes):
            self.wfile.write(block)

    def do_PUT(self) -> None:
        """Receive the whole file or its next chunk from the client."""
        exchange = self._exchange
        length = self.headers.get("Content-Length", "")
        if not exchange.is_upload or self.path != _PATH:
            self.close_connection = True
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        if not length.isdecimal() or not 0 < int(length) <= self._left:
            self.close_connection = True
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        left = int(length)
        self._left -= left
        while left > 0 and (read := len(self.rfile.read1(min(left, len(ZEROS))))):
            exchange.count(read)
            left -= read
        if left == 0:
            self.send_response(HTTPStatus.NO_CONTENT)
            self.end_headers()

    def log_message(self, *_: object) -> None:
        """Suppress the log message about a request."""


def _as_socket(exchange: Exchange) -> socket.socket:
    return cast("socket.socket", PatientSocket(exchange.connection, exchange.is_over))
