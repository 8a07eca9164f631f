"""List SFTP clients, with the settings that determine their speed, and sources for the settings.

The settings are the size of a request, and the maximum number of outstanding requests.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class SftpClient:
    """An SFTP client; its settings are the same for downloads and uploads."""

    title: str
    request_bytes: int
    outstanding: int
    source: str


@functools.cache
def sftp_clients() -> Mapping[str, SftpClient]:
    """Map the name of each known SFTP client to its settings."""
    path = files("cwndlab").joinpath("data", "sftp-clients.toml")
    tables = tomllib.loads(path.read_text("utf-8"))
    return {name: SftpClient(**table) for name, table in tables.items()}
