"""TCP events of a run, recorded by programs at the kernel's tracepoints.

`TCP_INFO` shows a timeout only when it is next read, and a recovery only if it lasts until then;
the counters of a namespace do not distinguish flows. `cwndlab/kernel/trace.bpf.c` records each
event when it happens. If this program cannot be loaded, runs continue without it, and their
manifest states the reason.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cwndlab.errors import AlgorithmError, KernelError
from cwndlab.kernel.capabilities import obstacles
from cwndlab.kernel.helper import KernelHelper
from cwndlab.kernel.objects import kernel_object, tracing_program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

_RECORD = np.dtype(
    [
        ("at_ns", "<u8"),
        ("netns", "<u4"),
        ("kind", "<u4"),
        ("local_port", "<u2"),
        ("remote_port", "<u2"),
        ("unused", "<u4"),
    ]
)
_KINDS = ("retransmission", "timeout", "recovery")  # as in trace.bpf.c
# Columns of a flow that are filled where they are null, and the events that are replaced.
_COLUMNS = {"timeouts": "timeout", "recoveries": "recovery"}
FIRST_PORT = 10_000  # of flow 0, as in crates/testbed


@dataclass(frozen=True, slots=True)
class Happening:
    """One traced event of a flow's sender."""

    flow: int  # its place in the scenario
    t_s: float
    event: str


class Tracer(AbstractContextManager["Tracer"]):
    """Records TCP events on this machine, if its kernel allows tracing."""

    def __init__(self) -> None:
        """Check whether the kernel allows tracing."""
        self._helper: KernelHelper | None = None
        self.missing: str | None = "; ".join(each.what for each in obstacles()) or None

    def start(self, file: Path) -> None:
        """Start writing events to a file."""
        if self.missing is not None:
            return
        try:
            program = kernel_object(tracing_program())
            if self._helper is None:
                self._helper = KernelHelper()
            self._helper.ask({"do": "trace", "object": str(program), "file": str(file)})
        except (KernelError, AlgorithmError) as error:
            self.missing = f"the kernel's tracepoints cannot be used: {error}"

    def stop(self) -> None:
        """Stop writing events; if some are missing from the file, set `missing` to the reason."""
        if self.missing is None and self._helper is not None:
            try:
                self._helper.ask({"do": "stop_tracing"})
            except KernelError as error:
                self.missing = f"the trace is incomplete: {error}"

    def close(self) -> None:
        """Unload the tracing programs."""
        if self._helper is not None:
            self._helper.close()
        self._helper = None

    def __exit__(self, *_: object) -> None:
        self.close()


def happenings(
    records: bytes, flows: Sequence[Mapping[str, Any]], kernel: Mapping[str, Any], end_ns: int
) -> list[Happening]:
    """Read the events of a run's senders, in order of time.

    Args:
        records: the recorded events.
        flows: the flows of the scenario.
        kernel: start time and namespaces of the run.
        end_ns: end of the run, relative to its start.
    """
    whole = len(records) // _RECORD.itemsize * _RECORD.itemsize
    table: npt.NDArray[np.void] = np.frombuffer(records[:whole], dtype=_RECORD)
    network, *users = kernel["namespaces"]
    found = []
    for index, flow in enumerate(flows):
        port = FIRST_PORT + index
        sender = users if flow.get("direction") == "reverse" else [network]
        is_own = np.isin(table["netns"], sender)
        is_own &= (table["local_port"] == port) | (table["remote_port"] == port)
        for record in table[is_own]:
            at_ns = int(record["at_ns"]) - kernel["began_ns"]
            if 0 <= at_ns <= end_ns:
                found.append(Happening(index, at_ns / 1e9, _KINDS[record["kind"]]))
    return sorted(found, key=lambda each: each.t_s)


def count(found: Sequence[Happening], flows: int) -> list[dict[str, int]]:
    """Count the events of each flow's sender."""
    counts = [dict.fromkeys(_KINDS, 0) for _ in range(flows)]
    for each in found:
        counts[each.flow][each.event] += 1
    return counts


def fill(tables: Mapping[str, Any], counts: Sequence[Mapping[str, int]]) -> None:
    """Fill in the counts that the kernel did not report."""
    for column, event in _COLUMNS.items():
        values = tables["flows"][column]
        for index, counted in enumerate(counts):
            if values[index] is None:
                values[index] = counted[event]


def replace_events(
    events: Mapping[str, list[Any]], found: Sequence[Happening], numbers: Sequence[int]
) -> dict[str, list[Any]]:
    """Return the events; traced events replace those derived from samples every 10 ms.

    Args:
        events: the table of events.
        found: the traced events.
        numbers: the numbers of the flows in the table.
    """
    traced = set(_COLUMNS.values())
    names = ("flow", "t_s", "event", "value")
    rows = [
        row
        for row in zip(*(events[name] for name in names), strict=True)
        if row[0] is None or row[2] not in traced
    ]
    rows += [
        (numbers[each.flow], each.t_s, each.event, None) for each in found if each.event in traced
    ]
    rows.sort(key=lambda row: row[1])
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}
