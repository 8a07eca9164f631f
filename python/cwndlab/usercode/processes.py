"""Start worker processes that run users' algorithms, and report why a worker process ended."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from cwndlab.errors import BrokenAlgorithmError
from cwndlab.usercode.compiler import is_compiled_here, source_line
from cwndlab.usercode.worker import Early, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from cwndlab.usercode.worker import WorkerRequest

_GUARD_LINE = "cwndlab-guard"
_END_S = 10.0
_MAIN = "import cwndlab.usercode.worker as worker; worker.main"


class WorkerProcess(AbstractContextManager["WorkerProcess"]):
    """A worker process for users' algorithms; a request starts the process if necessary."""

    def __init__(self) -> None:
        """Create only the object; the first request starts the process."""
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._messages: IO[bytes] | None = None

    def ask(
        self,
        request: WorkerRequest,
        time_limit_s: float | None = None,
        take: Callable[[Any], None] | None = None,
    ) -> Any:  # noqa: ANN401  each request has a different type of answer
        """Send a request to the process and return its final answer.

        `take` is called with each part of the answer that arrives before the final answer.

        Raises:
            BrokenAlgorithmError: the algorithm cannot be used, or it crashed the process; the
                message states the reason.
        """
        connection = self._connection or self._start()
        try:
            connection.send(request)
            if not connection.poll(time_limit_s):
                self.close()
                msg = (
                    f"{request.files}: the algorithm did not finish within {time_limit_s:.0f} s; "
                    "check its loops"
                )
                raise BrokenAlgorithmError(msg)
            while isinstance(answer := connection.recv(), Early):
                if take is not None:
                    take(answer.content)
        except (EOFError, ConnectionError):
            raise self._end(request) from None
        if isinstance(answer, Refusal):
            raise BrokenAlgorithmError(answer.reason)
        return answer

    def close(self) -> None:
        """Kill the process, even if another thread waits for an answer from the process."""
        process = self._process
        if process is not None:
            process.kill()
            process.wait()
        self._forget()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> Connection:
        ours, theirs = socket.socketpair()
        with theirs:
            self._messages = tempfile.TemporaryFile()  # noqa: SIM115  closed when the process ends
            self._process = subprocess.Popen(  # noqa: S603  this very program
                # -P: do not import modules from the current folder, which may be a received study.
                [sys.executable, "-P", "-c", f"{_MAIN}({theirs.fileno()})"],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._messages,
            )
        self._connection = Connection(ours.detach())
        return self._connection

    def _end(self, request: WorkerRequest) -> BrokenAlgorithmError:
        """Return an error that states why the worker process ended."""
        if self._process is None or self._messages is None:
            return BrokenAlgorithmError(f"{request.files}: stopped")  # by another thread
        try:
            status = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._messages.seek(0)
        lines = self._messages.read().decode(errors="replace").splitlines()
        self._forget()
        reports = [line for line in lines if line.startswith(f"{_GUARD_LINE}\t")]
        if reports:
            return BrokenAlgorithmError(explain(reports[-1]))
        if status < 0:
            how = f"was killed by {signal.Signals(-status).name}"
        else:
            how = f"ended with status {status}{f': {lines[-1]}' if lines else ''}"
        return BrokenAlgorithmError(f"{request.files}: the worker process {how}")

    def _forget(self) -> None:
        connection, messages = self._connection, self._messages
        self._process = self._connection = self._messages = None
        with contextlib.suppress(OSError):
            if connection is not None:
                connection.close()
            if messages is not None:
                messages.close()


def explain(line: str) -> str:
    """Convert a worker's crash report to a message: source line, algorithm's hook, and fault."""
    _, source, hook, what, file, number, library, offset, example = line.split("\t")
    place = (file, int(number)) if number else None
    if place is None and is_compiled_here(library) and os.access(library, os.R_OK):
        place = source_line(library, offset)
    if place and Path(place[0]).resolve() == Path(source).resolve():
        place = (source, place[1])  # as the user wrote it
    where = f"{place[0]}:{place[1]}" if place else source
    return f"{where}: {hook} {what}{f'{chr(10)}  {example}' if example else ''}"
