"""Entry point of the command line.

Errors that users can fix are reported by a message and an exit status.

Exit status: 0, success; 1, some runs of a study or checks of an algorithm failed; 2, the input is
invalid, or the machine lacks something that the command needs; 130 or 143, Ctrl-C or SIGTERM
stopped the command.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import shutil
import sys
import textwrap
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cwndlab.cli import interruption
from cwndlab.cli.group import SectionedGroup
from cwndlab.errors import CwndlabError, InterruptedStudyError, file_failure

if TYPE_CHECKING:
    from typing import TextIO


def _print_version(context: click.Context, _option: click.Parameter, is_asked: bool) -> None:  # noqa: FBT001  click calls it so
    if not is_asked:
        return
    from cwndlab import core  # noqa: PLC0415  --help works without the compiled part

    click.echo(f"cwndlab {core.version()}")
    context.exit()


# The mark \b keeps click from joining and rewrapping the lines below it.
_HELP = """Which TCP congestion control should I use on this network, and how sure are we?

\b
  cwndlab compare --link "rate=10 Mbit/s,delay=20 ms" --algorithm reno,cubic
  cwndlab run studies/demo.toml
  cwndlab report results/demo
"""


@click.group(
    cls=SectionedGroup, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version.",
)
def app() -> None:
    """Which TCP congestion control should I use on this network, and how sure are we?"""


def main(arguments: list[str] | None = None) -> None:
    """Run the command with `arguments`, and end the process with the command's exit status.

    If `arguments` is None, the arguments of the process are used.
    """
    interruption.listen()
    # The command shows no window. A notebook sets a backend for the programs that it starts, which
    # this installation may lack.
    os.environ["MPLBACKEND"] = "agg"
    _open_closed_streams()
    _replace_what_cannot_be_encoded()
    status = run(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            _discard(stream)
        except OSError:
            status = status or 1
    # Do not wait for threads that are blocked in the network or in compiled code: they would
    # return to an interpreter that has ended.
    if status == interruption.exit_status() or any(
        thread.daemon for thread in threading.enumerate()
    ):
        os._exit(status)
    gc.freeze()  # skips the garbage collection at exit, which would take a quarter of a second
    sys.exit(status)


def _open_closed_streams() -> None:
    """Open the null device in place of each standard stream that the caller has closed (`>&-`).

    If a stream stayed closed, the next opened file would get the stream's descriptor. Output to the
    stream would then be written to this file, for example into a table of results.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115  until the end
            setattr(sys, name, nowhere)


def _replace_what_cannot_be_encoded() -> None:
    """Print a question mark for each character that the terminal's encoding cannot represent."""
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper) and not out.encoding.lower().startswith("utf"):
        out.reconfigure(errors="replace")


def _discard(stream: TextIO) -> None:
    """Discard all further output to a stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def run(arguments: list[str]) -> int:
    """Run the command with `arguments`, and return the command's exit status."""
    out = sys.stdout
    try:
        _refuse_undecoded(arguments)
        status = app.main(arguments, prog_name="cwndlab", standalone_mode=False)
    except BaseException as error:
        is_stopped = interruption.is_asked() or isinstance(error, click.Abort | KeyboardInterrupt)
        interruption.arrived()
        if is_stopped:
            is_study = isinstance(error, InterruptedStudyError)
            _complain(_between_words(str(error)) if is_study else "stopped")
            return interruption.exit_status()
        if isinstance(error, SystemExit) and _has_lost_its_reader(error, out):
            _discard(out)
            return 0
        if (status := _status_of(error)) is None:
            raise
        return status
    interruption.arrived()
    return status if isinstance(status, int) else 0


def _has_lost_its_reader(end: SystemExit, out: TextIO) -> bool:
    """Return whether the program that read standard output has closed the pipe.

    `end` is the exception that ended the command; `out` is the standard output with which the
    command began. There are two signs of a closed pipe: click has replaced `sys.stdout`, or Rich
    raised `end` while Rich handled a `BrokenPipeError`.
    """
    return sys.stdout is not out or isinstance(end.__context__, BrokenPipeError)


def _status_of(error: BaseException) -> int | None:
    """If the user can fix an error, print it and return its exit status; otherwise, return None."""
    if isinstance(error, click.ClickException):
        with contextlib.suppress(OSError):
            error.show()
        return error.exit_code
    if isinstance(error, CwndlabError):
        _complain(_between_words(str(error)))
        return error.exit_status
    if isinstance(error, OSError):  # concerns a file or folder that no command has checked
        _complain(file_failure(error))
        return CwndlabError.exit_status
    return None


def _complain(message: str) -> None:
    """Print a message to standard error.

    If printing fails, only the exit status reports the error.
    """
    with contextlib.suppress(OSError):
        click.echo(message, err=True)


def _between_words(message: str) -> str:
    """Break a message into lines of the terminal's width, if standard error is a terminal."""
    if not sys.stderr.isatty():
        return message
    width = shutil.get_terminal_size().columns
    lines = []
    for line in message.splitlines():
        indent = " " * (len(line) - len(line.lstrip()))
        lines += textwrap.wrap(
            line,
            width,
            subsequent_indent=indent or "  ",
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(lines)


def _refuse_undecoded(arguments: list[str]) -> None:
    """Refuse arguments that are not UTF-8, because results cannot store them."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            msg = (
                f"the argument {argument!a} is not UTF-8; if it is the name of a file, rename the "
                "file; otherwise, write the argument as UTF-8"
            )
            raise click.UsageError(msg) from None
