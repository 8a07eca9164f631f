"""A process in which algorithms of a user are loaded, and what it can be asked.

It reads requests from a socket and answers each. A crash, a trap or a loop without end ends it,
after a line on standard error that `cwndlab.usercode.processes` reads; it ends by itself when the
process that started it has gone.
"""

from __future__ import annotations

import resource
import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Protocol

from cwndlab import core
from cwndlab.errors import BrokenAlgorithmError
from cwndlab.usercode.compiler import shared_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.usercode.program import Program

_MEMORY_BYTES = 8 * 2**30

Send = Callable[[object], None]
"""Sends a part of an answer early."""


@dataclass(frozen=True, slots=True)
class DescribeProgram:
    """What is this program? Answered like an entry of the core's `algorithms()`."""

    program: Program

    @property
    def files(self) -> str:
        """Whose file is to blame if the process ends."""
        return self.program.file

    def answer(self, _send: Send) -> dict[str, Any]:
        """Load it and ask it."""
        library = shared_object(self.program)
        return dict(core.module().describe_object(library, self.program.file))


@dataclass(frozen=True, slots=True)
class CheckProgram:
    """Does this program keep to the contract? Answered by the first rule it breaks, or None."""

    program: Program
    examples: int
    seed: int
    is_module: bool

    @property
    def files(self) -> str:
        """Whose file is to blame if the process ends."""
        return self.program.file

    def answer(self, _send: Send) -> object:
        """Run the conformance suite."""
        library = shared_object(self.program)
        return core.module().check_object(
            library, self.program.file, self.examples, self.seed, self.is_module
        )


class WorkerRequest(Protocol):
    """What a process can be asked; it is sent there and answers itself."""

    @property
    def files(self) -> str:
        """Whose files are to blame if the process ends."""

    def answer(self, send: Send, /) -> object:
        """Do it; what is known early is sent before."""


@dataclass(frozen=True, slots=True)
class Early:
    """A part of an answer, which goes on."""

    content: object


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer to a request whose algorithm cannot be used; its text."""

    reason: str


def objects(programs: Mapping[str, Program]) -> dict[str, tuple[str, str]]:
    """Programs as the core wants them: shared object and source, by name."""
    return {name: (str(shared_object(program)), program.file) for name, program in programs.items()}


def main(descriptor: int) -> None:
    """Answer requests that come from a socket until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this process decides
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
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
