"""The path of a scenario: wires, a radio cell or a Wi-Fi channel as the core has made them.

The core defines its keys, units and defaults (`crates/texts`; `crates/link` reads them); this
module only accesses them. A real network is a path defined here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import PlainValidator

from cwndlab.schema.live import LivePath


class PathPart(dict[str, Any]):
    """A table of a path, whose keys are attributes; absent keys are None."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  JSON
        if name.startswith(("__", "model_")):
            raise AttributeError(name)  # of copying and of models, never a key
        return self.get(name)


def as_parts(value: object) -> Any:  # noqa: ANN401  JSON
    """Return JSON whose tables are `PathPart`s."""
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
