"""Record a real link as Mahimahi traces, one for each direction (`cwndlab link record`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cwndlab.errors import LinkError
from cwndlab.measure.wire import protocol
from cwndlab.measure.wire.saturator import WARM_UP_S
from cwndlab.run.saturation import PACKET_BYTES
from cwndlab.schema.direction import Direction
from cwndlab.text.toml_writer import write_toml

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from cwndlab.measure.wire.client import Session

_HEADER_BYTES = {4: 28, 6: 48}  # IP and UDP, by IP version
_NS_PER_S = 10**9
_SHALLOW_MS = 2.0
_LIMITED_PCT = 10.0
"""A link without a queue loses a third of the datagrams, which arrive at 2/3 of their rate. The
receiver's socket and the radio can lose a few percent although the link is faster than the sender.
"""


@dataclass(frozen=True, slots=True)
class RecordedDirection:
    """Recording of one direction of a link, as bytes per millisecond."""

    direction: Direction
    per_ms: npt.NDArray[np.int64]
    """Bytes that arrived in each millisecond, including IP headers."""
    sent: int
    received: int
    highest_queueing_ms: float

    @property
    def rate_mbit_s(self) -> float:
        """Mean rate over the whole recording."""
        return float(self.per_ms.sum()) * 8e-3 / max(1, self.per_ms.size)

    @property
    def lost_pct(self) -> float:
        """Percentage of lost datagrams; most are lost because the sender outpaces the link."""
        return 100 * (1 - self.received / self.sent) if self.sent else 0.0

    @property
    def was_full(self) -> bool:
        """True if the link limited the rate; false if the sender limited it."""
        return self.lost_pct > _LIMITED_PCT or self.highest_queueing_ms > _SHALLOW_MS

    def mahimahi(self) -> str:
        """Return a trace: each line is the time in ms of an opportunity to send 1500 bytes.

        Raises:
            LinkError: no data arrived.
        """
        opportunities = np.cumsum(self.per_ms) // PACKET_BYTES
        counts = np.diff(opportunities, prepend=0)
        stamps = np.repeat(np.arange(1, counts.size + 1), counts)
        if stamps.size == 0:
            msg = f"{self.direction.title}: no data arrived, so nothing was recorded"
            raise LinkError(msg)
        return "".join(f"{stamp}\n" for stamp in stamps)


@dataclass(frozen=True, slots=True)
class Recording:
    """Recordings of both directions, and the round-trip time of the path without load."""

    directions: tuple[RecordedDirection, ...]
    round_trip_ms: float | None

    def write(self, name: Path) -> list[Path]:
        """Write `NAME-downlink.trace`, `NAME-uplink.trace` and the link `NAME.toml`.

        Raises:
            LinkError: no data arrived.
        """
        delay = "0 ms" if self.round_trip_ms is None else f"{self.round_trip_ms / 2:.3f} ms"
        document: dict[str, object] = {
            "title": f"recorded link {name.name}",
            "description": "From cwndlab link record; delays are half of the minimum round trip.",
        }
        written = []
        for recorded in self.directions:
            path = name.with_name(f"{name.name}-{recorded.direction.title}.trace")
            path.write_text(recorded.mahimahi(), encoding="ascii")
            written.append(path)
            table = "link" if recorded.direction is Direction.DOWNLINK else "reverse_link"
            document[table] = {"trace": path.name, "delay": delay}
        path = name.with_name(f"{name.name}.toml")
        path.write_text(write_toml(document), encoding="utf-8")
        return [*written, path]


def record(session: Session, duration_ns: int, most_bits_per_sec: int) -> Recording:
    """Saturate and record one direction after the other, while no other client measures.

    Args:
        session: session with the server.
        duration_ns: duration of the recording of each direction, without the warm-up.
        most_bits_per_sec: maximum sending rate.

    Raises:
        TransferFailedError: the server refuses the request, or UDP is blocked.
    """
    found = []
    probes = session.probe()
    path = [session.view(), session.server["path"]]
    mtu_bytes = min(PACKET_BYTES, *(view["path_mtu_bytes"] for view in path))
    header_bytes = _HEADER_BYTES[6 if ":" in session.peer else 4]
    for direction in Direction:
        request = protocol.Saturate(
            direction=direction.wire,
            most_bits_per_sec=most_bits_per_sec,
            payload_bytes=mtu_bytes - header_bytes,
            packet_bytes=mtu_bytes,
            duration_ns=duration_ns + int(WARM_UP_S * _NS_PER_S),
        )
        answer = session.saturate(request)
        per_ms = np.array(answer["per_ms"], dtype=np.int64)[int(WARM_UP_S * 1e3) :]
        found.append(
            RecordedDirection(
                direction,
                per_ms[: duration_ns // 10**6],
                answer["sent"],
                answer["received"],
                answer["highest_queueing_ms"],
            )
        )
    quickest_ms = min((probe.rtt_ns for probe in probes), default=None)
    return Recording(tuple(found), None if quickest_ms is None else quickest_ms / 1e6)
