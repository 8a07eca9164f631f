"""The traces that a study names."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.errors import CwndlabError
from cwndlab.resolve.traces import Told, Trace, read_folder, read_trace
from cwndlab.schema.problems import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.schema.stage import LinkStage
    from cwndlab.text.toml import KeyPath


@dataclass(slots=True)
class TraceReader:
    """Reads the traces that a study names, and remembers which they were."""

    folder: Path
    traces: dict[str, Trace] = field(default_factory=dict)

    def read(self, key: KeyPath, wire: LinkStage) -> Trace:
        """The trace that the stage at `key` names; of a folder, that of its direction."""
        try:
            path = self._path(wire)
            if path.is_dir():
                is_up = key[0] == "reverse_link" or "reverse" in key
                trace = read_folder(path)["up" if is_up else "down"].trace
            else:
                told = Told(wire.column, wire.unit, wire.time_column, wire.time_unit)
                trace = read_trace(path, told)
        except CwndlabError as error:
            raise FieldError((*key, "trace"), str(error)) from None
        self.traces[trace.content_name] = trace
        return trace

    def delays_ns(self, link: LinkStage) -> Mapping[str, int | None]:
        """The delays `down` and `up` that a link's folder holds; none if it is no folder."""
        if link.trace is None or not self._path(link).is_dir():
            return {}
        try:
            directions = read_folder(self._path(link))
        except CwndlabError as error:
            raise FieldError(("link", "trace"), str(error)) from None
        return {name: direction.delay_ns for name, direction in directions.items()}

    def _path(self, wire: LinkStage) -> Path:
        return self.folder / Path(wire.trace or "").expanduser()
