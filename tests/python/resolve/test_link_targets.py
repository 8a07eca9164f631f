"""The targets of `make validate-links`, and the comparison of values with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parents[2] / "links"
ROW = '[[target]]\nid = "a"\ntitle = "t"\nunit = "ms"\ntarget = 20\nwithin = {}\nsource = "s"\n{}\n'


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Import the program, which is next to its data and not in a package."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(__import__("sys").modules, "run", raising=False)
    import run  # noqa: PLC0415  beside the program

    yield run
    monkeypatch.delitem(__import__("sys").modules, "run", raising=False)


@pytest.mark.parametrize(
    ("within", "value", "holds"),
    [
        ('"10 %"', 18.0, True),
        ('"10 %"', 17.9, False),
        ("0.5", 20.5, True),
        ("0.5", 19.4, False),
        ('"exact"', 20.0, True),
        ('"exact"', 20.001, False),
    ],
)
def test_a_value_holds_within_its_tolerance(
    program: Any,  # noqa: ANN401  a module
    within: str,
    value: float,
    holds: bool,  # noqa: FBT001  what the table says
) -> None:
    target = program.read_targets(ROW.format(within, ""))["a"]
    assert target.holds(value) is holds
    assert target.verdict(value) == ("ok" if holds else "MISSED")


def test_a_figure_that_stands_aside_is_shown_with_its_reason(program: Any) -> None:  # noqa: ANN401
    target = program.read_targets(ROW.format("0.5", 'aside = "from memory"'))["a"]
    assert target.verdict(30.0) == "off: from memory"
    assert target.verdict(20.0) == "ok"


def test_names_are_unique_and_tolerances_are_tolerances(program: Any) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match="a stands there twice"):
        program.read_targets(2 * ROW.format("0.5", ""))
    with pytest.raises(ValueError, match="could not convert"):
        program.read_targets(ROW.format('"near"', ""))
    written = program.read_targets((FOLDER / "targets.toml").read_text(encoding="utf-8"))
    assert all(target.source for target in written.values())


def test_the_figures_of_ns_3_are_targets(program: Any) -> None:  # noqa: ANN401  a module
    targets = program.read_ns3((FOLDER / "ns3.csv").read_text(encoding="utf-8"))
    target = targets["ns3.mbit_s.udp-down.n20.mcs7.n3"]
    assert target.within == "2.5 %"
    assert target.verdict(59.6) == "ok"
    assert target.verdict(57.0) == "MISSED"
    assert "ns3.jain.udp-up.n20.mcs7.n12.line" in targets
    assert "ns3.jain.udp-down.n20.mcs7.n3" not in targets
