"""Random starts for links on which nothing else is random, so that repetitions differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.resolve import resolve_link
from cwndlab.schema.link import Link
from cwndlab.study.describe import read_link

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.resolve import ResolvedLink

START_JITTER = "100 ms"
"""Largest random delay of a flow's start; each repetition draws one for all algorithms."""


def resolve_text(link: str | Mapping[str, Any]) -> ResolvedLink:
    """Return the link described by a line or a table; paths are relative to the current folder.

    Raises:
        StudyError: `link` does not describe a link; the message says why.
    """
    if isinstance(link, str):
        return read_link(link)[1]
    return resolve_link(Link.read(link), Path())


def randomness(resolved: ResolvedLink) -> dict[str, Any]:
    """Return the study keys that make its repetitions differ.

    Flow starts are delayed at random; each repetition on a recorded trace begins at a different
    point of the trace.
    """
    keys = {"start_jitter": START_JITTER}
    lengths_s = [float(trace.info["duration_s"]) for trace in resolved.traces.values()]
    if lengths_s:
        keys["begin_within"] = f"{round(max(lengths_s) * 1000)} ms"
    return keys
