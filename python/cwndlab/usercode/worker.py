"""The worker process, which loads a user's algorithms, and the requests that it answers.

Before the first request, the worker gives up all rights that an algorithm does not need
(`crates/sandbox`): it can compute, and read the folders of Python and of compiled algorithms, but
it cannot open other files or connections or start processes. A crash, a trap or an endless loop
ends the worker, after a line on standard error that `cwndlab.usercode.processes` reads. The worker
exits when its parent process has ended.
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
"""Function that sends a part of an answer before the rest."""


@dataclass(frozen=True, slots=True)
class DescribeProgram:
    """Describe a compiled program, in the form of an entry in the core's `algorithms()`."""

    library: str
    """Path of the shared object."""
    files: str
    """Path of the source, named if the process dies."""

    def answer(self, _send: Send) -> dict[str, Any]:
        """Load the algorithm and return its description."""
        return dict(core.module().describe_object(self.library, self.files))


@dataclass(frozen=True, slots=True)
class CheckProgram:
    """Run the conformance suite; answer with the first rule that the program breaks, or None."""

    library: str
    """Path of the shared object."""
    files: str
    """Path of the source, named if the process dies."""
    examples: int
    seed: int
    is_module: bool

    def answer(self, _send: Send) -> object:
        """Run the suite."""
        return core.module().check_object(
            self.library, self.files, self.examples, self.seed, self.is_module
        )


class WorkerRequest(Protocol):
    """A request that is carried out in the worker process."""

    @property
    def files(self) -> str:
        """Files of the algorithms in use; an error names these files if the process dies."""

    def answer(self, send: Send, /) -> object:
        """Carry out the request; early parts of the answer are sent first."""


@dataclass(frozen=True, slots=True)
class Early:
    """A part of an answer; more parts follow."""

    content: object


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer if an algorithm cannot be used, with the reason."""

    reason: str


def is_confining() -> bool:
    """Return whether the kernel can confine a process completely."""
    return all(is_there for _, is_there in core.module().protections())


def _readable() -> list[str]:
    """Return the files and folders that Python, its packages and the simulator have to read."""
    return [
        *_SYSTEM,
        *dict.fromkeys([sys.prefix, sys.base_prefix, *filter(None, sys.path)]),
        str(objects_folder()),
    ]


def main(descriptor: int) -> None:
    """Answer requests from a socket until the socket is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this process decides
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
