"""Reading files that users name, up to a maximum size, to keep huge files out of memory."""

from __future__ import annotations

import errno
from pathlib import Path

MOST_TEXT_BYTES = 2**26
"""Maximum size of a study, link, population or ledger."""
MOST_TRACE_BYTES = 2**30
"""Maximum size of a recorded link."""
_PART_BYTES = 2**20


def read_bytes(path: Path, most: int) -> bytes:
    """Return the content of a file, pipe or device of at most `most` bytes.

    Raises:
        OSError: the file cannot be read, or is larger.
    """
    content = bytearray()
    with path.open("rb") as file:
        # In parts, as one call would reserve memory for the most that is asked for.
        while len(content) <= most and (part := file.read(_PART_BYTES)):
            content += part
    if len(content) > most:
        raise OSError(errno.EFBIG, f"larger than {most >> 20} MiB, the maximum that is read")
    return bytes(content)


def user_path(text: str) -> Path:
    """Return the path that a user wrote, with `~` expanded except for unknown users."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)
