"""Show the progress of runs or other work, and the time left, as a bar or as lines of text."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Protocol, Self, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_LINE_INTERVAL_S = 10.0
_TITLE_WIDTH = 24  # leaves enough columns for the bar on a terminal of 80 columns
_BAR_WIDTH, _SHORTEST_BAR, _SHORTEST_WHAT = 20, 5, 5
_SECONDS_PER_MINUTE = 60
_MINUTES_PER_HOUR = 60


class Reporter(Protocol):
    """A context manager that shows the progress of a study."""

    def __enter__(self) -> Self:
        """Start showing progress."""

    def __exit__(self, *_: object) -> None:
        """Stop showing progress, even if some runs are not finished."""

    def advance(self, what: str, runs: int = 1) -> None:
        """Add `runs` to the number of finished runs; `what` describes the last finished run."""

    def note(self, text: str) -> None:
        """Show a message, such as a warning, without changing the number of finished runs."""


class Silent:
    """A progress display that shows nothing."""

    def __enter__(self) -> Self:
        """Do nothing."""
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    def advance(self, what: str, runs: int = 1) -> None:
        """Do nothing."""

    def note(self, text: str) -> None:
        """Do nothing."""


class EachRun:
    """A progress display for runs in real time: one line for each finished run."""

    def __init__(self, total: int, done: int, say: Callable[[str], object]) -> None:
        """Create a progress display that prints its lines with the function `say`."""
        self._total = total
        self._done = done
        self._say = say

    def __enter__(self) -> Self:
        """Do nothing yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing at the end, because the caller reports the outcome."""

    def advance(self, what: str, runs: int = 1) -> None:
        """Print the number of finished runs and `what`, which describes the last finished run."""
        self._done += runs
        is_one = 1 in {self._done, self._total}
        noun = "run" if self._total == 1 else "runs"
        verb = "is" if is_one else "are"
        self._say(f"{self._done:,} of {self._total:,} {noun} {verb} stored  {what}")

    def note(self, text: str) -> None:
        """Print a message."""
        for line in text.splitlines():
            self._say(line)


class Bar:
    """A progress bar in a terminal, which disappears at the end."""

    def __init__(
        self, title: str, total: int, done: int, console: Console, units: str = "runs"
    ) -> None:
        """Create a progress display that fits the width of the terminal.

        The number of finished `units` and the remaining time are always shown. If the terminal is
        too narrow for all other parts, they are left out in this order: the description of the last
        run, the bar, the end of the title.
        """
        needed = 2 * len(str(total)) + len(f"/ {units} 0:00:00 ")
        short = _cut(title, max(1, min(_TITLE_WIDTH, console.width - needed - 1)))
        room = console.width - needed - len(short) - 1
        bar_width = min(_BAR_WIDTH, room - 1)
        self._what_width = room - 1 - bar_width - 1
        columns: list[ProgressColumn] = [TextColumn("{task.description}")]
        if bar_width >= _SHORTEST_BAR:
            columns.append(BarColumn(bar_width=bar_width))
        columns += [MofNCompleteColumn(), TextColumn(units), TimeRemainingColumn()]
        if self._what_width >= _SHORTEST_WHAT:
            columns.append(TextColumn("[dim]{task.fields[what]}"))
        self._progress = Progress(*columns, console=console, transient=True)
        self._task = self._progress.add_task(short, total=total, completed=done, what="")

    def __enter__(self) -> Self:
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar."""
        self._progress.stop()

    def advance(self, what: str, runs: int = 1) -> None:
        """Advance the bar."""
        what = _cut(what, max(1, self._what_width))
        self._progress.update(self._task, advance=runs, what=what)

    def note(self, text: str) -> None:
        """Print a message above the progress bar."""
        self._progress.console.print(text, markup=False, highlight=False)


def _cut(text: str, width: int) -> str:
    """Shorten a text to at most `width` characters; an ellipsis marks a removed end."""
    return text if len(text) <= width else f"{text[: width - 1]}\N{HORIZONTAL ELLIPSIS}"


class Lines:
    """A progress display for pipes and logs: at most one line of text every ten seconds."""

    def __init__(
        self,
        title: str,
        total: int,
        done: int,
        file: TextIO,
        interval_s: float = _LINE_INTERVAL_S,
        units: str = "runs",
    ) -> None:
        self._title = title
        self._total = total
        self._done_before = done
        self._done = done
        self._file = file
        self._interval_s = interval_s
        self._units = units
        self._began_s = self._said_s = time.monotonic()

    def __enter__(self) -> Self:
        """Print nothing at the start, because most studies finish before the first line is due."""
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing at the end, because the caller reports the outcome."""

    def advance(self, what: str, runs: int = 1) -> None:
        """Count finished runs; print a line if the last line is at least ten seconds old."""
        self._done += runs
        now_s = time.monotonic()
        if now_s - self._said_s < self._interval_s:
            return
        self._said_s = now_s
        pace_s = (now_s - self._began_s) / (self._done - self._done_before)
        left = format_eta((self._total - self._done) * pace_s)
        last = f" ({what})" if what else ""
        print(
            f"{self._title}: {self._done:,} of {self._total:,} {self._units}, {left} left{last}",
            file=self._file,
            flush=True,
        )

    def note(self, text: str) -> None:
        """Print a message."""
        print(text, file=self._file, flush=True)


def tell(text: str) -> None:
    """Print a message on standard error, separately from the progress display."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def reporter(title: str, total: int, done: int, units: str = "runs") -> Reporter:
    """Return a progress display: a bar in a terminal or notebook, otherwise lines of text.

    `units` names what `total` and `done` count, such as runs.
    """
    console = Console(stderr=True)
    if console.is_terminal or console.is_jupyter:
        return Bar(title, total, done, console, units)
    return Lines(title, total, done, sys.stderr, units=units)


def each_run(say: Callable[[str], object]) -> Callable[[str, int, int], Reporter]:
    """Return a function that creates a progress display with one line for each run."""
    return lambda _title, total, done: EachRun(total, done, say)


def format_eta(left_s: float) -> str:
    """Return a duration as text, rounded to seconds, minutes or tenths of an hour."""
    if left_s < 2 * _SECONDS_PER_MINUTE:
        return f"{left_s:.0f} s"
    minutes = left_s / _SECONDS_PER_MINUTE
    if minutes < 2 * _MINUTES_PER_HOUR:
        return f"{minutes:.0f} min"
    return f"{minutes / _MINUTES_PER_HOUR:.1f} h"
