"""Start flows and traces at random times, so that repetitions differ even on constant links."""

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
"""Maximum random delay of the start of a flow. Within a repetition, the delay of each flow is the
same for all algorithms."""


def resolve_text(link: str | Mapping[str, Any]) -> ResolvedLink:
    """Convert a link, given as text or as a table, to a network path.

    If the link names a file by a relative path, this path begins in the current folder.

    Raises:
        StudyError: `link` is not a valid link; the message names the error.
    """
    if isinstance(link, str):
        return read_link(link)[1]
    return resolve_link(Link.read(link), Path())


def randomness(resolved: ResolvedLink) -> dict[str, Any]:
    """Return the study keys that make the repetitions of a study differ from each other.

    The key `start_jitter` delays the start of each flow by a random time. If the link replays a
    recorded trace, the key `begin_within` is also returned. It makes each repetition begin at a
    random point of the trace.
    """
    keys = {"start_jitter": START_JITTER}
    lengths_s = [float(trace.info["duration_s"]) for trace in resolved.traces.values()]
    if lengths_s:
        keys["begin_within"] = f"{round(max(lengths_s) * 1000)} ms"
    return keys
