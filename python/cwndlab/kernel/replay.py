"""Record the kernel's calls of an algorithm's hooks (its functions); replay them in user space."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab.errors import BrokenAlgorithmError
from cwndlab.kernel.helper import KernelHelper
from cwndlab.kernel.objects import KernelProgram, kernel_object, kernel_program, replay_program
from cwndlab.usercode.compiler import executable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

CALL_COLUMNS = {
    "program": pl.String,
    "argument": pl.UInt32,
    "phase": pl.UInt32,
    "t_us": pl.Int64,
    "snd_una": pl.Int64,
    "snd_nxt": pl.Int64,
}
"""Columns of the table that `recorded_calls` returns and explains."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Differences between the kernel's calls of an algorithm and their replay in user space."""

    calls: Mapping[str, int]  # by program, such as cubic_cong_avoid
    mismatches: int
    differences: tuple[Mapping[str, Any], ...]  # the first differences

    @property
    def total(self) -> int:
        """Total number of replayed calls."""
        return sum(self.calls.values())


class CallRecorder:
    """Loads an algorithm into the kernel and records every call of its hooks (functions)."""

    def __init__(
        self,
        reference: str,
        folder: Path,
        recording: Path,
        parameters: Mapping[str, int] | None = None,
        *,
        seed: int | None = None,
    ) -> None:
        """Load the algorithm and start recording; `seed` determines the algorithm's random numbers.

        Raises:
            AlgorithmError: the algorithm does not compile, or the kernel refuses it; the message
                states the reason.
            KernelError: this kernel does not support loading algorithms, this user may not load
                them, or the file `recording` cannot be written.
        """
        self.program: KernelProgram = kernel_program(
            reference, folder, parameters, is_recording=True, seed=seed
        )
        self._helper = KernelHelper()
        try:
            self._helper.ask(
                {
                    "do": "load",
                    "object": str(kernel_object(self.program.program)),
                    "name": self.program.name,
                    "parameters": dict(self.program.parameters),
                    "seed": self.program.seed,
                }
            )
            self._helper.ask({"do": "record", "name": self.program.name, "file": str(recording)})
        except BaseException:
            self._helper.close()
            raise

    def finish(self) -> int:
        """Stop recording, unload the algorithm, and return the number of recorded calls."""
        try:
            answer = self._helper.ask({"do": "stop_recording", "name": self.program.name})
        finally:
            self._helper.close()
        return int(answer["calls"])


def recorded_calls(reference: str, folder: Path, recording: Path) -> pl.DataFrame:
    """Return the recorded calls of an algorithm's hooks, one row for each call.

    The columns are the name of the hook's program, such as `cubic_cong_avoid`; the hook's argument
    after the socket; the number of the phase that the call reported with `cc_phase` (0 if none);
    the kernel's monotonic time in microseconds; and `snd_una` and `snd_nxt` after the call.

    Raises:
        AlgorithmError: the algorithm does not compile.
        BrokenAlgorithmError: the recording cannot be read; the message states the reason.
    """
    return pl.read_csv(_run(reference, folder, recording, ["--list"]).encode(), schema=CALL_COLUMNS)


def replay(
    reference: str, folder: Path, recording: Path, parameters: Mapping[str, int] | None = None
) -> Replay:
    """Replay recorded calls in a user-space build of the same algorithm.

    Raises:
        AlgorithmError: the algorithm does not compile.
        BrokenAlgorithmError: the calls cannot be replayed; the message states the reason.
    """
    settings = [f"{name}={value}" for name, value in (parameters or {}).items()]
    written = _run(reference, folder, recording, settings)
    lines = [json.loads(line) for line in written.splitlines()]
    programs = [line for line in lines if "program" in line]
    return Replay(
        {line["program"]: line["calls"] for line in programs},
        sum(line["mismatches"] for line in programs),
        tuple(line["difference"] for line in lines if "difference" in line),
    )


def _run(reference: str, folder: Path, recording: Path, arguments: Sequence[str]) -> str:
    program = executable(replay_program(reference, folder))
    with recording.open("rb") as calls:
        done = subprocess.run(  # noqa: S603  our own program around the user's algorithm
            [str(program), *arguments], stdin=calls, capture_output=True, text=True, check=False
        )
    if done.returncode not in (0, 1):
        raise BrokenAlgorithmError(
            done.stderr.strip() or f"the replay program failed with exit status {done.returncode}"
        )
    return done.stdout
