"""The helper process for kernel runs: it reads requests as JSON lines and ends with its caller."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from cwndlab.errors import KernelRunError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

REMEDY = "in a clone, run: make setup"
_NAME = "cwndlab-testbed"
_LOOK_AGAIN_S = 0.5


def helper_path() -> Path | None:
    """Return the path of the helper; None if the helper was not built."""
    path = Path(__file__).parents[2] / "helpers" / _NAME
    return path if os.access(path, os.X_OK) else None


def obstacles_to_runs() -> list[tuple[str, str]]:
    """Return why runs on this kernel are not possible, each with a remedy; empty if they are."""
    if sys.platform != "linux":
        return [("this is not Linux", "use the simulator")]
    found = []
    if helper_path() is None:
        found.append(("the helper was not built", REMEDY))
    if not os.path.exists("/dev/net/tun"):  # noqa: PTH110  a device
        found.append(("/dev/net/tun does not exist", "sudo modprobe tun"))
    if os.geteuid() != 0:
        found.append(("only root can create namespaces and devices", "sudo cwndlab ..."))
    return found


def require_runs() -> None:
    """Raise an error, before the first run, if runs on this kernel are not possible.

    Raises:
        KernelRunError: runs are not possible; the message says why and what to do.
    """
    require_helper()
    if obstacles := obstacles_to_runs():
        reasons = "; ".join(f"{what} ({remedy})" for what, remedy in obstacles)
        msg = f"this machine cannot run studies on its kernel: {reasons}"
        raise KernelRunError(msg)


def require_helper() -> Path:
    """Return the path of the helper.

    Raises:
        KernelRunError: there is no helper; the message says what to do.
    """
    if sys.platform != "linux":
        msg = "the kernel backend needs Linux; the simulator does not (--backend sim)"
        raise KernelRunError(msg)
    path = helper_path()
    if path is None:
        msg = f"the helper for runs on the kernel was not built ({REMEDY})"
        raise KernelRunError(msg)
    return path


class RunsHelper(AbstractContextManager["RunsHelper"]):
    """A running helper, which ends with this process; everything that it created is removed."""

    def __init__(self) -> None:
        """Start the helper.

        Raises:
            KernelRunError: the helper was not built, or this is not Linux.
        """
        self._process = subprocess.Popen(  # noqa: S603  our own program
            [str(require_helper())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            process_group=0,  # Ctrl-C goes to the command, not to this process
        )
        self._pending = b""

    def ask(
        self, request: Mapping[str, Any], waiting: Callable[[str], None] = lambda _: None
    ) -> dict[str, Any]:
        """Return the answer; `waiting` is called with the process that uses the machine now.

        Raises:
            KernelRunError: the request cannot be done; the message says why.
        """
        with contextlib.suppress(BrokenPipeError):  # the error below gives its exit status
            pipe = _pipe(self._process.stdin)
            rest = memoryview(json.dumps(request).encode() + b"\n")
            while rest:
                rest = rest[pipe.write(rest) :]
        while line := self._line():
            answer: dict[str, Any] = json.loads(line)
            match answer.pop("answer"):
                case "waiting":
                    waiting(answer["owner"])
                case "refused":
                    raise KernelRunError(answer["message"])
                case _:
                    return answer
        msg = f"the helper for kernel runs exited unexpectedly (status {self._process.wait()})"
        raise KernelRunError(msg)

    def _line(self) -> bytes:
        """Read the process's next line; empty if the process has ended."""
        pipe = _pipe(self._process.stdout)
        parts = [self._pending]
        while b"\n" not in parts[-1]:
            # With Polars, system calls continue after a SIGINT, so no call may block for long.
            if not select.select([pipe], [], [], _LOOK_AGAIN_S)[0]:
                continue
            part = os.read(pipe.fileno(), 1 << 20)
            if not part:
                return b""
            parts.append(part)
        line, _, self._pending = b"".join(parts).partition(b"\n")
        return line

    def close(self) -> None:
        """End the process, even during a request."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            _pipe(pipe).close()

    def __exit__(self, *_: object) -> None:
        self.close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        msg = "a helper without pipes"
        raise AssertionError(msg)
    return pipe
