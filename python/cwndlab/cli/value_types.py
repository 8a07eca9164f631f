"""Types of option values that several commands use, such as paths and durations."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cwndlab.errors import QuantityError
from cwndlab.text.files import user_path
from cwndlab.text.quantity import parse_duration, parse_rate, parse_share

if TYPE_CHECKING:
    from collections.abc import Callable


class UserPath(click.Path):
    """A path in which a leading `~` is expanded; an empty path is refused.

    Shells do not expand `~` in `--results=~/mine`. An unset shell variable results in an empty
    path; without this check, the empty path would mean the current folder.
    """

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  click's
        """Create the option type; the arguments are those of `click.Path`."""
        super().__init__(path_type=Path, **settings)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:  # noqa: ANN401  click's
        """Convert the value of the option to a path, and expand a leading `~`."""
        text = os.fspath(value)
        if not text:
            self.fail("the path is empty; give the path to a file or folder", param, ctx)
        return super().convert(user_path(text), param, ctx)


class QuantityType(click.ParamType):  # type: ignore[type-arg]  # not generic in click 8.1
    """Option type that converts a quantity such as 5 ms to an integer in the smallest unit."""

    def __init__(self, name: str, parse: Callable[[object], int]) -> None:
        """Create the option type; help texts show `name` in capital letters as the placeholder."""
        self.name = name
        self._parse = parse

    def convert(
        self,
        value: object,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        """Convert the value of the option to a whole number of the quantity's smallest unit."""
        try:
            return self._parse(value)
        except QuantityError as error:
            self.fail(str(error), param, ctx)


DURATION = QuantityType("time", parse_duration)
"""Option type for a duration; the value is converted to nanoseconds."""
RATE = QuantityType("rate", parse_rate)
"""Option type for a rate; the value is converted to bits per second."""
SHARE = QuantityType("share", parse_share)
"""Option type for a percentage; the value is converted to parts per billion."""
