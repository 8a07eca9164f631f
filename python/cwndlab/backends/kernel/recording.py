"""Execute runs on this machine's kernel, and record every call of the sender's algorithm.

The samples of a run show the state of the socket at regular times. The recorded calls also show
the algorithm's phases, each ACK and each undo of a window reduction, with the kernel's time
stamps.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab.backends.kernel.executor import KernelExecutor, Tools
from cwndlab.backends.kernel.process import RunsHelper
from cwndlab.backends.kernel.tracing import Tracer
from cwndlab.kernel.replay import CallRecorder, recorded_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from cwndlab.run.executor import Batch, Task

_RECEIVER = "reno"
"""Algorithm of the receiver. Calls to its hooks are not recorded: the receiver sends no data."""


class RecordingExecutor(KernelExecutor):
    """An executor for runs with one flow; it records calls to hooks of the sender's algorithm."""

    def __init__(self, algorithm: str) -> None:
        """Create an executor that records `algorithm`, given by its name or its file."""
        super().__init__()
        self._algorithm = algorithm
        self.calls = pl.DataFrame()
        """Calls to hooks of the sender's algorithm in the last run; format: see `call_table`."""

    def batches(self, tasks: Iterable[Task]) -> Iterator[Batch]:
        """Execute all tasks one after the other."""
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="cwndlab-"))
            helper = _RecordingHelper(
                stack.enter_context(RunsHelper()), self._algorithm, Path(folder) / "calls"
            )
            tools = Tools(helper, NoNames(), stack.enter_context(Tracer()))
            for task in tasks:
                batch = self._compute(tools, task)
                self.calls = helper.calls
                yield batch


class NoNames:
    """Returns no names of algorithms: `_RecordingHelper` adds the recorded algorithm's name."""

    def of(
        self, _scenario: Mapping[str, Any], _programs: Mapping[str, Any] | None = None
    ) -> dict[str, str]:
        """Return no names."""
        return {}


class _RecordingHelper:
    """A helper that executes a run and records each call to hooks of the sender's algorithm."""

    def __init__(self, helper: RunsHelper, algorithm: str, file: Path) -> None:
        self._helper = helper
        self._algorithm = algorithm
        self._file = file
        self.calls = pl.DataFrame()

    def ask(
        self, request: Mapping[str, Any], waiting: Callable[[str], None] = lambda _: None
    ) -> dict[str, Any]:
        scenario, sender = with_plain_receiver(request["scenario"])
        # Another process may record the same algorithm, which the kernel takes only once.
        self._helper.ask({"do": "hold", "owner": request["owner"]}, waiting)
        recorder = None
        try:
            recorder = CallRecorder(
                self._algorithm,
                Path(),
                self._file,
                sender.get("parameters"),
                seed=scenario["seed"],
            )
            answer = self._helper.ask(
                {
                    **request,
                    "scenario": scenario,
                    "kernel_names": {sender["algorithm"]: recorder.program.name},
                    "is_held": True,
                }
            )
        finally:
            if recorder is not None:
                recorder.finish()
            self._helper.ask({"do": "release"})
        calls = recorded_calls(self._algorithm, Path(), self._file)
        self.calls = call_table(calls, answer["kernel"]["began_ns"])
        return answer


def with_plain_receiver(scenario: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a copy of the scenario, and the sender of the scenario's only flow.

    In the copy, the receiver uses `reno`.
    """
    (flow,) = scenario["flows"]
    receiver = flow["receiver"] | {"algorithm": _RECEIVER, "parameters": {}}
    return {**scenario, "flows": [flow | {"receiver": receiver}]}, flow["sender"]


def call_table(calls: pl.DataFrame, began_ns: int) -> pl.DataFrame:
    """Return recorded calls, with times in seconds since the start of the run.

    Sequence numbers are relative to the connection's first sequence number, so they do not wrap
    around within 4 GB. Calls during the handshake, before the call of `init`, are omitted.
    """
    begins = calls["program"].str.ends_with("_init").arg_max() if len(calls) else None
    calls = calls.slice(begins or 0)
    first = calls["snd_una"][0] if len(calls) else 0
    return calls.with_columns(
        (pl.col("t_us") / 1e6 - began_ns / 1e9).alias("t_s"),
        *(((pl.col(name) - first) % (1 << 32)).alias(name) for name in ("snd_una", "snd_nxt")),
    )


def phases_of(calls: pl.DataFrame) -> pl.DataFrame:
    """Return the time `t_s` and the new `phase` of each change of the algorithm's phase."""
    reported = calls.filter(pl.col("phase") > 0)
    return reported.filter(pl.col("phase") != pl.col("phase").shift(1).fill_null(0)).select(
        "t_s", "phase"
    )
