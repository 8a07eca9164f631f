"""Read files that users name, and refuse files that are too large to keep in memory."""

from __future__ import annotations

import errno
from pathlib import Path

MOST_TEXT_BYTES = 2**26
"""Maximum size in bytes of a text file, such as a study, a link or a prediction."""
MOST_TRACE_BYTES = 2**30
"""Maximum size in bytes of a file that contains a recording of a link (a trace)."""
_PART_BYTES = 2**20


def read_bytes(path: Path, most: int) -> bytes:
    """Return the content of a file or device, if it does not exceed `most` bytes.

    Raises:
        OSError: the file cannot be read, is a pipe, or contains more than `most` bytes.
    """
    refuse_pipe(path)
    content = bytearray()
    with path.open("rb") as file:
        # Read in parts, because a single call would reserve memory for the maximum size.
        while len(content) <= most and (part := file.read(_PART_BYTES)):
            content += part
    if len(content) > most:
        raise OSError(errno.EFBIG, f"larger than {most >> 20} MiB, the maximum file size")
    return bytes(content)


def refuse_pipe(path: Path) -> None:
    """Refuse a pipe: cwndlab reads files several times, and a pipe without a writer never ends.

    Raises:
        OSError: the path is that of a pipe.
    """
    if path.is_fifo():
        raise OSError(
            errno.ESPIPE, "this is a pipe, which can be read only once; use a file instead"
        )


def user_path(text: str) -> Path:
    """Return a user's text as a path; expand `~` if it names a known user."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)
