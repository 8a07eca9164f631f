"""Read and write files that users name; refuse files that are too large to keep in memory."""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import tempfile
from pathlib import Path
from typing import IO, Literal

from cwndlab.errors import ArgumentError

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Maps each byte order mark to the Python codec that decodes the file. Windows PowerShell, for
example, writes such a mark."""
MOST_TEXT_BYTES = 2**26
"""Maximum size in bytes of a text file, such as a study, a link or a prediction."""
MOST_TRACE_BYTES = 2**30
"""Maximum size in bytes of a file that contains a recording of a link (a trace)."""
_PART_BYTES = 2**20


def checked_path(
    value: object,
    name: str = "results",
    kind: str = "a folder",
    example: str = "results/demo",
) -> Path:
    """Return the argument `value` as a path; if it is a string, a leading `~` is expanded.

    Raises:
        ArgumentError: the value is not a path.
    """
    if isinstance(value, str | os.PathLike):
        path = os.fspath(value)
        if isinstance(path, str) and path and "\0" not in path and _is_encodable(path):
            return user_path(path) if isinstance(value, str) else Path(path)
    raise ArgumentError(value, name, f'give the path to {kind}, such as "{example}"')


def _is_encodable(path: str) -> bool:
    """Return whether the operating system can encode all characters of a file name."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def read_bytes(path: Path, most: int) -> bytes:
    """Return the content of a file or device that contains at most `most` bytes.

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


def write_text(path: Path, text: str, mode: Literal["w", "x"] = "w") -> None:
    """Write a text to a file; if writing fails and the file did not exist before, remove it.

    Args:
        path: the file.
        text: the content of the file.
        mode: `w` replaces an existing file, `x` refuses to replace it.

    Raises:
        OSError: the file cannot be written, or the disk is full; the error names the file.
    """
    is_new = not path.exists()
    try:
        with path.open(mode, encoding="utf-8") as file:
            file.write(text)
    except (OSError, UnicodeError) as error:
        if is_new:
            with contextlib.suppress(OSError):
                path.unlink()
        if isinstance(error, OSError):
            error.filename = error.filename or str(path)
        raise


def refuse_pipe(path: Path) -> None:
    """Refuse pipes, because cwndlab reads files several times, and a pipe may never end.

    Raises:
        OSError: the file is a pipe.
    """
    if path.is_fifo():
        raise OSError(
            errno.ESPIPE, "this is a pipe, which can be read only once; use a file instead"
        )


def open_as_utf8(path: Path) -> IO[bytes]:
    """Open a text file as UTF-8.

    If the file begins with a byte order mark, a copy in UTF-8 without the mark is opened.

    Raises:
        OSError: the file cannot be read, or the disk for temporary files is full.
    """
    file = path.open("rb")
    head = file.read(max(map(len, _MARKS)))
    file.seek(0)
    encoding = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    if encoding is None:
        return file
    copy = tempfile.TemporaryFile()  # noqa: SIM115  the caller closes it
    with io.TextIOWrapper(file, encoding=encoding, errors="replace", newline="") as text:
        while part := text.read(_PART_BYTES):
            copy.write(part.encode("utf-8", "replace"))
    copy.seek(0)
    return copy


def user_path(text: str) -> Path:
    """Return `text` as a path; a leading `~` or `~NAME` becomes a home directory, as in a shell."""
    path = Path(text)
    if not text.startswith("~"):  # "./~" is a folder in the current folder
        return path
    try:
        return path.expanduser()
    except RuntimeError:
        return path
