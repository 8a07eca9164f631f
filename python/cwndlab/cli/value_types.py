"""Types of option values that several commands use: paths and quantities."""

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

    Shells do not expand `~` in `--results=~/mine`. An unset variable of a shell is an empty path,
    which would otherwise name the current folder.
    """

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  click's
        """Create the type with settings of `click.Path`."""
        super().__init__(path_type=Path, **settings)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:  # noqa: ANN401  click's
        """Return the value as a path."""
        text = os.fspath(value)
        if not text:
            self.fail("the path is empty; write the path of a file or folder", param, ctx)
        return super().convert(user_path(text), param, ctx)


class QuantityType(click.ParamType):  # type: ignore[type-arg]  # not generic in click 8.1
    """A number with a unit, which becomes a whole number of the quantity's smallest unit."""

    def __init__(self, name: str, parse: Callable[[object], int]) -> None:
        """Create the type; in capital letters, `name` is the placeholder in help texts."""
        self.name = name
        self._parse = parse

    def convert(
        self,
        value: object,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        """Return the parsed value."""
        try:
            return self._parse(value)
        except QuantityError as error:
            self.fail(str(error), param, ctx)


DURATION = QuantityType("time", parse_duration)
"""A duration, in nanoseconds."""
RATE = QuantityType("rate", parse_rate)
"""A rate, in bits per second."""
SHARE = QuantityType("share", parse_share)
"""A share, in parts per billion."""
