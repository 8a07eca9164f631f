"""Tables on terminals of any width: no value is cut off."""

from __future__ import annotations

import re

import pytest
from rich.console import Console

from cwndlab.cli import output
from cwndlab.cli.screens.comparison import terminal_table
from made_up import FAST_OR_SHORT, comparison_of

LIMITS = dict.fromkeys(("cubic", "bbr", "vegas"), "cwnd after loss 100 %")


def shown(monkeypatch: pytest.MonkeyPatch, width: int) -> str:
    """Return the table of a comparison as shown on a terminal of this width."""
    terminal = Console(width=width, force_terminal=True, no_color=True, highlight=False)
    monkeypatch.setattr(output, "console", lambda: terminal)
    with terminal.capture() as captured:
        output.say(output.indented(terminal_table(FAST_OR_SHORT, LIMITS, width)))
    return captured.get()


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_no_value_of_a_comparison_is_cut_off(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"cubic", "bbr", "vegas", "(best)", "after"}
    text = shown(monkeypatch, width)
    assert "…" not in text
    assert words <= set(text.replace("\x1b[1m", " ").replace("\x1b[0m", " ").split())


def test_a_terminal_too_narrow_for_the_table_shows_a_line_for_each_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = [line.strip() for line in shown(monkeypatch, 25).splitlines()]
    assert sum("limited by" in line for line in lines) == 3
    assert max(map(len, lines)) <= 60  # including the codes of the styles


@pytest.mark.parametrize("width", [39, 40, 45, 60])
def test_no_word_of_a_heading_is_broken(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Console(width=width, force_terminal=True, no_color=True, highlight=False)
    monkeypatch.setattr(output, "console", lambda: terminal)
    row = {"stated probability": "0.1 to 0.3", "mean": "0.19", "came true": "0.25"}
    with terminal.capture() as captured:
        output.print_rows([{**row, "comparisons": 32}], "table")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", captured.get())
    assert {"stated", "probability", "came", "true", "comparisons"} <= set(plain.split())
    assert max(map(len, plain.splitlines())) <= width


def test_fairness_to_cubic_shows_the_shares_on_which_it_is_decided() -> None:
    runs = {
        "bbr": {"goodput_mbit_s": [9.0], "share_beside_cubic_pct": [90.0]},
        "cubic": {"goodput_mbit_s": [5.0], "share_beside_cubic_pct": [50.0]},
    }
    shared = {
        name: {**own, "jain_index_beside_cubic": [index]}
        for (name, own), index in zip(runs.items(), [0.61, 1.0], strict=True)
    }
    heads = [column.header for column in terminal_table(comparison_of(shared)).columns]
    assert heads[-2:] == ["goodput share against CUBIC, %", "Jain's index against CUBIC"]
    assert "goodput share against CUBIC, %" not in [
        column.header for column in terminal_table(comparison_of(runs)).columns
    ]
