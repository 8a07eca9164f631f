"""Record the TCP events of a run with BPF programs at tracepoints of the kernel.

Samples of `TCP_INFO` every 10 ms show a timeout late, and can miss a recovery that is shorter
than 10 ms. The counters in `/proc/net/netstat` do not distinguish flows. The BPF program
`cwndlab/kernel/trace.bpf.c` therefore records each event when it happens. If the program cannot be
loaded, runs continue without it, and the history of each run states the reason.
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
# Columns of a flow whose missing values are filled, and the events that count for each column.
_COLUMNS = {"timeouts": "timeout", "recoveries": "recovery"}
FIRST_PORT = 10_000  # port of flow 0, as in crates/testbed


@dataclass(frozen=True, slots=True)
class Happening:
    """A recorded TCP event of a flow's sender, such as a timeout."""

    flow: int  # index of the flow in the scenario
    t_s: float
    event: str


class Tracer(AbstractContextManager["Tracer"]):
    """Records TCP events of this machine, if its kernel allows tracing."""

    def __init__(self) -> None:
        """Create a recorder; check whether the kernel allows tracing."""
        self._helper: KernelHelper | None = None
        self.missing: str | None = "; ".join(each.what for each in obstacles()) or None

    def start(self, file: Path) -> None:
        """Start recording events to a file."""
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
        """Stop recording; if the record may lack events, `missing` then states the reason."""
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
    """Return the recorded events of a run's senders, in order of time.

    Args:
        records: content of the file of recorded events.
        flows: the flows of the scenario.
        kernel: the helper's answer, which contains the run's start time and network namespaces.
        end_ns: duration of the run.
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
    """Return, for each flow, the number of events of each kind at the flow's sender."""
    counts = [dict.fromkeys(_KINDS, 0) for _ in range(flows)]
    for each in found:
        counts[each.flow][each.event] += 1
    return counts


def fill(tables: Mapping[str, Any], counts: Sequence[Mapping[str, int]]) -> None:
    """Insert traced numbers of timeouts and recoveries where the table of flows has none."""
    for column, event in _COLUMNS.items():
        values = tables["flows"][column]
        for index, counted in enumerate(counts):
            if values[index] is None:
                values[index] = counted[event]


def replace_events(
    events: Mapping[str, list[Any]], found: Sequence[Happening], numbers: Sequence[int]
) -> dict[str, list[Any]]:
    """Replace the timeouts and recoveries in a table of events with recorded events.

    Args:
        events: the table of events, derived from samples every 10 ms.
        found: the recorded events.
        numbers: number of each flow in the table of events, in the order of the scenario's flows.
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
