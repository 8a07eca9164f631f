"""Replace IP addresses and the names of machines, radio cells and operators with pseudonyms.

Each name has the same pseudonym in all files.
"""

from __future__ import annotations

import io
import ipaddress
import json
import re
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab.results.blocks import history_entries, history_frame
from cwndlab.results.tables import to_parquet

if TYPE_CHECKING:
    from collections.abc import Iterable

_PERHAPS_ADDRESS = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f:]{3,}(?:\.\d{1,3}){0,3})(?!\w)"
)
_HOST_KEYS = ("host", "server", "peer")
_CELL_COLUMNS = ("cell", "operator")
LEFT_OUT = (".pcap", ".pcapng")
"""Suffixes of packet captures. Archives omit captures, because packets contain IP addresses."""


class Pseudonyms:
    """Replaces names and IP addresses that would reveal who measured, and where."""

    def __init__(self, hosts: Iterable[str]) -> None:
        """Set `hosts`, the names of machines to replace; IP addresses are always replaced."""
        self._numbers: dict[tuple[str, str], int] = {}
        self._hosts = sorted({host for host in hosts if host}, key=len, reverse=True)
        names = "|".join(re.escape(host) for host in self._hosts)
        self._named = re.compile(rf"(?<![\w-])(?:{names})(?![\w-])") if names else None

    def text(self, text: str) -> str:
        """Return a text in which IP addresses and names of machines are replaced."""
        if self._named is not None:
            text = self._named.sub(lambda found: self._name("host", found[0]), text)
        return _PERHAPS_ADDRESS.sub(self._address, text)

    def json(self, text: str, indent: int | None = None) -> str:
        """Return a JSON text in which IP addresses and names of machines are replaced."""
        return json.dumps(self._value(json.loads(text)), indent=indent, ensure_ascii=False)

    def table(self, content: bytes) -> bytes:
        """Return a Parquet table in which the names of radio cells and operators are replaced."""
        found = pl.read_parquet(io.BytesIO(content))
        columns = [name for name in _CELL_COLUMNS if found.schema.get(name) == pl.String]
        if not columns:
            return content
        replaced = [
            pl.Series(name, [each and self._name(name, each) for each in found[name]], pl.String)
            for name in columns
        ]
        return to_parquet(found.with_columns(replaced))

    def history(self, content: bytes) -> bytes:
        """Return the table `history` after replacing IP addresses and names of machines in it."""
        entries = history_entries(pl.read_parquet(io.BytesIO(content)))
        return to_parquet(history_frame([self._value(entry) for entry in entries]))

    def _value(self, value: Any, key: str = "") -> Any:  # noqa: ANN401  whatever JSON holds
        if isinstance(value, dict):
            return {name: self._value(own, name) for name, own in value.items()}
        if isinstance(value, list):
            return [self._value(own, key) for own in value]
        if not isinstance(value, str):
            return value
        return self._name("host", value) if key in _HOST_KEYS and value else self.text(value)

    def _address(self, found: re.Match[str]) -> str:
        try:
            ipaddress.ip_address(found[0])
        except ValueError:
            return found[0]  # not an address, but for example a time of day
        return self._name("address", found[0])

    def _name(self, kind: str, name: str) -> str:
        known = self._numbers
        if (kind, name) not in known:
            known[kind, name] = 1 + sum(each == kind for each, _ in known)
        return f"{kind}-{known[kind, name]}"


def hosts_of(manifest: Iterable[dict[str, Any]]) -> set[str]:
    """Return the names of all machines in the history of runs, with and without port number."""
    named = {str(entry[key]) for entry in manifest for key in _HOST_KEYS if entry.get(key)}
    return named | {name.rpartition(":")[0] for name in named if ":" in name}
