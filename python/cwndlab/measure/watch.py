"""Watch the TCP transfers of this computer: rates, RTTs and windows of the last minute."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cwndlab.measure.machine import netlink
from cwndlab.measure.machine.sock_diag import connections

if TYPE_CHECKING:
    from collections.abc import Callable

    from cwndlab.measure.machine.sock_diag import Connection

INTERVAL_S = 0.25
SPAN_S = 60.0
_LEAST_MBIT_S = 0.05  # slower connections are not shown
_RECENT_S = 3.0
_KEPT = int(SPAN_S / INTERVAL_S) + 1


@dataclass(frozen=True, slots=True)
class Moment:
    """Rates, RTT, congestion window and losses of a connection or an interface in one interval."""

    at_s: float
    down_mbit_s: float
    up_mbit_s: float
    rtt_ms: float | None = None
    cwnd_pkts: int | None = None
    lost_pkts: int = 0
    timeouts: int = 0

    @property
    def mbit_s(self) -> float:
        """Rate in Mbit/s in the direction that carries more data."""
        return max(self.down_mbit_s, self.up_mbit_s)


@dataclass(slots=True)
class Track:
    """Samples (`Moment`) of one connection or interface from the last minute."""

    name: str
    algorithm: str = ""
    moments: deque[Moment] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def recent_mbit_s(self, now_s: float) -> float:
        """Return the highest rate, in Mbit/s, in the last three seconds."""
        recent = (m.mbit_s for m in self.moments if m.at_s >= now_s - _RECENT_S)
        return max(recent, default=0.0)

    @property
    def is_upward(self) -> bool:
        """True if the connection sends more than it receives."""
        return sum(m.up_mbit_s - m.down_mbit_s for m in self.moments) > 0


class Watch:
    """Samples the counters of all interfaces and TCP connections of this computer."""

    def __init__(
        self,
        interface: str | None = None,
        *,
        see_links: Callable[[], list[dict[str, Any]]] = netlink.links,
        see_connections: Callable[[], list[Connection]] = connections,
    ) -> None:
        """Watch `interface`, or the busiest interface if `interface` is None."""
        self._wanted = interface
        self._see_links = see_links
        self._see_connections = see_connections
        self._links: dict[str, dict[str, Any]] = {}
        self._last: dict[bytes, Connection] = {}
        self._last_s: float | None = None
        self.now_s = 0.0
        self.tracks: dict[bytes, Track] = {}
        self.interfaces: dict[str, Track] = {}

    def look(self, at_s: float | None = None) -> None:
        """Take one sample of all interfaces and connections."""
        self.now_s = time.monotonic() if at_s is None else at_s
        links = {link["name"]: link for link in self._see_links()}
        seen = {connection.cookie: connection for connection in self._see_connections()}
        if self._last_s is not None:
            passed_s = max(self.now_s - self._last_s, 1e-3)
            for name, link in links.items():
                if name in self._links:
                    track = self.interfaces.setdefault(name, Track(name))
                    track.moments.append(_of_link(self.now_s, passed_s, self._links[name], link))
            for cookie, connection in seen.items():
                if cookie in self._last:
                    self._note(passed_s, self._last[cookie], connection)
        self._links, self._last, self._last_s = links, seen, self.now_s
        self.tracks = {
            cookie: track
            for cookie, track in self.tracks.items()
            if track.moments and track.moments[-1].at_s > self.now_s - SPAN_S
        }

    def has_interface(self, name: str) -> bool:
        """Return whether this computer had an interface named `name` at the last sample."""
        return name in self._links

    def interface(self) -> Track | None:
        """Return the rates of the watched interface; None before its second sample."""
        if self._wanted is not None:
            return self.interfaces.get(self._wanted)
        busy = [track for name, track in self.interfaces.items() if name != "lo"]
        tracks = busy if any(_moved(track) for track in busy) else list(self.interfaces.values())
        return max(tracks, key=_moved, default=None)

    def running(self, most: int) -> list[Track]:
        """Return the busiest connections of the last minute, at most `most`, from old to new."""
        tracks = [track for track in self.tracks.values() if _peak(track) >= _LEAST_MBIT_S]
        busiest = sorted(tracks, key=lambda track: -track.recent_mbit_s(self.now_s))[:most]
        return sorted(busiest, key=lambda track: track.moments[0].at_s)

    def _note(self, passed_s: float, before: Connection, now: Connection) -> None:
        track = self.tracks.get(now.cookie)
        if track is None:
            host, port = now.peer
            track = self.tracks[now.cookie] = Track(f"{host}:{port}")
        track.algorithm = now.algorithm
        track.moments.append(_of_connection(self.now_s, passed_s, before, now))


def _of_link(at_s: float, passed_s: float, before: dict[str, Any], now: dict[str, Any]) -> Moment:
    def rate(way: str) -> float:
        grown: int = now.get(f"{way}_bytes", 0) - before.get(f"{way}_bytes", 0)
        return max(0.0, grown * 8e-6 / passed_s)

    dropped = [
        now.get(f"{way}_dropped_pkts", 0) - before.get(f"{way}_dropped_pkts", 0)
        for way in ("rx", "tx")
    ]
    return Moment(at_s, rate("rx"), rate("tx"), lost_pkts=max(0, sum(dropped)))


def _of_connection(at_s: float, passed_s: float, before: Connection, now: Connection) -> Moment:
    def grown(name: str) -> int:
        return max(0, now.info.get(name, 0) - before.info.get(name, 0))

    up, down = (grown(name) * 8e-6 / passed_s for name in ("bytes_acked", "bytes_received"))
    is_sender = up > down
    rtt_us = now.info["rtt_us"] if is_sender else now.info["rcv_rtt_us"] or now.info["rtt_us"]
    return Moment(
        at_s,
        down,
        up,
        rtt_us / 1e3 or None,
        now.info["snd_cwnd"] if is_sender or now.info["unacked"] else None,
        grown("total_retrans"),
        grown("total_rto"),
    )


def _moved(track: Track) -> float:
    return sum(moment.mbit_s for moment in track.moments)


def _peak(track: Track) -> float:
    return max((moment.mbit_s for moment in track.moments), default=0.0)
