"""`cwndlab play`: open the simulator in a browser, on a page that only this machine can reach."""

from __future__ import annotations

import webbrowser
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

import click

from cwndlab.cli.output import say
from cwndlab.errors import CwndlabError

PAGE = Path(__file__).parents[1] / "data" / "page" / "index.html"
_LOOPBACK = "127.0.0.1"


@click.command("play")
@click.option("--link", metavar="LINK", help="Network link that the page shows when it opens.")
@click.option(
    "--algorithm",
    metavar="NAMES",
    help="Algorithms that the page shows when it opens, separated by commas.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port of the page on this machine; 0 chooses any free port.",
)
@click.option(
    "--no-browser", is_flag=True, help="Print the page's address without opening a browser."
)
def play_command(link: str | None, algorithm: str | None, port: int, *, no_browser: bool) -> None:
    """Open the simulator in a browser, with sliders and live charts.

    \b
      cwndlab play
      cwndlab play --link nr-typical --algorithm cubic,bbr

    The simulator runs inside the page, which sends no data to other machines. The page computes the
    same numbers as `cwndlab compare`, and shows the equivalent command.
    """  # noqa: D301  \b marks lines that click must not rewrap
    with _server(port) as server:
        begin = {"link": link, "algorithm": algorithm}
        asked = {key: value for key, value in begin.items() if value is not None}
        address = f"http://{_LOOPBACK}:{server.server_port}/"
        address += f"#{urlencode(asked)}" if asked else ""
        say(f"the page is at {address} (Ctrl-C to stop)")
        if not no_browser:
            webbrowser.open(address)
        server.serve_forever()


def _server(port: int) -> ThreadingHTTPServer:
    """Return an HTTP server that serves the page.

    Raises:
        CwndlabError: the page has not been built, or the port is in use.
    """
    try:
        page = PAGE.read_bytes()
    except FileNotFoundError:
        msg = (
            "this installation lacks the web page of `cwndlab play`; build the page with "
            "`make page` in a clone of cwndlab"
        )
        raise CwndlabError(msg) from None

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_page = self.path == "/"
            self.send_response(HTTPStatus.OK if is_page else HTTPStatus.NOT_FOUND)
            body = page if is_page else b"not found\n"
            kind = "text/html" if is_page else "text/plain"
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Do not log requests."""

    try:
        return ThreadingHTTPServer((_LOOPBACK, port), Handler)
    except OSError as error:
        msg = f"--port {port}: {error.strerror}; choose another port, or omit --port"
        raise CwndlabError(msg) from None
