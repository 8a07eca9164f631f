"""Create the network path of a scenario from links, presets and recordings.

The compiled core creates the path but does not open files. `LinkFiles` opens files for the core,
and keeps the recordings that it has read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cwndlab import core
from cwndlab.errors import TraceError, read_failure
from cwndlab.resolve.presets import preset_file, read_link_file
from cwndlab.resolve.traces import (
    Told,
    Trace,
    mean_rate_bits_per_sec,
    read_folder,
    read_packet_trains,
    read_trace,
)
from cwndlab.schema.path import PathPart, as_parts
from cwndlab.schema.problems import FieldError
from cwndlab.text.files import user_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cwndlab.schema.link import Link


@dataclass(slots=True)
class LinkFiles:
    """Opens the files to which links refer: presets, link files and recordings."""

    folder: Path
    """Folder to which the file paths in the descriptions of links are relative."""
    traces: dict[str, Trace] = field(default_factory=dict)
    """The recordings that have been read, by the names that scenarios use for them."""

    def preset(self, name: str) -> tuple[str, str, str]:
        """Return the path, the folder and the content of a preset's file.

        Raises:
            CwndlabError: the preset does not exist, or its file cannot be read.
        """
        path = preset_file(name, self.folder)
        return str(path), str(path.parent.absolute()), read_link_file(path)

    def recording(
        self,
        path: str,
        column: str | None,
        unit: str | None,
        time_column: str | None,
        time_unit: str | None,
        way: str,
    ) -> tuple[str, bool, int, bool, tuple[str, int] | None]:
        """Read a recorded link from a file, or one direction (`way`) of a link from a folder.

        Returns:
            The name of the recording in scenarios; whether the recording is a Mahimahi trace; its
            mean rate in bit/s; whether `path` is a folder; and the folder's packet trains or None.

        Raises:
            TraceError: the recording cannot be read, or is not a recorded link.
        """
        place = self.folder / user_path(path)
        light = None
        try:
            is_folder = place.is_dir()
        except OSError as error:  # a name that is too long, for example
            raise TraceError(read_failure(place, error)) from None
        if is_folder:
            direction = read_folder(place)[way]
            trace, light = direction.trace, direction.light
        else:
            trace = read_trace(place, Told(column, unit, time_column, time_unit))
        self.traces[trace.content_name] = trace
        is_mahimahi = trace.kind == "mahimahi"
        mean_bits_per_sec = mean_rate_bits_per_sec(trace)
        trains = None if light is None else self._kept(light)
        return trace.content_name, is_mahimahi, mean_bits_per_sec, is_folder, trains

    def packet_trains(self, path: str) -> tuple[str, int]:
        """Read packet trains that were recorded on an idle link.

        Returns:
            Their name in scenarios, and the shortest delay of a train in nanoseconds.

        Raises:
            TraceError: the file cannot be read, or does not contain packet trains.
        """
        return self._kept(read_packet_trains(self.folder / user_path(path)))

    def _kept(self, trains: Trace) -> tuple[str, int]:
        self.traces[trains.content_name] = trains
        return trains.content_name, trains.info["shortest_delay_ns"]


def resolve_path(
    link: Link | None, reverse_link: Link | None, files: LinkFiles
) -> tuple[PathPart, bool, int]:
    """Return the network path, whether the path has a reverse link, and the server's delay.

    The delay of the server is the one-way delay between the link and the server, in nanoseconds.

    Raises:
        FieldError: a value is missing, unknown or out of range; the message names the key.
    """
    forward, reverse = (None if each is None else each.table for each in (link, reverse_link))
    path_json, has_reverse_link, server_ns, problems = core.resolve_link(forward, reverse, files)
    _refuse(problems)
    path: PathPart = as_parts(json.loads(path_json or "null"))
    return path, has_reverse_link, server_ns


def expand_link(link: Link, folder: Path) -> tuple[dict[str, Any], Mapping[str, int]]:
    """Return a table of all keys of `link` and its preset, and a mapping of the numeric values.

    In the table, abbreviated keys are replaced by their full forms. The mapping leads from the path
    of a key, such as `link.cell.user.downlink`, to its value in the smallest unit.

    Raises:
        FieldError: the preset does not exist, or its keys conflict with keys of `link`.
    """
    table, counts, problems = core.expand_link(link.table, LinkFiles(folder))
    _refuse(problems)
    return table, counts


def _refuse(problems: core.Problems) -> None:
    for key, message in problems:
        raise FieldError(key, message)
