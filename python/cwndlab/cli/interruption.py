"""Make sure that Ctrl-C or SIGTERM ends the command, even if a library swallows the exception.

Both signals end a command in the same way: finished work is kept, and nothing is left behind.

Python raises `KeyboardInterrupt` at the point that the main thread has reached, even in a callback
of compiled code. Some compiled code clears the exception (pydantic-core, when it looks for
attributes of a value) or replaces it with another exception (Matplotlib's converters, Polars'
casts). This module therefore raises a subclass, `Interruption`. If an `Interruption` is destroyed
before `cwndlab.cli.run` catches it, this module raises it again.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

_AGAIN_S = 0.02

_is_listening = False
_asked_by: int | None = None
"""The signal that ends the command."""


class Interruption(KeyboardInterrupt):
    """The exception that Ctrl-C or SIGTERM raises, and that `cwndlab.cli.run` must catch."""

    def __del__(self) -> None:
        if _is_listening:
            # An exception cannot leave a destructor: a timer raises it again.
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)


def listen() -> None:
    """Raise `Interruption` at Ctrl-C or SIGTERM.

    If a library swallows the exception, this module raises it again until `arrived` is called.
    """
    global _is_listening  # noqa: PLW0603  a process has one SIGINT, too
    _is_listening = True
    for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)


def arrived() -> None:
    """Stop raising `Interruption`, so that the next Ctrl-C or SIGTERM ends the process."""
    global _is_listening  # noqa: PLW0603  a process has one SIGINT, too
    if _is_listening:
        _is_listening = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)


def is_asked() -> bool:
    """Return True after Ctrl-C or SIGTERM, even if a library swallowed the exception."""
    return _asked_by is not None


def exit_status() -> int:
    """Return the exit status of a stopped command: 143 after SIGTERM, 130 otherwise."""
    return 128 + (_asked_by or signal.SIGINT)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _asked_by  # noqa: PLW0603  a process has one SIGINT, too
    if _is_listening:
        if number != signal.SIGALRM:
            _asked_by = number
        if _is_importing_polars(frame):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
            return
        raise Interruption


def _is_importing_polars(frame: FrameType | None) -> bool:
    """Return whether Polars is being imported.

    An exception during the import, which takes 0.1 s, would make Polars panic.
    """
    while frame is not None:
        code = frame.f_code
        if code.co_name == "<module>" and frame.f_globals.get("__name__") == "polars":
            return True
        frame = frame.f_back
    return False
