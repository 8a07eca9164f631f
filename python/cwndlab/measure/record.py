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
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

    from cwndlab.measure.light import LightDirection
    from cwndlab.measure.wire.client import Session

_HEADER_BYTES = {4: 28, 6: 48}  # IP and UDP, by IP version
_NS_PER_S = 10**9
_SHALLOW_MS = 2.0
_HALF_PCT = 50.0
_QUEUED_PCT = 10.0
_LIMITED_PCT = 10.0
"""If more than this percentage of the datagrams is lost, the link and not the sender limited the
rate. Datagrams are sent at 3/2 of the link's rate, so a link without a queue loses a third of
them. If the link is faster than the sender, only a few percent are lost, in the receiver's socket
or on the radio."""


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
        """Percentage of datagrams that were lost, mostly because the sender outpaces the link."""
        return 100 * (1 - self.received / self.sent) if self.sent else 0.0

    @property
    def was_full(self) -> bool:
        """True if the link limited the rate; False if the sender limited the rate."""
        return self.lost_pct > _LIMITED_PCT or self.highest_queueing_ms > _SHALLOW_MS

    def mahimahi(self) -> str:
        """Return the text of a trace: each line is a time in ms at which 1500 bytes can be sent.

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
    light: tuple[LightDirection, ...] = ()
    """Recordings of both directions of the idle link; empty if they were not requested."""

    def write(self, name: Path) -> dict[str, Path]:
        """Write the traces of both directions, and `NAME.toml`, which describes the link.

        The file `NAME.toml` refers to the traces. If an error occurs, no file is written. Return a
        dictionary that maps the ending of each file's name (such as `-downlink.trace`) to the
        file's path.

        Raises:
            LinkError: no data arrived.
        """
        texts = {f"-{each.direction.title}.trace": each.mahimahi() for each in self.directions}
        texts |= {f"-{each.direction.title}.light": each.trace() for each in self.light}
        texts[".toml"] = write_toml(self._document(name.name))
        paths = {ending: name.with_name(name.name + ending) for ending in texts}
        parts = {path: path.with_name(f"{path.name}.part") for path in paths.values()}
        try:
            for ending, path in paths.items():
                parts[path].write_text(texts[ending], encoding="utf-8")
            for path, part in parts.items():
                part.replace(path)
        finally:
            for part in parts.values():
                part.unlink(missing_ok=True)
        return paths

    def _document(self, name: str) -> dict[str, object]:
        title = f"recorded link {name}"
        told = "Recorded by cwndlab link record; each delay is half of the minimum round-trip time."
        delay = "0 ms" if self.round_trip_ms is None else f"{self.round_trip_ms / 2:.3f} ms"
        if self.light:
            told = "Recorded by cwndlab link record --light-heavy; delays are in light_trace files."
            delay = "0 ms"
        tables: dict[str, dict[str, str]] = {}
        for each in self.directions:
            table = "link" if each.direction is Direction.DOWNLINK else "reverse_link"
            tables[table] = {"trace": f"{name}-{each.direction.title}.trace", "delay": delay}
            for light in self.light:
                if light.direction is each.direction:
                    trace = f"{name}-{light.direction.title}.light"
                    tables[table] |= {"light_trace": trace, **light.keys()}
        return {"title": title, "description": told, **tables}


def warnings_of(recording: Recording) -> Iterator[str]:
    """Yield a sentence for each reason to doubt a recording; each sentence names a remedy."""
    for each in recording.directions:
        if not each.was_full:
            yield (
                f"the {each.direction.title} was never saturated: it is faster than the sender; "
                "increase --most or record with a faster computer"
            )
    for light in recording.light:
        name = light.direction.title
        if light.lost_trains_pct >= _HALF_PCT:
            yield (
                f"{light.lost_trains_pct:.0f} % of the packet trains on the {name} were lost, so "
                "the light trace shows only the better moments of the link; record again"
            )
        if light.queued_pct >= _QUEUED_PCT:
            yield (
                f"{light.queued_pct:.0f} % of the packet trains on the {name} were queued behind "
                "other traffic; stop the other traffic and record again"
            )
        if not light.has_enough_pairs:
            yield (
                f"too few pairs of packets arrived on the {name}, so it is unknown whether the "
                "link delivers the second packet of a pair faster than the first; light_after and "
                "busy_delay keep their defaults; record for a longer time"
            )


@dataclass(frozen=True, slots=True)
class PacketSize:
    """Size in bytes of the largest packets on a path, with and without UDP and IP headers."""

    packet_bytes: int
    payload_bytes: int

    @classmethod
    def of(cls, session: Session) -> PacketSize:
        """Return the size of the largest packets that the path can carry, at most 1500 bytes."""
        path = [session.view(), session.server["path"]]
        mtu_bytes = min(PACKET_BYTES, *(view["path_mtu_bytes"] for view in path))
        return cls(mtu_bytes, mtu_bytes - _HEADER_BYTES[6 if ":" in session.peer else 4])


def record(session: Session, duration_ns: int, most_bits_per_sec: int) -> Recording:
    """Saturate and record one direction after the other.

    No other client measures in the meantime.

    Args:
        session: session with the server.
        duration_ns: duration of the recording of each direction, without the warm-up.
        most_bits_per_sec: maximum sending rate.

    Raises:
        TransferFailedError: the server refuses the request, or UDP is blocked.
    """
    probes = session.probe()
    size = PacketSize.of(session)
    found = tuple(
        record_direction(session, direction, size, duration_ns, most_bits_per_sec)
        for direction in Direction
    )
    quickest_ms = min((probe.rtt_ns for probe in probes), default=None)
    return Recording(found, None if quickest_ms is None else quickest_ms / 1e6)


def record_direction(
    session: Session,
    direction: Direction,
    size: PacketSize,
    duration_ns: int,
    most_bits_per_sec: int,
) -> RecordedDirection:
    """Saturate and record one direction.

    Raises:
        TransferFailedError: the server refuses the request, or UDP is blocked.
    """
    request = protocol.Saturate(
        direction=direction.wire,
        most_bits_per_sec=most_bits_per_sec,
        payload_bytes=size.payload_bytes,
        packet_bytes=size.packet_bytes,
        duration_ns=duration_ns + int(WARM_UP_S * _NS_PER_S),
    )
    answer = session.saturate(request)
    per_ms = np.array(answer["per_ms"], dtype=np.int64)[int(WARM_UP_S * 1e3) :]
    return RecordedDirection(
        direction,
        per_ms[: duration_ns // 10**6],
        answer["sent"],
        answer["received"],
        answer["highest_queueing_ms"],
    )
