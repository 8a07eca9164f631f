"""Reading a file that a user names, up to a size, so that no device or huge file fills memory."""

from __future__ import annotations

import errno
from pathlib import Path

MOST_TEXT_BYTES = 2**26
"""Longest study, link, population or ledger that is read."""
MOST_TRACE_BYTES = 2**30
"""Longest recorded link that is read."""
_PART_BYTES = 2**20


def read_bytes(path: Path, most: int) -> bytes:
    """Return the content of a file, pipe or device of at most `most` bytes.

    Raises:
        OSError: it cannot be read, or holds more.
    """
    content = bytearray()
    with path.open("rb") as file:
        # In parts, as one call would reserve memory for the most that is asked for.
        while len(content) <= most and (part := file.read(_PART_BYTES)):
            content += part
    if len(content) > most:
        raise OSError(errno.EFBIG, f"larger than {most >> 20} MiB, the most that is read")
    return bytes(content)


def user_path(text: str) -> Path:
    """Return the path that a user writes; `~name` of an unknown user stays, as in shells."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)
