"""Name the place at which a study has a problem: a line of the study file, or an argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from cwndlab.text.toml import TomlSource, describe, inside_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.text.toml import KeyPath


class Source(Protocol):
    """The origin of a study (file or arguments); its messages tell where a problem is."""

    def problem(self, key: KeyPath, message: str) -> str:
        """Return a message that states the place of a problem, the value there, and the problem."""


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call or of a command line, as the source of a study."""

    document: Mapping[str, Any]

    def problem(self, key: KeyPath, message: str) -> str:
        """Return a message that states the argument, its value and the problem."""
        if not key or (message.startswith("unknown ") and '"' in message.partition(";")[0]):
            return message  # the message contains the value already
        if key[0] == "factors" and key[1:2] not in ((), ("zip",), ("include",), ("exclude",)):
            place = ".".join(str(part) for part in key[1:2])
            return f"{describe({place: _inside(self.document, key[:2])}, key[1:])}\n  {message}"
        inside = inside_text(self.document, key, message)
        return f"{describe(self.document, key)}\n  {inside}"


def _inside(document: Mapping[str, Any], key: KeyPath) -> object:
    """Return the value at a key path in a document; the path must exist."""
    value: Any = document
    for part in key:
        value = value[part]
    return value


@dataclass(frozen=True)
class StudyFile:
    """A study file: its table [study] contains all keys whose values are not tables."""

    toml: TomlSource

    def problem(self, key: KeyPath, message: str) -> str:
        """Return a message that states file, line, key, value and problem."""
        return self.toml.problem(self._written(key), message)

    def _written(self, key: KeyPath) -> KeyPath:
        """Convert a key's path in the parsed document to its path in the text of the study file."""
        lines = self.toml.lines
        if key[:1] not in lines and ("study", *key[:1]) in lines:
            return ("study", *key)
        if len(key) > 1 and key[0] == "factors" and key[:2] not in lines:
            return ("factors", *str(key[1]).split("."), *key[2:])
        return key
