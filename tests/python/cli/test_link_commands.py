"""`cwndlab link` with the compiled core: pictures, exports, media."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib import pyplot as plt

from cwndlab import core
from cwndlab.errors import CoreMissingError
from cwndlab.figures.link import draw_link
from cwndlab.run.saturation import saturate
from cwndlab.schema.direction import Direction
from cwndlab.study.describe import read_link
from program import run_here

if TYPE_CHECKING:
    from collections.abc import Callable


_QUEUE = "wifi.access_point.queue"


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run a command in an empty folder; return its status, output and errors."""
    try:
        core.module()
    except CoreMissingError as missing:
        pytest.skip(str(missing))
    monkeypatch.chdir(tmp_path)
    return run_here(capsys)


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_link_plot_draws_capacity(run: Callable[..., tuple[int, str, str]], ending: str) -> None:
    Path("x.down").write_text("".join(f"{ms}\n" for ms in range(1, 500, 3)))
    status, out, _ = run("link", "show", "trace:x.down", "--plot", "--out", f"x.{ending}")
    assert (status, out) == (0, f"x.{ending}\n")
    assert Path(f"x.{ending}").stat().st_size > 1000


@pytest.mark.parametrize(
    ("link", "panels"), [("nr-5g-vaasa-2023", 4), ("hsdpa-2010", 3), ("wifi-bad", 3)]
)
def test_link_plot_shows_all_of_both_directions(link: str, panels: int) -> None:
    _, resolved = read_link(link)
    second = 1_000_000_000
    found = {
        Direction.DOWNLINK: saturate(resolved, Direction.DOWNLINK, second),
        Direction.UPLINK: saturate(resolved, Direction.UPLINK, second),
    }
    figure = draw_link(link, found, ["made of"])
    assert len(figure.axes) == 2 * panels
    for axis in figure.axes:
        (line,) = axis.lines
        bottom, top = axis.get_ylim()
        values = np.asarray(line.get_ydata())
        assert len(values) > 0
        assert bottom <= values.min()
        assert values.max() <= top
        assert axis.get_yticklabels()[0].get_visible()
    plt.close(figure)


def test_link_plot_refuses_what_cannot_be_drawn(run: Callable[..., tuple[int, str, str]]) -> None:
    assert run("link", "show", "lossy", "--plot", "--out", "x.bmp")[2] == (
        "x.bmp: choose a file name that ends in .svg, .pdf, .png\n"
    )
    told = run("link", "show", "delay=1 ms", "--plot")[2]
    assert told == (
        "delay=1 ms: nothing can be plotted "
        "(path: nothing limits the rate in the direction reverse)\n"
    )


def test_link_export_writes_the_delivery_opportunities(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    out = run("link", "export", "rate=12 Mbit/s,delay=9 ms", "--out", "x", "--duration", "1 s")[1]
    assert out == "x: 991 delivery opportunities, 12.012 Mbit/s\n"
    assert Path("x").read_text() == "".join(f"{stamp}\n" for stamp in range(1, 992))
    stamps = "".join(f"{stamp}\n" for stamp in (3, 3, 7, 20, 20, 20, 41))
    Path("x.up").write_text(stamps)
    link = ("trace:x.up,delay=5 ms", "--out", "y", "--duration", "46 ms")
    assert run("link", "export", *link)[0] == 0
    assert Path("y").read_text() == stamps
    # An opportunity at 0 can be used only when the trace begins again, at its end.
    Path("z.down").write_text("0\n0\n5\n9\n")
    assert run("link", "export", "trace:z.down", "--out", "z", "--duration", "9 ms")[0] == 0
    assert Path("z").read_text() == "5\n9\n9\n9\n"


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        (
            f"wifi-good,{_QUEUE}.kind=airtime,{_QUEUE}.aql.low=9 ms,{_QUEUE}.aql.high=5 ms",
            "wifi.access_point.queue: aql: low must be above 0 s and must not exceed high",
        ),
        ("umts-2007,mcs=3", "mcs: a dedicated channel has only one modulation"),
        ("wifi-good,mcs=12", "mcs: 802.11n has no rate with index 12 on this channel"),
    ],
)
def test_what_the_simulator_refuses_is_no_link(
    run: Callable[..., tuple[int, str, str]], link: str, reason: str
) -> None:
    """Only the core knows which combinations of a link's values are valid."""
    status, _, errors = run("link", "show", link)
    assert status == 2
    assert f"\n  {reason}" in errors
