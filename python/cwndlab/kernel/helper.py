"""Communicate with the helper process, which executes privileged operations.

The helper process receives requests as lines of JSON. It ends when cwndlab ends. The kernel then
unloads the algorithms that the helper process loaded, except pinned algorithms.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.errors import BrokenAlgorithmError, KernelError
from cwndlab.kernel.lines import JsonLines

HELPER_REMEDY = (
    "wheels do not contain the helper; in a clone of cwndlab, run: "
    "sudo apt-get install clang libelf-dev zlib1g-dev pkg-config make; make setup"
)
if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = "cwndlab-kernel"
_ALGORITHMS_FAULT = frozenset({"object", "licence", "too_large", "verifier", "missing_hook"})
_LOG_LINES = 8
_LOOK_AGAIN_S = 1.0


def helper_path() -> Path | None:
    """Return the path of the helper program, or None if the helper has not been built."""
    path = Path(__file__).parents[1] / "helpers" / _NAME
    return path if os.access(path, os.X_OK) else None


def require_done(answer: Mapping[str, Any], file: str = "") -> None:
    """Raise an error if the helper refused a request; the message names `file` if given.

    Raises:
        BrokenAlgorithmError: the kernel refuses the algorithm; the message states the reason.
        KernelError: the helper cannot execute the request on this kernel.
    """
    if answer["answer"] == "refused":
        if answer["kind"] not in _ALGORITHMS_FAULT:
            raise KernelError(answer["message"])
        message = f"{file}: {answer['message']}" if file else answer["message"]
        lines = (message, *(f"  {line}" for line in answer["log"][-_LOG_LINES:]))
        raise BrokenAlgorithmError("\n".join(lines))


class KernelHelper(AbstractContextManager["KernelHelper"]):
    """A running helper process for loading algorithms into the kernel."""

    def __init__(self) -> None:
        """Start the helper process.

        Raises:
            KernelError: the helper has not been built.
        """
        path = helper_path()
        if path is None:
            msg = f"the helper program that loads algorithms has not been built ({HELPER_REMEDY})"
            raise KernelError(msg)
        self._process = subprocess.Popen(  # noqa: S603  our own program
            [str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self._lines = JsonLines(self._process)

    def ask(self, request: dict[str, Any], file: str = "") -> dict[str, Any]:
        """Send a request, for example to load the algorithm `file`, and return the answer.

        Raises:
            BrokenAlgorithmError: the kernel refuses the algorithm; the message states the reason.
            KernelError: the helper cannot execute the request on this machine.
        """
        answer = None
        with contextlib.suppress(BrokenPipeError):
            self._lines.write(request)
            answer = self._lines.read()
        if answer is None:
            msg = f"the helper process exited unexpectedly (status {self._process.wait()})"
            raise KernelError(msg)
        require_done(answer, file)
        return answer

    def wait(self) -> None:
        """Wait until the helper process ends or the user interrupts the command."""
        # Polars' handler of SIGINT restarts system calls, so a wait without timeout never ends.
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LOOK_AGAIN_S)
                return

    def pass_on(self) -> None:
        """If `exec` replaces cwndlab by a program, let the helper run until that program ends."""
        if self._process.stdin is not None:
            os.set_inheritable(self._process.stdin.fileno(), True)  # noqa: FBT003  its only argument

    def close(self) -> None:
        """End the helper process; the kernel then unloads all algorithms that are not pinned."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __exit__(self, *_: object) -> None:
        self.close()
