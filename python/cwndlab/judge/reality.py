"""Report how often advice for a class of networks agreed with real networks.

`tools/make_reality.py` generates the file `data/reality.toml` from the claims of papers that
measured real networks. The file counts the claims that simulated runs can confirm or refute, and
the claims that the runs confirm. The predictions in the published ledger and in the user's own
ledger (`cwndlab.judge.ledger`) are added: a measured comparison agrees with the advice if the
advice named the better algorithm.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.judge.ledger import PUBLIC, ledger_of_user, read_ledger
from cwndlab.judge.ledger_scores import Score, score

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cwndlab.judge.ledger import LedgerEntry

_FILE = Path(__file__).parents[1] / "data" / "reality.toml"
_KINDS = {"wire": "wires", "trace": "links of varying rate", "wifi": "Wi-Fi"}


@dataclass(frozen=True, slots=True)
class Miss:
    """A class of networks for which the published predictions are not accurate enough."""

    kind: str
    score: Score


@dataclass(frozen=True, slots=True)
class Reality:
    """How often advice for one class of networks agreed with measurements."""

    kind: str
    """Readable name of the class, such as "LTE"."""
    agreed: int
    checked: int
    source: str
    misses: tuple[Miss, ...] = ()
    """Classes for which published predictions are not accurate enough, with their scores."""

    @property
    def share(self) -> float:
        """Fraction of the checked cases that agreed with measurements."""
        return self.agreed / self.checked

    def to_json(self) -> dict[str, Any]:
        """Return the numbers of checked and agreeing cases as a dictionary for JSON."""
        return {
            "class": self.kind,
            "agreed": self.agreed,
            "checked": self.checked,
            "share": self.share,
            "source": self.source,
            "misses": {each.kind: list(each.score.failures) for each in self.misses},
            "came_true": {each.kind: _came_true(each.score) for each in self.misses},
        }


def _came_true(found: Score) -> list[dict[str, float]]:
    """Return the predicted probabilities, and how often the predictions came true, for JSON."""
    return [
        {"stated": each.stated, "happened": each.happened, "comparisons": each.count}
        for each in found.bins
    ]


def reality_of(network_class: str) -> Reality | None:
    """Return how often advice for a class such as `lte` agreed with measurements; None if unknown.

    Raises:
        ResultsError: the user's ledger cannot be read, or a line of it is not valid.
    """
    claims = _records().get(network_class)
    kind = claims.kind if claims else _KINDS.get(network_class, network_class)
    published, tried = _published(network_class, kind), _of_trials(network_class, kind)
    return _sum(kind, [claims, published, tried])


@functools.cache
def _published(network_class: str, kind: str) -> Reality | None:
    """Return how often published predictions came true, and which scores are not good enough."""
    return _of_entries(read_ledger(PUBLIC), network_class, kind, "the published ledger")


def _of_trials(network_class: str, kind: str) -> Reality | None:
    """Return how often the user's own trials confirmed the advice; None if none gave a verdict."""
    found = _of_entries(read_ledger(ledger_of_user()), network_class, kind, "trials in the ledger")
    return None if found is None else replace(found, misses=())


def _of_entries(
    entries: Sequence[LedgerEntry], network_class: str, kind: str, source: str
) -> Reality | None:
    own = [each for each in entries if each.prediction.network_class == network_class]
    found = score(network_class, own)
    if not found.compared:
        return None
    misses = (Miss(kind, found),) if found.failures else ()
    return Reality(kind, int(found.agreed), found.compared, source, misses)


def _sum(kind: str, records: Iterable[Reality | None]) -> Reality | None:
    known = [each for each in records if each is not None]
    if not known:
        return None
    return Reality(
        kind=kind,
        agreed=sum(each.agreed for each in known),
        checked=sum(each.checked for each in known),
        source=", ".join(each.source for each in known),
        misses=tuple(miss for each in known for miss in each.misses),
    )


def pooled(records: Iterable[Reality | None]) -> Reality | None:
    """Add up the checked and the agreeing cases of several classes; count each class only once."""
    known = {each.kind: each for each in records if each is not None}
    return _sum(", ".join(known), known.values())


@functools.cache
def _records() -> dict[str, Reality]:
    document = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return {
        name: Reality(entry["kind"], entry["agreed"], entry["checked"], entry["source"])
        for name, entry in document.items()
        if entry["checked"]
    }
