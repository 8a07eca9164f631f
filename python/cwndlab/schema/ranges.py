"""Define the ranges of assumed values, as written in presets and in `data/ranges.toml`.

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
    """Origin of the limits of a range, or of the weight of a class of users."""

    source: str | None = Field(
        default=None,
        description="publication or data set that is the source of the limits of a range, or of "
        "the weight of a class of users",
    )
    invented: str | None = Field(
        default=None,
        description="the values without a source (limits of a range, or a weight), and the reasons "
        "for choosing them",
    )

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if self.source is None and self.invented is None:
            msg = (
                'state the "source" of the values, or list the values without a source under '
                '"invented"'
            )
            raise ValueError(msg)
        return self

    @property
    def basis(self) -> str:
        """The source of the range's limits or of the weight, and `invented`, as one text."""
        invented = self.invented and f"invented: {self.invented}"
        return "; ".join(part for part in (self.source, invented) if part)


class Choice(Model):
    """One alternative in a range whose values are not numbers, such as TCP stacks."""

    name: str = Field(description="name of this alternative in the range, such as linux-6.1")
    set: dict[str, Any] = Field(
        default={},
        description="keys of the study that this choice sets, as PATH = VALUE; if absent, none",
    )


class Range(Basis):
    """The range of one setting of a network: an interval of numbers, or several choices.

    A number drawn from the interval is the value of the first key in `paths`. Each further key in
    `paths` keeps its ratio to the first key if `scale` is `log`, and its difference from the first
    key if `scale` is `linear`.
    """

    paths: tuple[str, ...] = Field(
        default=(), description="keys of the study, such as link.server, that vary together"
    )
    low: str | int | None = Field(default=None, description="smallest value of the range")
    high: str | int | None = Field(default=None, description="largest value of the range")
    unit: str = Field(
        default="",
        description='what the values count if they are plain numbers, such as "packets"',
    )
    scale: Literal["linear", "log"] = Field(
        default="linear",
        description="scale on which the value of the first key in `paths` is distributed "
        "uniformly; each further key keeps its ratio to the first key if the scale is log, and "
        "its difference from the first key if the scale is linear",
    )
    choices: tuple[Choice, ...] = Field(
        default=(),
        description="choices for a key whose value is not a number; one choice is drawn at random",
    )

    @model_validator(mode="after")
    def _is_a_number_or_a_choice(self) -> Self:
        is_number = bool(self.paths) and self.low is not None and self.high is not None
        has_choices = len(self.choices) >= _FEWEST_CHOICES
        has_both = bool(self.choices) and (self.low is not None or self.high is not None)
        if has_both or not (is_number or has_choices):
            msg = 'a range needs either "paths", "low" and "high", or at least two "choices"'
            raise ValueError(msg)
        return self

    @property
    def all_paths(self) -> tuple[str, ...]:
        """The keys that the range may change."""
        chosen = (path for choice in self.choices for path in choice.set)
        return tuple(dict.fromkeys((*self.paths, *chosen)))
