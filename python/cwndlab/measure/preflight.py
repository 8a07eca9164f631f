"""Check both hosts and the path between them before a measurement (`cwndlab preflight`)."""

from __future__ import annotations

import socket
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from cwndlab.errors import CwndlabError
from cwndlab.measure.machine.host import describe_host
from cwndlab.measure.machine.path_view import PathFinding, compare_views, too_quick
from cwndlab.measure.wire import protocol
from cwndlab.measure.wire.flow import AlgorithmMissingError, set_algorithm
from cwndlab.measure.wire.probes import Clock
from cwndlab.schema.direction import Direction

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cwndlab.measure.wire.client import Session

_ROUND_TRIPS = 10
_DOUBT_S = 6.0
_QUIET_S = 0.6
_DATAGRAM_BYTES = 1_200  # with headers smaller than the MTU of all usual paths
_DATAGRAMS_NS = 5 * 10**9
_FOREIGN_MBIT_S = 0.05
_SHORT_QUEUE_PKTS = 100
_LOW_WINDOW_MBIT_S = 100.0
_SKEW_MS = 1_000.0
# A buffer stores packets with their bookkeeping data: about half of the buffer is usable as window
# (tcp(7), tcp_adv_win_scale 1).
_WINDOW_SHARE = 0.5


class ProxyError(CwndlabError):
    """A proxy on the path terminates TCP connections, so algorithms cannot be compared."""


@dataclass(frozen=True, slots=True)
class Sender:
    """The host that sends data (client or server), its algorithm, and the direction of the data."""

    algorithm: str | None
    """Algorithm of the sender; None means the default algorithm of its computer."""
    direction: str
    """`forward` if the server sends, `reverse` if the client sends."""
    is_named: bool = True
    """True if the study sets the algorithm of this sender."""

    @property
    def end(self) -> str:
        """Name of the sending host: `server` or `client`."""
        return "server" if self.direction == "forward" else "client"


@dataclass(frozen=True, slots=True)
class Preflight:
    """Facts about both hosts and the path between them, with the findings from these facts."""

    facts: Mapping[str, Any]
    findings: tuple[PathFinding, ...]

    @property
    def is_through_proxy(self) -> bool:
        """True if a proxy makes comparisons of algorithms meaningless."""
        return any(finding.kind == "proxy" for finding in self.findings)

    def record(self) -> dict[str, Any]:
        """Return facts and findings as they are stored in the results folder."""
        return {**self.facts, "findings": [asdict(finding) for finding in self.findings]}

    def rows(self) -> list[dict[str, Any]]:
        """Return a table of facts, with the value of each fact at the client and at the server."""
        client, server = (_facts(self.facts[end]) for end in ("client", "server"))
        return [{"end": name, "client": client[name], "server": server[name]} for name in client]

    def lines(self, *, with_notes: bool = True) -> list[str]:
        """Return one line about the path, and one line for each finding.

        If `with_notes` is false, findings of the kind `note` are omitted.
        """
        facts = self.facts
        path = f"round trip {facts['round_trip_ms']:.3g} ms"
        if facts["clock_offset_ms"] is not None:
            path += (
                f", offset of the server's clock {facts['clock_offset_ms']:+.0f} ms "
                f"(± {facts['clock_uncertainty_ms']:.0f} ms)"
            )
        path += f", path MTU {facts['client']['path']['path_mtu_bytes']} bytes"
        if not self.is_through_proxy:
            path += ", no proxy detected"
        marks = {"note": "  ", "warning": "! ", "proxy": "! "}
        shown = [finding for finding in self.findings if with_notes or finding.kind != "note"]
        return [path, *(f"{marks[finding.kind]}{finding}" for finding in shown)]


def look(session: Session, senders: Sequence[Sender] = ()) -> Preflight:
    """Examine both hosts and the path for some seconds, in which no other client measures.

    Raises:
        TransferFailedError: the connection to the server was lost.
        AlgorithmMissingError: the algorithm of a sender is missing; the message explains how to
            load it.
    """
    _try_algorithms(session, senders)
    round_trip_ms = _round_trip_ms(session)
    clock = Clock.of(session.probe())
    client, server, foreign = _quiet_ends(session)
    facts = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "round_trip_ms": round_trip_ms,
        "clock_offset_ms": None if clock is None else clock.offset_ns / 1e6,
        "clock_uncertainty_ms": None if clock is None else clock.uncertainty_ns / 1e6,
        "client": client,
        "server": server,
        "foreign_mbit_s": foreign,
    }
    return Preflight(facts, tuple(findings(facts, senders)))


