"""Agreement of advice for a class of networks with measurements of real ones.

The record is `data/reality.toml`, made by `tools/make_reality.py` from the claims of papers that
measured real networks: a claim that our runs decide agrees or does not.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_FILE = Path(__file__).parents[1] / "data" / "reality.toml"


@dataclass(frozen=True, slots=True)
class Reality:
    """The record of one class of networks."""

    kind: str
    """The class, as a reader knows it, such as "LTE"."""
    agreed: int
    checked: int
    source: str

    @property
    def share(self) -> float:
        """Share of agreements."""
        return self.agreed / self.checked

    def to_json(self) -> dict[str, Any]:
        """Return the record for programs."""
        return {
            "class": self.kind,
            "agreed": self.agreed,
            "checked": self.checked,
            "share": self.share,
            "source": self.source,
        }


def reality_of(radio: str | None) -> Reality | None:
    """Return the record of a class of networks (`lte`, `hspa`, `nr`, `wifi`); None without one."""
    return _records().get(radio or "")


def pooled(records: Iterable[Reality | None]) -> Reality | None:
    """Return the record of classes together, each counted once; None where none has one."""
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
