"""The values between which an assumed figure may lie, as presets and `data/ranges.toml` have them.

```toml
[ranges.queue]
paths = ["link.cell.downlink.queue", "link.cell.uplink.queue"]
low = "150 kB"
high = "3 MB"
scale = "log"
source = "Jiang and others 2012: ..."
```
"""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from cwndlab.schema.base import Model

_FEWEST_CHOICES = 2


class Basis(Model):
    """Origin of a range or a weight: a source, invented, or partly both."""

    source: str | None = Field(default=None, description="where it stands")
    invented: str | None = Field(
        default=None, description="what has no source, and why the value was chosen"
    )

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if self.source is None and self.invented is None:
            msg = 'give a "source", or say under "invented" what has none'
            raise ValueError(msg)
        return self

    @property
    def basis(self) -> str:
        """The source, and after the word "invented" what has none."""
        invented = self.invented and f"invented: {self.invented}"
        return "; ".join(part for part in (self.source, invented) if part)


class Choice(Model):
    """One value of a key that is not a number."""

    name: str = Field(description="name of the choice")
    set: dict[str, Any] = Field(
        default={}, description="settings by path; without any, the link is unchanged"
    )


class Range(Basis):
    """The range of one key of a network: between two numbers, or one of several choices.

    All paths of a number vary together: the first one takes the value, the others keep their ratio
        to it (`log`) or their distance from it (`linear`).
    """

    paths: tuple[str, ...] = Field(
        default=(), description="paths in the study, such as link.server"
    )
    low: str | int | None = Field(default=None, description="smallest value")
    high: str | int | None = Field(default=None, description="largest value")
    unit: str = Field(
        default="", description="unit of numbers that are written without one, such as users"
    )
    scale: Literal["linear", "log"] = Field(
        default="linear",
        description="distribution; other paths keep their ratio (log) or distance (linear)",
    )
    choices: tuple[Choice, ...] = Field(
        default=(), description="values of a key that is not a number, one of which is drawn"
    )

    @model_validator(mode="after")
    def _is_a_number_or_a_choice(self) -> Self:
        is_number = bool(self.paths) and self.low is not None and self.high is not None
        has_choices = len(self.choices) >= _FEWEST_CHOICES
        has_both = bool(self.choices) and (self.low is not None or self.high is not None)
        if has_both or not (is_number or has_choices):
            msg = 'a range has "paths", "low" and "high", or at least two "choices"'
            raise ValueError(msg)
        return self

    @property
    def all_paths(self) -> tuple[str, ...]:
        """The keys of the link that it may change."""
        chosen = (path for choice in self.choices for path in choice.set)
        return tuple(dict.fromkeys((*self.paths, *chosen)))
