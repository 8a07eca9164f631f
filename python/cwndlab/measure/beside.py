"""Send UDP datagrams at a fixed rate while a run transfers data."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from cwndlab.errors import CwndlabError
from cwndlab.measure.wire.client import Session
from cwndlab.measure.wire.protocol import DatagramTest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cwndlab.measure.wire.address import Address

_NS_PER_S = 10**9
_DATAGRAM_BYTES = 172  # 20 ms of a G.711 call, with RTP header
_SHORTEST_NS = _NS_PER_S // 5


class DatagramsBeside:
    """Context manager that sends datagrams at a fixed rate during a run, like a voice call."""

    def __init__(
        self,
        address: Address,
        session: str,
        bits_per_sec: int,
        duration_ns: int,
        directions: Sequence[str],
    ) -> None:
        """Prepare to send datagrams in each direction until the run ends.

        Args:
            address: address of the server.
            session: `id` of the session that executes the run.
            bits_per_sec: bit rate of the payload of the datagrams.
            duration_ns: duration of the run.
            directions: one or both of `forward` and `reverse`.
        """
        self.rows: list[dict[str, Any]] = []
        self._address = address
        self._session = session
        # Datagrams begin shortly before the data, and end before the ends are asked for results.
        lasts_ns = max(duration_ns - _NS_PER_S, _SHORTEST_NS)
        self._requests = [
            DatagramTest.model_validate(
                {
                    "direction": direction,
                    "bits_per_sec": bits_per_sec,
                    "payload_bytes": _DATAGRAM_BYTES,
                    "duration_ns": lasts_ns,
                }
            )
            for direction in directions
        ]
        self._threads = [
            threading.Thread(target=self._measure, args=(request,), daemon=True)
            for request in self._requests
        ]

    def __enter__(self) -> Self:
        """Start to send datagrams in each of the requested directions."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait until all datagrams have been sent."""
        for thread in self._threads:
            thread.join()

    def frame(self, key: str) -> pl.DataFrame:
        """Return a table of the loss and jitter of datagrams, with one row for each direction."""
        schema = {
            "run": pl.String,
            "direction": pl.String,
            "rate_mbit_s": pl.Float64,
            "sent": pl.Int64,
            "received": pl.Int64,
            "lost_pct": pl.Float64,
            "reordered": pl.Int64,
            "jitter_ms": pl.Float64,
        }
        return pl.DataFrame([{"run": key, **row} for row in self.rows], schema=schema)

    def _measure(self, request: DatagramTest) -> None:
        row: dict[str, Any] = {
            "direction": request.direction,
            "rate_mbit_s": request.bits_per_sec / 1e6,
        }
        try:
            with Session(self._address, beside=self._session) as session:
                row |= session.datagrams(request)
        except CwndlabError:
            pass  # the row remains without values
        self.rows.append(row)
