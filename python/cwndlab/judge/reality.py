"""Agreement of advice for a class of networks with measurements of real networks.

The record is `data/reality.toml`, which `tools/make_reality.py` generates from the claims of papers
that measured real networks: each claim that simulated runs can decide either agrees or disagrees
with these runs. The user's own trials (`cwndlab.judge.ledger`) are included: a trial agrees with
the advice if the advice named the better algorithm.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.judge.ledger import ledger_of_user, read_ledger

if TYPE_CHECKING:
    from collections.abc import Iterable

_FILE = Path(__file__).parents[1] / "data" / "reality.toml"


@dataclass(frozen=True, slots=True)
class Reality:
    """Number of cases in which advice for one class of networks agreed with measurements."""

    kind: str
    """Readable name of the class, such as "LTE"."""
    agreed: int
    checked: int
    source: str

    @property
    def share(self) -> float:
        """Fraction of the checked claims that agreed."""
        return self.agreed / self.checked

    def to_json(self) -> dict[str, Any]:
        """Return the record as a dictionary, for JSON."""
        return {
            "class": self.kind,
            "agreed": self.agreed,
            "checked": self.checked,
            "share": self.share,
            "source": self.source,
        }


def reality_of(radio: str | None) -> Reality | None:
    """Return the record of a class (`lte`, `hspa`, `nr`, `wifi`); return None without a record.

    Raises:
        ResultsError: the user's ledger is damaged.
    """
    shipped = _records().get(radio or "")
    tried = _of_trials(radio or "wire", shipped.kind if shipped else "")
    if shipped is None or tried is None:
        return shipped or tried
    return Reality(
        shipped.kind,
        shipped.agreed + tried.agreed,
        shipped.checked + tried.checked,
        f"{shipped.source}, {tried.source}",
    )


def _of_trials(network_class: str, kind: str) -> Reality | None:
    """Return the record of the user's own decided trials; return None without such trials."""
    likely = 0.5
    agreements = [
        (each.prediction.probability > likely) == each.has_gained
        for each in read_ledger(ledger_of_user())
        if each.prediction.network_class == network_class and each.has_gained is not None
    ]
    if not agreements:
        return None
    named = kind or {"wire": "wires", "wifi": "Wi-Fi"}.get(network_class, network_class)
    return Reality(named, sum(agreements), len(agreements), "trials in the ledger")


def pooled(records: Iterable[Reality | None]) -> Reality | None:
    """Combine the records of several classes, counting each class once; None without records."""
    known = {each.kind: each for each in records if each is not None}
    if not known:
        return None
    return Reality(
        kind=", ".join(known),
        agreed=sum(each.agreed for each in known.values()),
        checked=sum(each.checked for each in known.values()),
        source=", ".join(each.source for each in known.values()),
    )


@functools.cache
def _records() -> dict[str, Reality]:
    document = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return {
        name: Reality(entry["kind"], entry["agreed"], entry["checked"], entry["source"])
        for name, entry in document.items()
        if entry["checked"]
    }
