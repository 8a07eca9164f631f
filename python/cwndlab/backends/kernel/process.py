"""Communicate with the helper process, which receives requests for runs as lines of JSON."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.errors import KernelRunError
from cwndlab.kernel.lines import JsonLines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

REMEDY = "in a clone of cwndlab, run: make setup"
_NAME = "cwndlab-testbed"


def helper_path() -> Path | None:
    """Return the path of the helper program, or None if the helper has not been built."""
    path = Path(__file__).parents[2] / "helpers" / _NAME
    return path if os.access(path, os.X_OK) else None


def obstacles_to_runs() -> list[tuple[str, str]]:
    """Return why runs on this kernel are impossible, with a remedy; [] if they are possible."""
    if sys.platform != "linux":
        return [("this machine does not run Linux", "use the simulator")]
    path = helper_path()
    if path is None:
        return [("cwndlab's helper program has not been built", REMEDY)]
    checked = subprocess.run(  # noqa: S603  our own program
        [str(path), "check"],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    if checked.returncode == 0:
        return []
    what, _, remedy = checked.stdout.strip().partition("\n")
    what = what or f"cwndlab's helper program exited with status {checked.returncode}"
    return [(what, remedy or REMEDY)]


def require_runs() -> None:
    """Raise an error if runs on this kernel are not possible.

    Raises:
        KernelRunError: runs are not possible; the message states the reasons and the remedies.
    """
    require_helper()
    if obstacles := obstacles_to_runs():
        reasons = "; ".join(f"{what} ({remedy})" for what, remedy in obstacles)
        msg = f"this machine cannot run studies on its kernel: {reasons}"
        raise KernelRunError(msg)


def require_helper() -> Path:
    """Return the path of the helper program.

    Raises:
        KernelRunError: the helper has not been built, or this machine does not run Linux; the
            message states the remedy.
    """
    if sys.platform != "linux":
        msg = "runs on the kernel need Linux; use the simulator instead (--backend sim)"
        raise KernelRunError(msg)
    path = helper_path()
    if path is None:
        msg = f"the helper program for runs on the kernel has not been built ({REMEDY})"
        raise KernelRunError(msg)
    return path


class RunsHelper(AbstractContextManager["RunsHelper"]):
    """A running helper process.

    When cwndlab ends, the helper process ends, and with it the namespaces that it has created.
    """

    def __init__(self) -> None:
        """Start the helper process.

        Raises:
            KernelRunError: the helper has not been built, or this machine does not run Linux.
        """
        self._process = subprocess.Popen(  # noqa: S603  our own program
            [str(require_helper())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            process_group=0,  # Ctrl-C interrupts the command, but not the helper
        )
        self._lines = JsonLines(self._process)

    def ask(
        self, request: Mapping[str, Any], waiting: Callable[[str], None] = lambda _: None
    ) -> dict[str, Any]:
        """Send a request to the helper process, and return its answer.

        Only one process at a time can make runs in this machine's kernel. If the request has to
        wait for another process, `waiting` is called with a description of that process.

        Raises:
            KernelRunError: the helper cannot execute the request; the message states the reason.
        """
        with contextlib.suppress(BrokenPipeError):  # the error below contains the exit status
            self._lines.write(request)
        while (answer := self._lines.read()) is not None:
            match answer.pop("answer"):
                case "waiting":
                    waiting(answer["owner"])
                case "refused":
                    raise KernelRunError(answer["message"])
                case _:
                    return answer
        msg = (
            "cwndlab's helper program for kernel runs exited unexpectedly (status "
            f"{self._process.wait()})"
        )
        raise KernelRunError(msg)

    def close(self) -> None:
        """Kill the helper process, even during a request."""
        self._process.kill()
        self._process.wait()
        self._lines.close()

    def __exit__(self, *_: object) -> None:
        self.close()
