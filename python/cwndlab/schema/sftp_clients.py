"""SFTP clients: the size of requests and how many are outstanding, with sources."""

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
    """A client with equal settings in both directions."""

    title: str
    request_bytes: int
    outstanding: int
    source: str


@functools.cache
def sftp_clients() -> Mapping[str, SftpClient]:
    """The clients that are known, by name."""
    path = files("cwndlab").joinpath("data", "sftp-clients.toml")
    tables = tomllib.loads(path.read_text("utf-8"))
    return {name: SftpClient(**table) for name, table in tables.items()}
