"""Compare algorithms separately for each direction, network setting and place of measurement."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from cwndlab import stats
from cwndlab.judge.cell import Comparison
from cwndlab.judge.comparison import ResultsLike, compare
from cwndlab.schema.direction import Direction
from cwndlab.text.wording import format_number, join_words, quoted

_SEVERAL = 2
_GOODPUT = "goodput_mbit_s"


@dataclass(frozen=True)
class DirectionComparisons:
    """Comparisons of algorithms in all network settings, for one direction of the data."""

    name: str
    """Direction of the data, as named in the table of flows: `forward` or `reverse`."""
    comparisons: tuple[Comparison, ...]

    @property
    def short_title(self) -> str:
        """Name of the direction in study files: `downlink` or `uplink`."""
        return Direction.of(self.name).title

    @property
    def title(self) -> str:
        """Text that names the direction and the sender, such as "uplink (the client sends)"."""
        return "uplink (the client sends)" if self.name == "reverse" else (
            "downlink (the server sends)"
        )  # fmt: skip


def compare_directions(
    results: ResultsLike,
    *,
    beside: pl.DataFrame,
    smallest_effect: float = stats.SMALLEST_EFFECT,
) -> tuple[DirectionComparisons, ...]:
    """Return comparisons of the algorithms for each direction in which one of them sent data.

    `beside` contains further columns for the table of flows, as computed by
    `cwndlab.judge.measures.measures_of_flows`.
    """
    flows = results.flows()
    if flows.is_empty():
        return ()
    found = []
    for name in flows["direction"].unique(maintain_order=True).to_list():
        comparisons = compare(
            results,
            smallest_effect=smallest_effect,
            direction=name,
            beside=beside,
        )
        if comparisons:
            found.append(DirectionComparisons(name, tuple(comparisons)))
    return tuple(found)


def between_places(comparison: Comparison, comparisons: Sequence[Comparison]) -> str:
    """Return a sentence on how much goodput varies between places, or "" for a single place.

    Only those `comparisons` count whose network setting equals that of `comparison`, apart from the
    place.
    """
    rest = _but_place(comparison)
    places = [each for each in comparisons if _but_place(each) == rest]
    if len(rest) == len(comparison.cell) or len(places) < _SEVERAL:
        return ""
    parts = []
    for name in comparison.contestants:
        intervals = [each.interval(name, _GOODPUT) for each in places if name in each.contestants]
        means = np.array([each.estimate for each in intervals if each is not None])
        if len(means) >= _SEVERAL and means.mean() > 0:
            variation = format_number(float(100 * means.std(ddof=1) / means.mean()), 2)
            parts.append(f"{quoted(name)} {variation} %")
    if not parts:
        return ""
    return (
        f"Variation of goodput between the {len(places)} places (relative standard deviation): "
        f"{join_words(parts)}."
    )


def _but_place(comparison: Comparison) -> dict[str, object]:
    is_place = {"place", "live.place"}
    return {key: value for key, value in comparison.cell.items() if key not in is_place}
