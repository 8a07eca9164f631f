"""Represent the path of a scenario, as the Rust core produces it: wires, a cell or Wi-Fi.

The core defines the keys, units and defaults of a path in `crates/texts`;
this module only gives access to them. Only the path of a real network is defined in Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import PlainValidator

from cwndlab.schema.live import LivePath


class PathPart(dict[str, Any]):
    """A table in a scenario's network path; `table.key` is a key's value, or None."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  JSON
        if name.startswith(("__", "model_")):
            raise AttributeError(name)  # looked up by copy and pydantic, never a key
        return self.get(name)


def as_parts(value: object) -> Any:  # noqa: ANN401  JSON
    """Return a JSON value with all tables converted to `PathPart`."""
    if isinstance(value, Mapping):
        return PathPart({str(key): as_parts(inner) for key, inner in value.items()})
    if isinstance(value, list | tuple):
        return [as_parts(inner) for inner in value]
    return value


def _as_path(value: object) -> PathPart | LivePath:
    if isinstance(value, LivePath):
        return value
    if isinstance(value, Mapping) and value.get("kind") != "live":
        path: PathPart = as_parts(value)
        return path
    return LivePath.model_validate(value)


Path = Annotated[PathPart | LivePath, PlainValidator(_as_path)]
