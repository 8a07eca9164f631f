"""Define colours, line styles and markers of algorithms for all figures and reports.

The hues come from Okabe and Ito (2008) and from Tol's "muted" set. The lightness is adjusted so
that each colour is visible on white and on dark pages (contrast of at least 3:1, WCAG 2.1 section
1.4.11). Colours that are often shown together are distinguishable with all types of colour vision.
Tests check the contrast and the distinguishability. Dashes and markers also identify each
algorithm, for print in grey and for colour-blind readers.
"""

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

_SOLID: tuple[float, ...] = ()
_DASHED = (7.0, 2.5)
_DOTTED = (1.5, 1.8)
_DASH_DOT = (7.0, 2.0, 1.5, 2.0)
_LONG = (12.0, 3.0)
_DASH_DOT_DOT = (7.0, 2.0, 1.5, 2.0, 1.5, 2.0)


@dataclass(frozen=True, slots=True)
class Style:
    """Colours, dashes and marker with which figures draw one algorithm."""

    colour: str
    """Colour on white paper, in the form #rrggbb."""
    dark_colour: str
    """Colour on a dark page, in the form #rrggbb."""
    dashes: tuple[float, ...]
    """Lengths of dashes and gaps in points; empty for a continuous line."""
    marker: str
    """Marker of single points, as matplotlib's code, such as "o" for a circle."""

    @property
    def line_style(self) -> str | tuple[float, tuple[float, ...]]:
        """Line style in the form that matplotlib accepts."""
        return (0.0, self.dashes) if self.dashes else "-"


_STYLES = {
    "reno": Style("#222222", "#e5e6e6", _DASH_DOT, "^"),
    "cubic": Style("#005bb0", "#4d97ff", _SOLID, "o"),
    "bbr": Style("#dd6100", "#f0701f", _DASHED, "s"),
    "westwood": Style("#00805e", "#2aa87c", _LONG, "D"),
    "vegas": Style("#cf5fae", "#d189c9", _DOTTED, "v"),
    "highspeed": Style("#8a4700", "#fadc86", _DASH_DOT_DOT, "P"),
    "bic": Style("#332288", "#a79bff", _DASHED, "X"),
    "htcp": Style("#117733", "#66c583", _DASH_DOT, "<"),
    "hybla": Style("#882255", "#dd7fb0", _SOLID, ">"),
    "illinois": Style("#b5495b", "#ff97a6", _LONG, "h"),
    "veno": Style("#6b6b00", "#cccc55", _SOLID, "p"),
    "yeah": Style("#2f7f93", "#7fd0e2", _DOTTED, "d"),
    "scalable": Style("#7a3f9c", "#cf9cf0", _LONG, "*"),
    "lp": Style("#7d6047", "#d3b193", _DOTTED, "H"),
    "compound": Style("#1f5f8b", "#8fc7ff", _DASH_DOT, "8"),
    "dctcp": Style("#a03c00", "#ffab80", _DOTTED, "s"),
    "bbr2": Style("#b03a10", "#ff9d66", _LONG, "s"),
    "bbr3": Style("#8f2d00", "#ffb48c", _SOLID, "s"),
    "copa": Style("#006d77", "#5cc8d0", _DASH_DOT_DOT, "D"),
    "ledbat-pp": Style("#5b6b00", "#ccd96b", _DASHED, "P"),
    "vivace": Style("#7a4f00", "#e0b060", _SOLID, "X"),
    "c4-00": Style("#3f4a8a", "#aab4f0", _LONG, "^"),
    "nv": Style("#8c3b73", "#f0b0d8", _DASHED, "v"),
    "cdg": Style("#4d6d1f", "#b0d27a", _DASH_DOT, "d"),
    "prague": Style("#5c3d99", "#c4a8ff", _DOTTED, "o"),
    "fulltcp": Style("#dd6100", "#f0701f", _DASHED, "s"),
    "tcp-linux": Style("#005bb0", "#4d97ff", _SOLID, "o"),
}
_ALIASES = {
    "newreno": "reno",
    "hstcp": "highspeed",
    "hs-tcp": "highspeed",
    "westwood+": "westwood",
    "westwoodplus": "westwood",
    "full-tcp": "fulltcp",
    "ctcp": "compound",
}
_BASE = re.compile(r"[a-z0-9+-]+(?=[\s,(:/])")
_DASHES = (_SOLID, _DASHED, _DOTTED, _DASH_DOT, _LONG, _DASH_DOT_DOT)
_MARKERS = ("o", "s", "D", "^", "v", "P", "X")
_SPARE_NAMES = ("hybla", "htcp", "bic", "illinois", "yeah", "veno", "scalable", "lp", "compound")


def style_of(name: str) -> Style:
    """Return the style of an algorithm; if it has none, a style that depends only on its name."""
    known = _known(name)
    if known is not None:
        return known
    return _STYLES[_SPARE_NAMES[_slot(name)]]


def styles_of(names: Iterable[str]) -> dict[str, Style]:
    """Return a style for each algorithm of a figure.

    Known algorithms always keep their own styles. Unknown names receive styles that the figure does
    not use yet, if any are left.
    """
    wanted = list(dict.fromkeys(names))
    chosen = {name: known for name in wanted if (known := _known(name)) is not None}
    used = set(chosen.values())
    for name in sorted(set(wanted) - set(chosen)):
        start = _slot(name)
        order = [(start + step) % len(_SPARE_NAMES) for step in range(len(_SPARE_NAMES))]
        spare = [_STYLES[_SPARE_NAMES[slot]] for slot in order]
        chosen[name] = next((style for style in spare if style not in used), spare[0])
        used.add(chosen[name])
    return {name: chosen[name] for name in wanted}


def known_names() -> tuple[str, ...]:
    """Return the names of the algorithms that have a predefined style."""
    return tuple(_STYLES)


def _known(name: str) -> Style | None:
    plain = name.lower().strip()
    known = _STYLES.get(_ALIASES.get(plain, plain))
    return known if known is not None else _variation(plain)


def _variation(name: str) -> Style | None:
    """Return the style of a variant such as "cubic, 2.6.24", in the colour of its algorithm.

    The result is None if the algorithm has no style.
    """
    base = _BASE.match(name)
    if base is None:
        return None
    known = _STYLES.get(_ALIASES.get(base[0], base[0]))
    if known is None:
        return None
    others = [dashes for dashes in _DASHES if dashes != known.dashes]
    markers = [marker for marker in _MARKERS if marker != known.marker]
    slot = zlib.crc32(name.encode())
    return replace(known, dashes=others[slot % len(others)], marker=markers[slot % len(markers)])


def _slot(name: str) -> int:
    return zlib.crc32(name.encode()) % len(_SPARE_NAMES)
