"""Control QEMU through its monitor, which exchanges lines of JSON (QEMU Machine Protocol, QMP)."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from cwndlab.errors import KernelRunError
from cwndlab.kernel.lines import JsonLines

if TYPE_CHECKING:
    import subprocess

OPTIONS = ("-qmp", "stdio")
"""Options with which QEMU's monitor uses QEMU's standard input and output."""
_LOOK_AGAIN_S = 0.05


class Monitor:
    """The monitor of a QEMU process that was started with `OPTIONS`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """Open the session: QEMU accepts other commands only after `qmp_capabilities`."""
        self._lines = JsonLines(process)
        self._ask("qmp_capabilities")

    def wait_until_stopped(self) -> bool:
        """Wait; return True when the guest has stopped itself, or False if QEMU ends first."""
        while (message := self._lines.read()) is not None:
            if message.get("event") == "STOP":
                return True
        return False

    def save(self, file: str) -> None:
        """Write the state of a stopped guest to a file, from which QEMU can start with `-incoming`.

        Raises:
            KernelRunError: the state could not be saved completely, for example because the disk
                is full.
        """
        self._ask("migrate-set-parameters", {"max-bandwidth": 100 << 30})
        self._ask("migrate", {"uri": f"exec:cat > {file}"})
        while (progress := self._ask("query-migrate"))["status"] != "completed":
            if progress["status"] in ("failed", "cancelled"):
                reason = progress.get("error-desc", "QEMU does not state a reason")
                msg = f"the state of the virtual machine could not be saved: {reason}"
                raise KernelRunError(msg)
            time.sleep(_LOOK_AGAIN_S)

    def resume(self) -> None:
        """Start the guest whose saved state QEMU loads with `-incoming`.

        Raises:
            KernelRunError: QEMU has ended, for example because the state is damaged.
        """
        while self._ask("query-status")["status"] == "inmigrate":
            time.sleep(_LOOK_AGAIN_S)
        self._ask("cont")

    def _ask(self, command: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a command, and return QEMU's answer; skip all events before the answer."""
        with suppress(BrokenPipeError):
            self._lines.write({"execute": command, "arguments": arguments or {}})
            while (message := self._lines.read()) is not None:
                if "error" in message:
                    msg = f"QEMU refuses {command}: {message['error']['desc']}"
                    raise KernelRunError(msg)
                if "return" in message:
                    answer: dict[str, Any] = message["return"]
                    return answer
        msg = f"QEMU ended before it answered {command}"
        raise KernelRunError(msg)
