from __future__ import annotations

import io
import re
import time

import pytest
from rich.console import Console

from cwndlab.run.progress import Bar, EachRun, Lines, format_eta, reporter


def test_plain_lines_tell_how_far_and_how_long_still() -> None:
    out = io.StringIO()
    with Lines("Mine", 1280, 312, out, interval_s=0.0) as lines:
        time.sleep(0.01)
        lines.advance("cubic, 1 Mbit/s")
    told = out.getvalue()
    assert told.startswith("Mine: 313 of 1,280 runs, ")
    assert told.endswith(" left (cubic, 1 Mbit/s)\n")


def test_a_line_without_a_run_has_no_parentheses() -> None:
    out = io.StringIO()
    with Lines("simulations", 100, 0, out, interval_s=0.0) as lines:
        lines.advance("", 10)
    assert out.getvalue().endswith(" left\n")


def test_the_units_are_told_if_they_are_not_runs() -> None:
    out, drawn = io.StringIO(), io.StringIO()
    with Lines("home", 48, 0, out, interval_s=0.0, units="pieces") as lines:
        lines.advance("uplink")
    assert out.getvalue().startswith("home: 1 of 48 pieces, ")
    with Bar("home", 48, 0, Console(file=drawn, force_terminal=True, width=100), "pieces") as bar:
        bar.advance("uplink")
    assert " pieces " in drawn.getvalue()


def test_plain_lines_come_now_and_then_only() -> None:
    out = io.StringIO()
    with Lines("Mine", 100, 0, out, interval_s=60.0) as lines:
        for _ in range(100):
            lines.advance("x")
    assert out.getvalue() == ""


def test_a_bar_shows_runs_and_goes_away() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100)
    with Bar("Mine", 10, 3, console) as bar:
        bar.advance("cubic")
    assert "4/10" in out.getvalue()
    assert "cubic" in out.getvalue()


def test_a_long_title_leaves_room_for_the_bar() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80)
    with Bar("A title that is much longer than a line of a terminal " * 2, 10, 0, console) as bar:
        bar.advance("cubic")
    assert "1/10" in out.getvalue()
    assert "cubic" in out.getvalue()


@pytest.mark.parametrize("title", ["Mine", "A title that is much longer than a terminal"])
@pytest.mark.parametrize("width", [30, 40, 60, 80, 200])
def test_a_narrow_terminal_shows_the_runs_and_the_time_in_full(width: int, title: str) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, no_color=True)
    with Bar(title, 4000, 3, console) as bar:
        bar.advance("a variant with a long name, rate 100 Mbit/s, queue 0.5 BDP")
    last = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue()).replace("\r", "\n")
    shown = [line for line in last.splitlines() if "4/4000" in line]
    assert shown
    assert all(re.search(r"\d:\d\d:\d\d|-:--:--", line) for line in shown)
    assert max(map(len, shown)) <= width


@pytest.mark.parametrize(
    ("total", "done", "text"),
    [
        (14, 0, "1 of 14 runs is stored"),
        (14, 1, "2 of 14 runs are stored"),
        (1, 0, "1 of 1 run is stored"),
    ],
)
def test_lines_for_each_run_are_grammatical(total: int, done: int, text: str) -> None:
    lines: list[str] = []
    with EachRun(total, done, lines.append) as runs:
        runs.advance("cubic")
    assert lines == [f"{text}  cubic"]


def test_without_a_terminal_there_are_lines() -> None:
    assert isinstance(reporter("x", 1, 0), Lines)


@pytest.mark.parametrize(
    ("left_s", "text"),
    [(0.2, "0 s"), (119, "119 s"), (130, "2 min"), (7100, "118 min"), (9000, "2.5 h")],
)
def test_times_are_told_as_one_plans_by_them(left_s: float, text: str) -> None:
    assert format_eta(left_s) == text
