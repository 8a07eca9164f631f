"""Exchange messages with a child process: each message is one line of JSON."""

from __future__ import annotations

import json
import os
import select
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping

_LOOK_AGAIN_S = 0.5


class JsonLines:
    """Messages to the standard input of a process, and from its standard output."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """Use the standard input and output of a process, which must be unbuffered pipes."""
        self._to = _pipe(process.stdin)
        self._from = _pipe(process.stdout)
        self._pending = b""

    def write(self, message: Mapping[str, Any]) -> None:
        """Send a message.

        Raises:
            BrokenPipeError: the process has ended.
        """
        rest = memoryview(json.dumps(message).encode() + b"\n")
        while rest:
            rest = rest[self._to.write(rest) :]

    def read(self) -> dict[str, Any] | None:
        """Wait for the next message; return None if the process has ended."""
        parts = [self._pending]
        while b"\n" not in parts[-1]:
            # Once Polars is imported, SIGINT does not end a system call: wait with a timeout.
            if not select.select([self._from], [], [], _LOOK_AGAIN_S)[0]:
                continue
            part = os.read(self._from.fileno(), 1 << 20)
            if not part:
                return None
            parts.append(part)
        line, _, self._pending = b"".join(parts).partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def close(self) -> None:
        """Close both pipes."""
        self._to.close()
        self._from.close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        msg = "the process was started without a pipe to its standard input or output"
        raise AssertionError(msg)
    return pipe
