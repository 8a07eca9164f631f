"""Record the state of the network interface and of the radio during a run."""

from __future__ import annotations

import socket
import threading
import time
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from cwndlab.measure.flags import Flag
from cwndlab.measure.machine import netlink
from cwndlab.measure.machine.clock import now_ns
from cwndlab.measure.machine.interface import is_up
from cwndlab.measure.machine.radio import COLUMNS, NUMBERS, technology_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cwndlab.measure.machine.radio import RadioLog, RadioReading, RadioSource

_INTERFACE_EVERY_S = 0.2
_RADIO_EVERY_S = 1.0
_NS_PER_S = 10**9
_NAMELESS = "the interface"

_RADIO_SCHEMA = {"run": pl.String, "t_s": pl.Float64} | {
    name: pl.Float64 if name in NUMBERS else pl.String for name in COLUMNS
}


class Surroundings:
    """Context manager that records the state of the interface and of the radio during a run."""

    def __init__(
        self,
        server: str,
        sources: Sequence[RadioSource] = (),
        log: RadioLog | None = None,
        interface_now: Callable[[str], str | None] | None = None,
    ) -> None:
        """Prepare to record the interface and the radio on the route to `server`.

        Args:
            server: address of the server.
            sources: sources of radio readings.
            log: radio log that another program writes.
            interface_now: function that returns the name of the interface on the route to an
                address, or None while the interface is down.
        """
        self._server = server
        self._sources = sources
        self._log = log
        self._interface_now = interface_now or _interface_now
        self._stopping = threading.Event()
        self._interfaces: list[tuple[int, str | None]] = []
        self._readings: list[tuple[int, RadioReading]] = []
        self._threads = [threading.Thread(target=self._watch_interface, daemon=True)]
        if sources:
            self._threads.append(threading.Thread(target=self._watch_radio, daemon=True))

    def __enter__(self) -> Self:
        """Start to record."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop recording, and wait for the last reading."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def radio(self, began_ns: int) -> list[dict[str, Any]]:
        """Return the radio readings; their times are in seconds since the start of the run."""
        readings = [((at_ns - began_ns) / _NS_PER_S, row) for at_ns, row in self._readings]
        if self._log is not None:
            began_s = began_ns / _NS_PER_S
            ended_s = now_ns() / _NS_PER_S
            readings += [(at_s - began_s, row) for at_s, row in self._log.rows(began_s, ended_s)]
        return [{"t_s": t_s, **row} for t_s, row in sorted(readings, key=lambda each: each[0])]

    def radio_frame(self, key: str, began_ns: int) -> pl.DataFrame:
        """Return the radio readings of the run `key` as a table."""
        rows = [{"run": key, **row} for row in self.radio(began_ns)]
        return pl.DataFrame(rows, schema=_RADIO_SCHEMA)

    def flags(self, began_ns: int) -> list[Flag]:
        """Return the run's disturbances: interface faults, and changes of the radio technology."""
        found = self._interface_flags(began_ns)
        for t_s, before, after in technology_changes(self.radio(began_ns)):
            found.append(Flag("technology", t_s, f"from {before} to {after}"))
        return found

    def _interface_flags(self, began_ns: int) -> list[Flag]:
        found: list[Flag] = []
        used: str | None = None
        gone_ns: int | None = None
        for at_ns, name in self._interfaces:
            if name is None:
                gone_ns = gone_ns or at_ns
                continue
            if gone_ns is not None:
                found.append(_gone(used or name, began_ns, gone_ns, at_ns))
                gone_ns = None
            if used is not None and name != used:
                what = f"packets were sent through {name} instead of {used}"
                found.append(Flag("interface", (at_ns - began_ns) / _NS_PER_S, what))
            used = name
        if gone_ns is not None:
            found.append(_gone(used or _NAMELESS, began_ns, gone_ns, now_ns()))
        return found

    def _watch_interface(self) -> None:
        while not self._stopping.is_set():
            name = self._interface_now(self._server)
            if not self._interfaces or self._interfaces[-1][1] != name:
                self._interfaces.append((now_ns(), name))
            self._stopping.wait(_INTERFACE_EVERY_S)

    def _watch_radio(self) -> None:
        while not self._stopping.is_set():
            due_s = time.monotonic() + _RADIO_EVERY_S
            for source in self._sources:
                row = source.read()
                if row is not None:
                    self._readings.append((now_ns(), row))
            self._stopping.wait(max(0.0, due_s - time.monotonic()))


def _interface_now(server: str) -> str | None:
    index = netlink.interface_to(server)
    try:
        name = None if index is None else socket.if_indextoname(index)
    except OSError:
        return None
    return name if name is not None and is_up(name) else None


def _gone(name: str, began_ns: int, from_ns: int, to_ns: int) -> Flag:
    lasted_s = (to_ns - from_ns) / _NS_PER_S
    t_s = (from_ns - began_ns) / _NS_PER_S
    return Flag("interface", t_s, f"{name} was down for {lasted_s:.1f} s", lasted_s)
