"""Serve the page of `cwndlab open`: files and JSON, under a fixed list of URLs.

The server never uses the path of a request as a path on disk, but looks up studies by identifier
in the list of studies.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import threading
import traceback
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from cwndlab import core
from cwndlab.errors import CwndlabError
from cwndlab.resolve.presets import load_preset, presets
from cwndlab.schema.json_schema import study_schema
from cwndlab.text.untrusted import read_json
from cwndlab.viewer.access import JSON, LOOPBACK, Access, Refused
from cwndlab.viewer.catalogue import Catalogue, identity_of
from cwndlab.viewer.details import OpenStudies
from cwndlab.viewer.form import checked, problems_of
from cwndlab.viewer.started import RefusedForm, Started

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

FILES = {
    "/": ("results.html", "text/html; charset=utf-8"),
    "/results.js": ("results.js", "text/javascript; charset=utf-8"),
    "/results.css": ("results.css", "text/css; charset=utf-8"),
}
_MOST_AT_ONCE = 32
_WAITING = 128
_PATIENCE_S = 10.0
_GONE = "the requested results do not exist, or no longer exist"
_MOST_POSTED = 1 << 16
_MOST_PAGES = 1 << 20
_HEADLINES_BEGIN_S, _BREATH_S, _LOOK_AGAIN_S = 1.5, 0.05, 5.0
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache, private",
}
_OWN_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "sandbox allow-scripts allow-downloads allow-modals"
)
_BUSY = b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"


class ResultsServer(ThreadingHTTPServer):
    """HTTP server on 127.0.0.1 that shows results; it closes at the end of its `with` block."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = _WAITING

    def __init__(self, places: Sequence[Path], page: Path, port: int) -> None:
        """Listen on `port`, and start to compute the headline (main result) of each study.

        Raises:
            OSError: the port is in use.
        """
        self.files = {at: ((page / name).read_bytes(), kind) for at, (name, kind) in FILES.items()}
        self.catalogue = Catalogue(places)
        self.open_studies = OpenStudies()
        self.started = Started(self.catalogue.new_studies)
        self._room = threading.BoundedSemaphore(_MOST_AT_ONCE)
        self._is_closed = threading.Event()
        super().__init__((LOOPBACK, port), _ResultsHandler)
        self.access = Access(self.server_port)
        threading.Thread(target=self._say_headlines, daemon=True).start()

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  as above
        """Start a thread for a request; reply 503 if `_MOST_AT_ONCE` others are still running."""
        if not self._room.acquire(blocking=False):
            with contextlib.suppress(OSError):
                request.sendall(_BUSY)
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._room.release()
            raise

    def process_request_thread(
        self,
        request: socket.socket | tuple[bytes, socket.socket],
        client_address: Any,  # noqa: ANN401  as above
    ) -> None:
        """Answer a request; then let one more request in (see `_MOST_AT_ONCE`)."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, *_: object) -> None:
        """Print nothing: an error at this point means that the client has closed its connection."""

    def server_close(self) -> None:
        """Stop the computation of headlines, and close the server."""
        self._is_closed.set()
        super().server_close()

    def _say_headlines(self) -> None:
        """Read all results folders; then compute missing headlines until the server closes."""
        self.catalogue.summaries()
        self.catalogue.keep()
        wait_s = _HEADLINES_BEGIN_S
        while not self._is_closed.wait(wait_s):
            wait_s = _LOOK_AGAIN_S
            pending = self.catalogue.pending()
            for path in pending:
                if self._is_closed.wait(_BREATH_S):
                    return
                self.catalogue.work_out(path)
            if pending:
                self.catalogue.keep()


class _ResultsHandler(BaseHTTPRequestHandler):
    server: ResultsServer
    timeout = _PATIENCE_S
    server_version, sys_version = "cwndlab", ""

    def do_GET(self) -> None:
        """Answer a GET request with a file of the page, a study's report, or JSON."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Answer a POST request: check, start, continue or stop a study."""
        self._answer(self._post)

    def log_message(self, *_: object) -> None:
        """Suppress the log message about a request."""

    def _answer(self, find: Callable[[], None]) -> None:
        try:
            self.server.access.check_host(self.headers)
            find()
        except Refused as refused:
            self._send(f"{refused}\n".encode(), "text/plain; charset=utf-8", refused.status)
        except RefusedForm as refused:
            told = {"error": str(refused), "problems": refused.problems}
            self._send_json(told, HTTPStatus.CONFLICT)
        except CwndlabError as error:
            told = {"error": str(error), "problems": problems_of(error)}
            self._send_json(told, HTTPStatus.CONFLICT)
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception as error:  # noqa: BLE001  a folder may contain anything
            traceback.print_exc()
            sentence = f"these results cannot be shown: {type(error).__name__}: {error}"
            self._send_json({"error": sentence}, HTTPStatus.INTERNAL_SERVER_ERROR)

    def _get(self) -> None:
        parts = urlsplit(self.path)
        asked = {key: values[0] for key, values in parse_qs(parts.query).items()}
        access = self.server.access
        if parts.path == "/" and "token" in asked:
            access.check_token(asked["token"])
            self._send(
                b"",
                "text/plain",
                HTTPStatus.SEE_OTHER,
                {"Location": "/", "Set-Cookie": access.cookie},
            )
            return
        access.check(self.headers, is_post=False)
        if parts.path in self.server.files:
            self._send(*self.server.files[parts.path])
        elif parts.path == "/report":
            html = self.server.open_studies.report(self._folder(asked))
            kind = "text/html; charset=utf-8"
            self._send(html.encode(), kind, more={"Content-Security-Policy": _REPORT_POLICY})
        else:
            self._send_json(self._found(parts.path, asked))

    def _found(self, path: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return the JSON answer to a GET request.

        Raises:
            Refused: the server has no such URL, or no results have the identifier in the URL.
        """
        query, page = asked.get("q", "")[:200], _whole(asked.get("page", "0"))
        studies = self.server.open_studies
        if path == "/api/studies":
            return self.server.catalogue.page(query, page)
        if path == "/api/form":
            return _form(self.server.catalogue.new_studies)
        if path == "/api/state":
            return self._state(self._folder(asked))
        if path == "/api/study":
            return studies.page(self._folder(asked), _whole(asked.get("setting", "0")))
        if path == "/api/runs":
            return studies.runs(self._folder(asked), page, query)
        if path == "/api/run":
            return studies.run(self._folder(asked), asked.get("run", ""))
        raise Refused(HTTPStatus.NOT_FOUND, "this server has no such URL")

    def _state(self, folder: Path) -> dict[str, Any]:
        catalogue = self.server.catalogue
        summary = catalogue.summaries().get(folder)
        if summary is None:
            raise Refused(HTTPStatus.NOT_FOUND, _GONE)
        is_running_here, printed = self.server.started.said_of(folder)
        return {
            "id": identity_of(folder),
            "path": str(folder),
            "title": summary.title,
            "link": summary.link,
            "algorithms": summary.algorithms,
            "runs": summary.runs,
            "done": summary.done,
            "failed": summary.failed,
            "state": summary.state,
            "problem": summary.problem,
            "changed_unix_s": summary.changed_unix_s,
            "is_running_here": is_running_here,
            "printed": printed,
        }

    def _post(self) -> None:
        self.server.access.check(self.headers, is_post=True)
        length = _whole(self.headers.get("Content-Length", "0"))
        if length > _MOST_POSTED:
            raise Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"the form exceeds {_MOST_POSTED} bytes; shorten its values",
            )
        try:
            posted = read_json(self.rfile.read(length))
        except ValueError:
            raise Refused(HTTPStatus.BAD_REQUEST, "the request is not JSON") from None
        if not isinstance(posted, dict):
            raise Refused(HTTPStatus.BAD_REQUEST, "the request is not a JSON object")
        started = self.server.started
        path = urlsplit(self.path).path
        if path == "/api/start":
            self._send_json({"id": identity_of(started.start(posted))})
        elif path == "/api/check":
            self._send_json(checked(posted))
        elif path == "/api/go-on":
            started.go_on(self._folder(posted))
            self._send_json({})
        elif path == "/api/stop":
            started.stop(self._folder(posted))
            self._send_json({})
        else:
            raise Refused(HTTPStatus.NOT_FOUND, "this server has no such URL")

    def _folder(self, asked: Mapping[str, object]) -> Path:
        found = self.server.catalogue.path(str(asked.get("id", "")))
        if found is None or found not in self.server.catalogue.summaries():
            raise Refused(HTTPStatus.NOT_FOUND, _GONE)
        return found

    def _send_json(self, value: object, status: HTTPStatus = HTTPStatus.OK) -> None:
        text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), default=str)
        self._send(text.encode("utf-8", "replace"), f"{JSON}; charset=utf-8", status)

    def _send(
        self,
        body: bytes,
        kind: str,
        status: HTTPStatus = HTTPStatus.OK,
        more: Mapping[str, str] | None = None,
    ) -> None:
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        is_known = status is HTTPStatus.OK and self.headers.get("If-None-Match") == tag
        self.send_response(HTTPStatus.NOT_MODIFIED if is_known else status)
        headers = {**_HEADERS, "Content-Security-Policy": _OWN_POLICY, **(more or {})}
        if status is HTTPStatus.OK:
            headers["ETag"] = tag
        for name, value in headers.items():
            self.send_header(name, value)
        if not is_known:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not is_known:
            self.wfile.write(body)


def _form(folder: Path) -> dict[str, Any]:
    """Return what the form for a new study offers: keys, algorithms, links, and the folder."""
    algorithms = core.algorithms()
    return {
        "schema": study_schema(),
        "folder": str(folder),
        "algorithms": [
            {"name": name, "summary": core.algorithm(name).description} for name in algorithms
        ],
        "links": [
            {"name": name, "title": load_preset(name, path.parent).title}
            for name, path in presets().items()
        ],
    }


def _whole(text: str) -> int:
    """Convert a string of 1 to 8 digits to a number; return 0 for any other string.

    A number above `_MOST_PAGES` is replaced by `_MOST_PAGES`.
    """
    return min(int(text), _MOST_PAGES) if text.isascii() and text.isdigit() and len(text) < 9 else 0  # noqa: PLR2004  digits


def _finite(value: Any) -> Any:  # noqa: ANN401  part of an answer
    """Replace NaN and infinities, which JSON cannot represent, by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value
