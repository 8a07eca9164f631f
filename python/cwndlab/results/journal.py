"""Write and read a log of finished runs; readers see only complete records.

```
record = "CWNJ"  length of head (u32)  length of body (u64)  SHA-256 of head and body  head  body
```

The head is JSON; the body consists of the record's blocks, one after the other. A process that is
killed may leave an incomplete record at the end; readers ignore this record. A complete record
survives the end of the process. The log is synced to disk once a second; a synced record also
survives a failure of the machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import threading
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_PREFIX = struct.Struct("<4sIQ32s")
_MAGIC = b"CWNJ"
_SYNC_INTERVAL_S = 1.0
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """The head of a record in the log, with the offsets of the record's body and end."""

    head: Mapping[str, Any]
    body_at: int
    """Offset, in the log file, of the record's body."""
    end: int


class Journal:
    """A log that is open for writing; a context manager that closes the log on exit."""

    def __init__(self, path: Path) -> None:
        """Create a log at `path`; the file must not exist yet."""
        self.path = path
        self._file: IO[bytes] = path.open("xb", buffering=0)
        self._digest = hashlib.sha256()
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._failure: OSError | None = None

    def __enter__(self) -> Self:
        """Return this log, which is already open."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the log without a sync; the operating system writes the rest of the data later."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._file.close()

    @property
    def sha256(self) -> str:
        """SHA-256 of all bytes that were appended so far."""
        return self._digest.hexdigest()

    def append(self, head: Mapping[str, Any], blocks: Sequence[bytes] = ()) -> int:
        """Append a record to the log, and return the offset of the record's body.

        Raises:
            OSError: the record could not be written (its written part was removed), or an earlier
                record could not be synced.
        """
        text = json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode()
        digest = hashlib.sha256(text)
        for block in blocks:
            digest.update(block)
        length = sum(map(len, blocks))
        pieces = [_PREFIX.pack(_MAGIC, len(text), length, digest.digest()), text, *blocks]
        with self._lock:
            if self._failure is not None:
                raise self._failure
            begin = self._file.tell()
            try:
                for piece in pieces:
                    _write_whole(self._file, piece)
            except OSError:
                self._file.truncate(begin)
                self._file.seek(begin)
                raise
            for piece in pieces:
                self._digest.update(piece)
            if self._timer is None:
                self._timer = threading.Timer(_SYNC_INTERVAL_S, self._sync_later)
                self._timer.daemon = True
                self._timer.start()
        return begin + _PREFIX.size + len(text)

    def sync(self) -> None:
        """Sync the log: all records that were appended so far are then on disk."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
                os.fsync(self._file.fileno())
            if self._failure is not None:
                raise self._failure

    def _sync_later(self) -> None:
        with self._lock:
            self._timer = None
            if self._file.closed:
                return
            try:
                os.fsync(self._file.fileno())
            except OSError as error:
                self._failure = error


def read_records(path: Path, begin: int = 0) -> Iterator[JournalRecord]:
    """Yield the records of a log, from the offset `begin` to the first damaged record."""
    with path.open("rb") as file:
        file.seek(begin)
        while len(prefix := file.read(_PREFIX.size)) == _PREFIX.size:
            magic, head_bytes, body_bytes, wanted = _PREFIX.unpack(prefix)
            if magic != _MAGIC:
                return
            text = file.read(head_bytes)
            body_at = file.tell()
            digest = hashlib.sha256(text)
            left = body_bytes
            while left and (piece := file.read(min(left, _PIECE_BYTES))):
                digest.update(piece)
                left -= len(piece)
            if left or digest.digest() != wanted:
                return
            yield JournalRecord(json.loads(text), body_at, file.tell())


def _write_whole(file: IO[bytes], content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[file.write(view) :]
