from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from cwndlab.run.progress import Bar, Lines, format_eta, reporter


def test_plain_lines_tell_how_far_and_how_long_still() -> None:
    out = io.StringIO()
    with Lines("Mine", 1280, 312, out, interval_s=0.0) as lines:
        time.sleep(0.01)
        lines.advance("cubic, 1 Mbit/s")
    told = out.getvalue()
    assert told.startswith("Mine: 313 of 1,280 runs, ")
    assert told.endswith(" left (cubic, 1 Mbit/s)\n")


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


def test_without_a_terminal_there_are_lines() -> None:
    assert isinstance(reporter("x", 1, 0), Lines)


@pytest.mark.parametrize(
    ("left_s", "text"),
    [(0.2, "0 s"), (119, "119 s"), (130, "2 min"), (7100, "118 min"), (9000, "2.5 h")],
)
def test_times_are_told_as_one_plans_by_them(left_s: float, text: str) -> None:
    assert format_eta(left_s) == text