def measure_datagrams(session: Session, bits_per_sec: int) -> list[dict[str, Any]]:
    """Measure loss and jitter of datagrams at a fixed rate; return a row for each direction.

    Raises:
        TransferFailedError: the server refuses the rate, or UDP is blocked.
    """
    directions: tuple[Literal["forward", "reverse"], ...] = ("forward", "reverse")
    found = [
        session.datagrams(
            protocol.DatagramTest(
                direction=direction,
                bits_per_sec=bits_per_sec,
                payload_bytes=_DATAGRAM_BYTES,
                duration_ns=_DATAGRAMS_NS,
            )
        )
        for direction in directions
    ]
    return [
        {
            "direction": Direction.of(row["direction"]).title,
            "rate_mbit_s": bits_per_sec / 1e6,
            **{key: row[key] for key in ("sent", "received", "lost_pct", "reordered")},
            "jitter_ms": row["jitter_ms"],
        }
        for row in found
    ]


def _try_algorithms(session: Session, senders: Sequence[Sender]) -> None:
    """Check that each sender's algorithm is available; report all missing algorithms together."""
    missing = []
    for end, name in sorted({(sender.end, sender.algorithm or "") for sender in senders}):
        if not name:
            continue
        try:
            if end == "server":
                session.try_algorithm(name)
            else:
                with socket.socket() as unused:
                    set_algorithm(unused, name, end)
        except AlgorithmMissingError as error:
            missing.append(str(error))
    if missing:
        raise AlgorithmMissingError("\n".join(missing))


def _round_trip_ms(session: Session) -> float:
    """Measure the minimum round-trip time between client and server over TCP, in ms.

    Waiting times on the two computers are subtracted as far as they are known. At least eleven
    requests are timed. If all answers take clearly longer than the round-trip time that TCP
    measures, a proxy may acknowledge the data. However, a radio scheduler or a busy computer can
    also delay a few answers in a row. If all answers in a period of six seconds are late, such a
    cause is unlikely. Therefore, further requests are timed for up to six seconds, until one of
    the answers is quick enough.
    """
    quickest_ms = min(_ask_ms(session)[0] for _ in range(_ROUND_TRIPS))
    until_s = time.monotonic() + _DOUBT_S
    is_in_doubt = True
    while is_in_doubt and time.monotonic() < until_s:
        answered_ms, server = _ask_ms(session)
        quickest_ms = min(quickest_ms, answered_ms)
        is_in_doubt = bool(too_quick(session.view(), server, quickest_ms))
    return quickest_ms


def _ask_ms(session: Session) -> tuple[float, dict[str, Any]]:
    """Request the server's view of the connection; return the path's RTT in ms and the view."""
    server: dict[str, Any] = session.ask(protocol.Describe())["path"]
    return session.answered_after_ms - server.get("waited_ms", 0.0), server


