"""Command-line option that names a file with a secret, such as a token or a private key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cwndlab.cli.value_types import UserPath

if TYPE_CHECKING:
    from collections.abc import Callable

Optioned = TypeVar("Optioned", bound="Callable[..., Any]")


def secret_option(name: str, description: str) -> Callable[[Optioned], Optioned]:
    """Return the option `--NAME`, whose value is a file; the default is `cwndlab.NAME`."""
    return click.option(
        f"--{name}",
        f"{name}_file",
        type=UserPath(),
        default=Path(f"cwndlab.{name}"),
        show_default=True,
        help=description,
    )
