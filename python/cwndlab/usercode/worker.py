"""Run users' algorithms in a worker process, which answers requests.

Before the first request, the worker drops all rights that an algorithm does not need
(`crates/sandbox`). The worker can compute, and can read the folders of Python and of compiled
algorithms, but cannot open other files, open connections or start processes. A crash, a failed
check or an endless loop ends the worker. Before the worker ends, it writes the cause to standard
error as one line, which `cwndlab.usercode.processes` reads. The worker exits when its parent
process has ended.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Protocol

from cwndlab import core
from cwndlab.errors import BrokenAlgorithmError
from cwndlab.usercode.compiler import objects_folder

_SYSTEM = (
    "/usr",
    "/lib",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/vm",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/sys/kernel/mm",
    "/dev/null",
    "/dev/urandom",
)

Send = Callable[[object], None]
"""Function that sends a part of an answer before the final answer is sent."""


@dataclass(frozen=True, slots=True)
class DescribeProgram:
    """Request for a description of a compiled algorithm, as in `cwndlab._core.algorithms()`."""

    library: str
    """Path of the algorithm's compiled file (shared object)."""
    files: str
    """Path of the algorithm's source file, for the error message if the process crashes."""

    def answer(self, _send: Send) -> dict[str, Any]:
        """Load the algorithm and return its description."""
        return dict(core.module().describe_object(self.library, self.files))


@dataclass(frozen=True, slots=True)
class CheckProgram:
    """Request to run the conformance checks on a compiled algorithm."""

    library: str
    """Path of the algorithm's compiled file (shared object)."""
    files: str
    """Path of the algorithm's source file, for the error message if the process crashes."""
    examples: int
    seed: int
    is_module: bool

    def answer(self, _send: Send) -> object:
        """Run the checks; return the first violation (hook, rule and example), or None."""
        return core.module().check_object(
            self.library, self.files, self.examples, self.seed, self.is_module
        )


class WorkerRequest(Protocol):
    """A request that the worker process can execute."""

    @property
    def files(self) -> str:
        """Source files of the algorithms in use; the error message after a crash names them."""

    def answer(self, send: Send, /) -> object:
        """Execute the request and return the final answer; pass earlier parts to `send`."""


@dataclass(frozen=True, slots=True)
class Early:
    """A part of an answer, sent ahead of the final answer."""

    content: object


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer from the worker process that states why an algorithm cannot be used."""

    reason: str


def is_confining() -> bool:
    """Return whether the kernel supports all features that confine a worker process."""
    return all(is_there for _, is_there in core.module().protections())


def _readable() -> list[str]:
    """Return the files and folders that a worker process must be able to read."""
    return [
        *_SYSTEM,
        *dict.fromkeys([sys.prefix, sys.base_prefix, *filter(None, sys.path)]),
        str(objects_folder()),
    ]


def main(descriptor: int) -> None:
    """Confine this process, then answer requests from a socket until the socket is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process decides when to end it
    sys.dont_write_bytecode = True
    core.module().confine_worker(_readable())
    connection = Connection(descriptor)
    while True:
        try:
            request: WorkerRequest = connection.recv()
        except (EOFError, ConnectionError):
            return
        answer: object
        try:
            answer = request.answer(lambda content: connection.send(Early(content)))
        except (BrokenAlgorithmError, ValueError) as error:
            answer = Refusal(str(error))
        connection.send(answer)
