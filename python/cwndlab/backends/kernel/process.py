"""The helper process of kernel runs: asked in lines of JSON, gone with who asked."""

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
    """The helper's program; None if it was not built."""
    path = Path(__file__).parents[2] / "helpers" / _NAME
    return path if os.access(path, os.X_OK) else None


def obstacles_to_runs() -> list[tuple[str, str]]:
    """Why there can be no runs on this kernel, and what to do; empty if there can."""
    if sys.platform != "linux":
        return [("this is not Linux", "use the simulator")]
    found = []
    if helper_path() is None:
        found.append(("the helper was not built", REMEDY))
    if not os.path.exists("/dev/net/tun"):  # noqa: PTH110  a device
        found.append(("there is no /dev/net/tun", "sudo modprobe tun"))
    if os.geteuid() != 0:
        found.append(("only root makes namespaces and devices", "sudo cwndlab ..."))
    return found


def require_runs() -> None:
    """Refuse what needs runs on this kernel, before the first of them.

    Raises:
        KernelRunError: there can be none; says why and what to do.
    """
    require_helper()
    if obstacles := obstacles_to_runs():
        reasons = "; ".join(f"{what} ({remedy})" for what, remedy in obstacles)
        msg = f"there can be no runs on this kernel: {reasons}"
        raise KernelRunError(msg)


def require_helper() -> Path:
    """The helper's program.

    Raises:
        KernelRunError: there is none; says what to do.
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
    """A running helper. It ends, and all that it made with it, when this process does."""

    def __init__(self) -> None:
        """Start it.

        Raises:
            KernelRunError: it was not built, or this is not Linux.
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
        """The answer to a request; `waiting` is given the process that has the machine, if any.

        Raises:
            KernelRunError: it cannot be done; says why.
        """
        with contextlib.suppress(BrokenPipeError):  # what it ended of is said below
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
        msg = f"the helper of kernel runs ended unasked (exit status {self._process.wait()})"
        raise KernelRunError(msg)

    def _line(self) -> bytes:
        """Read its next line; empty if it has ended."""
        pipe = _pipe(self._process.stdout)
        parts = [self._pending]
        while b"\n" not in parts[-1]:
            # Polars lets system calls go on after a SIGINT, so none may last.
            if not select.select([pipe], [], [], _LOOK_AGAIN_S)[0]:
                continue
            part = os.read(pipe.fileno(), 1 << 20)
            if not part:
                return b""
            parts.append(part)
        line, _, self._pending = b"".join(parts).partition(b"\n")
        return line

    def close(self) -> None:
        """End it, whatever it is doing."""
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