def _quiet_ends(session: Session) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return facts about both hosts, and the bit rates at their interfaces before any transfer."""
    before = {"client": session.view(), "server": session.ask(protocol.Describe())["path"]}
    time.sleep(_QUIET_S)
    answer = session.ask(protocol.Describe())
    after = {"client": session.view(), "server": answer["path"]}
    foreign = {end: _rates_mbit_s(before[end], after[end]) for end in before}
    client = describe_host() | {"path": after["client"]}
    return client, answer, foreign


def _rates_mbit_s(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, float] | None:
    first, last = before.get("interface"), after.get("interface")
    if not first or not last or "rx_bytes" not in first or "rx_bytes" not in last:
        return None
    passed_us = max(1.0, (last["at_ns"] - first["at_ns"]) / 1e3)
    return {
        way: round((last[f"{way}_bytes"] - first[f"{way}_bytes"]) * 8 / passed_us, 4)
        for way in ("rx", "tx")
    }


def findings(facts: Mapping[str, Any], senders: Iterable[Sender]) -> list[PathFinding]:
    """Return the findings that follow from `facts` about both hosts and the path."""
    client, server = facts["client"], facts["server"]
    found = compare_views(client["path"], server["path"], facts["round_trip_ms"])
    senders = list(senders)
    directions = list(dict.fromkeys(s.direction for s in senders)) or ["forward", "reverse"]
    for direction in directions:
        found += _of_direction(direction, facts, [s for s in senders if s.direction == direction])
    for end in ("client", "server"):
        found += _of_interface(end, facts, sends=_sends(end, directions))
    if facts["clock_offset_ms"] is None:
        found.append(
            PathFinding(
                "warning",
                "no answer over UDP, so one-way delays and probes under load will be missing",
                "open the server's port for UDP too",
            )
        )
    elif abs(facts["clock_offset_ms"]) > _SKEW_MS:
        found.append(
            PathFinding(
                "warning",
                f"the clocks differ by {abs(facts['clock_offset_ms']) / 1e3:,.0f} s; one-way "
                "delays are corrected, but periods of the day follow this computer's clock",
                "to set the clocks, run on client and server: sudo timedatectl set-ntp true",
            )
        )
    return found


def _of_direction(
    direction: str, facts: Mapping[str, Any], senders: Sequence[Sender]
) -> list[PathFinding]:
    name, end, far = (
        ("downlink", "server", "client")
        if direction == "forward"
        else ("uplink", "client", "server")
    )
    found = []
    default = facts[end].get("default_algorithm")
    algorithms = sorted({sender.algorithm for sender in senders if sender.algorithm})
    runs = ", ".join(algorithms) if algorithms else f"the {end}'s default, {default}"
    found.append(PathFinding("note", f"{name}: the {end} sends data (congestion control: {runs})"))
    if any(not sender.is_named for sender in senders):
        found.append(
            PathFinding(
                "warning",
                f"{name}: the study sets the algorithm on the {far}, but the {end} sends the data "
                f"and uses {default}",
                'to attribute results to an algorithm, set algorithm_on = "sender" in the study',
            )
        )
    for what, holder, key in (
        ("receive window", far, "receive_buffer_bytes"),
        ("send buffer", end, "send_buffer_bytes"),
    ):
        limit = _limit_mbit_s(facts[holder].get(key), facts["round_trip_ms"])
        if limit is not None and limit < _LOW_WINDOW_MBIT_S:
            sysctl = "tcp_rmem" if key.startswith("receive") else "tcp_wmem"
            found.append(
                PathFinding(
                    "warning",
                    f"{name}: the {what} of the {holder} limits a connection to {limit:.0f} Mbit/s",
                    f"on the {holder}, set a higher maximum (the last number): sudo sysctl -w "
                    f"net.ipv4.{sysctl}='4096 131072 33554432'",
                )
            )
    return found


def _limit_mbit_s(setting: str | None, round_trip_ms: float) -> float | None:
    """Return the rate in Mbit/s that a buffer of maximum size allows: half the buffer per RTT."""
    if not setting:
        return None
    return int(setting.split()[-1]) * _WINDOW_SHARE * 8 / (round_trip_ms * 1e3)


def _sends(end: str, directions: Sequence[str]) -> bool:
    return ("forward" if end == "server" else "reverse") in directions


def _of_interface(end: str, facts: Mapping[str, Any], *, sends: bool) -> list[PathFinding]:
    interface = facts[end]["path"].get("interface")
    if not interface:
        return []
    found = []
    name = interface["name"]
    queue = interface.get("qdisc_limit_pkts") or interface.get("queue_length_pkts")
    if sends and queue and queue < _SHORT_QUEUE_PKTS and interface.get("qdisc") != "noqueue":
        found.append(
            PathFinding(
                "warning",
                f"the queue of {name} on the {end} has room for only {queue} packets and "
                "may limit the sender before the network does",
                f"to increase the limit: sudo ip link set {name} txqueuelen 1000",
            )
        )
    foreign = facts["foreign_mbit_s"].get(end)
    if foreign and max(foreign.values()) > _FOREIGN_MBIT_S:
        rates = f"{foreign['rx']:.2f} in, {foreign['tx']:.2f} out"
        found.append(
            PathFinding(
                "warning",
                f"other traffic passes through {name} of the {end} ({rates} Mbit/s)",
                "for an undisturbed measurement, stop software updates, file synchronisation and "
                "the transfers of other users",
            )
        )
    return found


def _window(setting: str | None) -> str | None:
    """Return the amount of data, in MB, that a socket buffer of maximum size allows in flight."""
    if not setting:
        return None
    return f"{int(setting.split()[-1]) * _WINDOW_SHARE / 1e6:.2g} MB"


def _facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    interface = facts["path"].get("interface") or {}
    queue = interface.get("qdisc")
    limit = interface.get("qdisc_limit_pkts") or interface.get("queue_length_pkts")
    if limit and queue != "noqueue":
        queue = f"{queue}, {limit:,} packets"
    return {
        "kernel": facts["kernel"],
        "interface": interface.get("name"),
        "MTU, bytes": interface.get("mtu_bytes"),
        "queue": queue,
        "receive window": _window(facts.get("receive_buffer_bytes")),
        "send buffer": _window(facts.get("send_buffer_bytes")),
        "offloads": " ".join(interface.get("offloads", [])) or None,
        "algorithms": " ".join(facts["algorithms"]) or None,
        "default": facts["default_algorithm"],
    }
