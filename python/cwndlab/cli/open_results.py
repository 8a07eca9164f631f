"""`cwndlab open`: show results in a browser on this machine."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from cwndlab.cli.output import say
from cwndlab.cli.value_types import UserPath
from cwndlab.errors import CwndlabError, plural
from cwndlab.run.campaign import RESULTS_FOLDER

PAGE = Path(__file__).parents[1] / "data" / "page"


@click.command("open")
@click.argument("results", nargs=-1, type=UserPath())
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Local TCP port on which to serve the page; 0 chooses any free port.",
)
@click.option(
    "--no-browser", is_flag=True, help="Print the page's address without opening a browser."
)
def open_command(results: tuple[Path, ...], port: int, *, no_browser: bool) -> None:
    """Show finished and running studies from RESULTS in a browser.

    \b
      cwndlab open
      cwndlab open results/lte-typical ~/measurements

    RESULTS are folders of results, or folders that contain several folders of results; the default
    is `results`. Only this machine can open the page; the printed address contains a secret token.
    The page shows progress, recommendations, reports and runs, plots two studies in one chart, and
    can start new studies.
    """  # noqa: D301  \b marks lines that click must not rewrap
    from cwndlab.viewer.memory import give_freed_memory_back  # noqa: PLC0415  as below
    from cwndlab.viewer.server import FILES, ResultsServer  # noqa: PLC0415  slow to load

    give_freed_memory_back()

    places = results or (RESULTS_FOLDER,)
    for place in places:
        if results and not place.is_dir():
            msg = f"{place}: this folder does not exist; name a folder that contains results"
            raise CwndlabError(msg)
    if not all((PAGE / name).exists() for name, _ in FILES.values()):
        msg = (
            "this installation lacks the web page of `cwndlab open`; build the page with "
            "`make page` in a clone of cwndlab"
        )
        raise CwndlabError(msg)
    try:
        server = ResultsServer(places, PAGE, port)
    except OSError as error:
        msg = f"--port {port}: {error.strerror}; choose another port, or omit --port"
        raise CwndlabError(msg) from None
    with server:
        say(f"the results are shown at {server.access.address} (Ctrl-C to stop)")
        if not no_browser:
            webbrowser.open(server.access.address)
        try:
            server.serve_forever()
        finally:
            if stopped := server.started.end():
                say(f"stopped {plural(stopped, 'study')}; to resume, use `cwndlab run`")
