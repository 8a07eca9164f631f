"""Send probes during a transfer, to measure RTTs and the offset of the server's clock."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from cwndlab.measure.machine.clock import now_ns
from cwndlab.measure.wire import protocol

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Times of a probe and its answer; names with `_there_` are times of the server's clock."""

    sent_ns: int
    received_there_ns: int
    answered_there_ns: int
    received_ns: int

    @property
    def rtt_ns(self) -> int:
        """Round-trip time in ns, without the time that the probe spent at the server."""
        away_ns = self.received_ns - self.sent_ns
        return away_ns - (self.answered_there_ns - self.received_there_ns)

    @property
    def offset_ns(self) -> int:
        """Server's clock minus client's clock in ns; exact if both directions have equal delay."""
        there_ns = self.received_there_ns - self.sent_ns
        back_ns = self.answered_there_ns - self.received_ns
        return (there_ns + back_ns) // 2


@dataclass(slots=True)
class Clock:
    """Server's clock minus client's clock; the error is at most half of the smallest RTT."""

    offset_ns: int
    uncertainty_ns: int

    @classmethod
    def of(cls, probes: Sequence[ProbeResult]) -> Clock | None:
        """Return the offset measured by the fastest probe; None if no probe was answered."""
        if not probes:
            return None
        best = min(probes, key=lambda probe: probe.rtt_ns)
        return cls(best.offset_ns, best.rtt_ns // 2)


class Prober:
    """Context manager that sends probes at equal intervals and collects the answers."""

    def __init__(self, to: socket.socket, session: str, key: bytes, every_s: float) -> None:
        """Prepare to send probes through the socket `to`, at intervals of `every_s` seconds."""
        self.results: list[ProbeResult] = []
        self.sent = 0
        self._to = to
        self._session = bytes.fromhex(session)
        self._key = key
        self._every_s = every_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Start to send probes in a thread."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop sending probes, and wait for the thread to end."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        due_s = time.monotonic()
        while not self._stopping.is_set():
            if time.monotonic() >= due_s:
                due_s += self._every_s
                probe = protocol.ProbeDatagram(self._session, self.sent, now_ns(), key=self._key)
                self.sent += 1
                with contextlib.suppress(OSError):
                    self._to.send(probe.encode(protocol.CLIENT))
            self._to.settimeout(max(0.001, due_s - time.monotonic()))
            with contextlib.suppress(OSError):
                content = self._to.recv(2048)
                received_ns = now_ns()
                answer = protocol.read_probe(content, self._key, protocol.SERVER)
                if answer is not None:
                    self.results.append(
                        ProbeResult(
                            answer.sent_ns, answer.received_ns, answer.answered_ns, received_ns
                        )
                    )
