"""Styles are visible on paper and on dark pages, and distinguishable with any colour vision."""

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from cwndlab.figures.style import known_names, style_of, styles_of

# G. Machado, M. Oliveira, L. Fernandes, "A physiologically-based model for simulation of color
# vision deficiency", IEEE TVCG 15 (2009), severity 1.0, on linear RGB.
VISION = {
    "usual": np.eye(3),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}
SHOWN_TOGETHER = ["reno", "cubic", "bbr", "westwood", "vegas", "highspeed"]
DARK_PAGE = "#14171c"


def linear_rgb(colour: str) -> npt.NDArray[np.float64]:
    value = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    return float(linear_rgb(colour) @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    light, dark = sorted([luminance(one), luminance(other)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


def lab(linear: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    ratio = to_xyz @ np.clip(linear, 0, 1) / [0.95047, 1.0, 1.08883]
    f = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("name", known_names())
def test_every_colour_is_seen_on_white_and_on_a_dark_page(name: str) -> None:
    style = style_of(name)
    assert contrast(style.colour, "#ffffff") >= 3
    assert contrast(style.dark_colour, DARK_PAGE) >= 3


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("page", ["light", "dark"])
def test_algorithms_often_shown_together_differ_for_every_colour_vision(
    vision: str, page: str
) -> None:
    def seen(name: str) -> npt.NDArray[np.float64]:
        style = style_of(name)
        return lab(
            VISION[vision] @ linear_rgb(style.colour if page == "light" else style.dark_colour)
        )

    for one, other in itertools.combinations(SHOWN_TOGETHER, 2):
        distance = float(np.linalg.norm(seen(one) - seen(other)))
        assert distance > 18, f"{one} and {other} look alike: {distance:.1f}"


def test_no_two_algorithms_share_colour_dash_and_marker() -> None:
    algorithms = [name for name in known_names() if name not in {"fulltcp", "tcp-linux"}]
    assert len({style_of(name) for name in algorithms}) == len(algorithms)


def test_style_does_not_depend_on_company_for_known_algorithms() -> None:
    alone = styles_of(["cubic"])["cubic"]
    assert styles_of(["mine", "bbr", "cubic", "reno"])["cubic"] == alone
    assert styles_of(["hstcp"])["hstcp"] == style_of("highspeed")
    assert style_of("Westwood+") == style_of("westwood")


def test_unknown_algorithms_get_stable_and_different_styles() -> None:
    first = styles_of(["./my_cc.c", "linux:tcp_x.c", "cubic", "hybla"])
    again = styles_of(["hybla", "linux:tcp_x.c", "./my_cc.c"])
    assert first["./my_cc.c"] == again["./my_cc.c"]
    assert len(set(first.values())) == 4
    assert list(first) == ["./my_cc.c", "linux:tcp_x.c", "cubic", "hybla"]


def test_variations_keep_the_colour_of_what_they_vary() -> None:
    plain, varied = style_of("tcp-linux"), style_of("TCP-Linux as printed")
    assert varied.colour == plain.colour
    assert varied.dashes != plain.dashes
    assert varied.marker != plain.marker
    assert style_of("cubic, 2.6.24").colour == style_of("cubic").colour
    assert style_of("linux:tcp_x.c").colour != style_of("lp").colour


def test_line_style_is_what_matplotlib_takes() -> None:
    assert style_of("cubic").line_style == "-"
    assert style_of("bbr").line_style == (0.0, (7.0, 2.5))
