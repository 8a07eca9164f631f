"""Define encounters: runs in which flows of two algorithms compete on a link.

In an encounter, flows of one algorithm, the *candidate*, share the bottleneck with flows of a
second algorithm, the *neighbour*, which can be the same algorithm. A *mix* defines how many flows
each algorithm has, the ratio of the two algorithms' round-trip times, the size of the queue, and
which flows start first. On a link whose users have separate queues, a mix also defines whether the
algorithms are used by one user or by two. Each algorithm also runs alone on the same link. This run
is the reference for the harm that the algorithm's flows suffer in encounters.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cwndlab.schema.live import LivePath
    from cwndlab.schema.path import PathPart

NEIGHBOUR = "cubic"
"""Default algorithm of the competing flows: CUBIC, the default of Linux and the algorithm of most
Internet flows."""

DURATION_S = 15
WARM_UP_S = 3
REPETITIONS = 6
_JITTERED = {"start_jitter": "500 ms"}  # random order of the flows that start together
_TRANSFER = "250 kB"
_TRANSFERS_AT_S = (4, 7, 10)
_MANY = 16
_HALF = 8
_LONG_RTT = 4.0
_BUFFERS_BDP = (0.5, 1.0, 4.0)
_PACKET_BYTES = 1500


class Order(StrEnum):
    """Which of two competing groups of flows starts first."""

    TOGETHER = "together"
    NEIGHBOUR_FIRST = "neighbour first"
    CANDIDATE_FIRST = "candidate first"


@dataclass(frozen=True, slots=True)
class Mix:
    """A combination of competing flows: their number, round-trip times, queue and start order."""

    candidates: int = 1
    neighbours: int = 1
    rtt_ratio: float = 1.0
    """Round-trip time of the neighbour's flows, divided by the round-trip time of the candidate's
    flows."""
    queue_bdp: float | None = None
    """Size of the bottleneck queue in bandwidth-delay products. If None, the size that the link
    defines is used."""
    order: Order = Order.TOGETHER
    is_across_users: bool = False
    """True if the neighbour's flows belong to another user than the candidate's flows. The packets
    of each user have a separate queue."""


PLAIN = Mix()


@dataclass(frozen=True, slots=True)
class Encounter:
    """A run with flows of a candidate algorithm, flows of a competing algorithm, or both."""

    candidate: str | None
    neighbour: str | None
    mix: Mix = PLAIN
    is_transfer: bool = False
    """True if the neighbour sends short files, one after another, instead of one long file."""

    @property
    def name(self) -> str:
        """Unique name of a run with competing flows, for the study factor `encounter`."""
        mix = self.mix
        parts = [f"{self.candidate or 'nothing'} and {self.neighbour or 'nothing'}"]
        parts += ["short"] if self.is_transfer else []
        parts += [f"{mix.candidates}:{mix.neighbours}", f"rtt {mix.rtt_ratio:g}", mix.order.value]
        parts += [f"{mix.queue_bdp:g} BDP"] if mix.queue_bdp is not None else []
        parts += ["two users"] if mix.is_across_users else []
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Network:
    """Properties of a link that are needed to define runs with competing flows."""

    path: PathPart | LivePath
    direction: str
    base_rtt_ms: float
    bdp_bytes: float

    @property
    def is_shared(self) -> bool:
        """True if several users share the link, each with a separate queue."""
        return self.path.kind in ("cell", "wifi")

    @property
    def has_queue_key(self) -> bool:
        """True if a single study key sets the queue's size; a chain of links has no such key."""
        return self.path.kind != "chain"


def report_mixes(*, is_shared: bool, has_queue_key: bool) -> tuple[Mix, ...]:
    """Return all mixes of competing flows that a report shows; the simplest mix comes first.

    Args:
        is_shared: whether the link is shared by several users, each with a separate queue.
        has_queue_key: whether a single key sets the size of the link's queue.
    """
    mixes = [
        PLAIN,
        Mix(candidates=1, neighbours=_MANY),
        Mix(candidates=_MANY, neighbours=1),
        Mix(candidates=_HALF, neighbours=_HALF),
        Mix(rtt_ratio=_LONG_RTT),
        Mix(order=Order.NEIGHBOUR_FIRST),
        Mix(order=Order.CANDIDATE_FIRST),
        *(Mix(queue_bdp=bdp) for bdp in _BUFFERS_BDP if has_queue_key),
    ]
    return (*mixes, Mix(is_across_users=True)) if is_shared else tuple(mixes)


def encounters_of(
    candidates: Sequence[str], mixes: Iterable[Mix] = (PLAIN,), neighbour: str = NEIGHBOUR
) -> tuple[Encounter, ...]:
    """Return the runs of each candidate: against `neighbour`, against itself, and alone.

    The candidates and `neighbour` are algorithms. Each mix defines how many flows of two algorithms
    compete, and under which conditions. For the mix `PLAIN` (one flow of each algorithm), there are
    additional runs in which `neighbour` sends short files.
    """
    found: dict[Encounter, None] = {}
    for mix in mixes:
        for candidate in dict.fromkeys([neighbour, *candidates]):
            for beside in dict.fromkeys([neighbour, candidate]):
                found[meeting(candidate, beside, mix)] = None
                found[alone(beside, mix)] = None
            found[alone(candidate, replace(mix, rtt_ratio=1.0))] = None
            if mix == PLAIN:
                found[Encounter(candidate, neighbour, mix, is_transfer=True)] = None
        if mix == PLAIN:
            found[Encounter(None, neighbour, mix, is_transfer=True)] = None
    return tuple(found)


def document_of(
    network_keys: Mapping[str, Any],
    encounters: Sequence[Encounter],
    *,
    network: Network | None = None,
    repetitions: int = REPETITIONS,
    duration_s: int = DURATION_S,
) -> dict[str, Any]:
    """Return the document (keys and values) of a study whose runs are the given encounters.

    All encounters in a repetition have the same random seed.

    Args:
        network_keys: study keys that define the network, such as `link` and `direction`.
        encounters: the encounters to run; each is a level of the study's factor `encounter`.
        network: properties of the link. They are needed if the mix of an encounter gives the two
            algorithms different round-trip times, sets the size of the queue, or assigns the two
            algorithms to two users.
        repetitions: number of repetitions of each encounter.
        duration_s: duration of each run in seconds, including the first `WARM_UP_S` seconds, which
            are not measured.
    """
    levels = [
        {"name": each.name, "flow": _flows(each, network), **_link_keys(each.mix, network)}
        for each in encounters
    ]
    shared = {key: value for key, value in network_keys.items() if key != "id"}
    digest = hashlib.sha256(repr((sorted(shared.items(), key=str), duration_s, levels)).encode())
    return {
        **shared,
        "id": f"coexistence-{digest.hexdigest()[:8]}",
        "title": "Coexistence",
        "duration": f"{duration_s} s",
        "warm_up": f"{WARM_UP_S} s",
        "repetitions": repetitions,
        "common_seeds": True,
        "record": {"samples": "none", "events": False},
        "factors": {"encounter": levels},
    }


def network_of(
    path: PathPart | LivePath, direction: str, flows: pl.DataFrame, neighbour: str = NEIGHBOUR
) -> Network:
    """Estimate a link's properties from runs in which a single flow has the link to itself.

    Args:
        path: the path of the scenario.
        direction: direction of the data, `forward` or `reverse`.
        flows: all flows of the runs for the mix `PLAIN`, one row for each flow. The column
            `encounter` names the run of the flow.
        neighbour: the algorithm of the single flow.
    """
    rows = flows.filter(pl.col("encounter") == alone(neighbour, PLAIN).name)
    base_rtt_ms = _minimum(rows["rtt_base_ms"])
    rate_mbit_s = float(rows["goodput_mbit_s"].fill_null(0.0).to_numpy().mean())
    bdp_bytes = rate_mbit_s * 1e6 / 8 * base_rtt_ms / 1e3
    return Network(path, direction, base_rtt_ms, bdp_bytes)


def meeting(candidate: str, neighbour: str, mix: Mix) -> Encounter:
    """Return the run (encounter) in which two groups of flows compete.

    One group uses the algorithm `candidate`, the other group `neighbour`. If the groups differ only
    in their number of flows, the smaller group becomes the candidate's group. For example, 1 flow
    of CUBIC against 16 flows of CUBIC is the same encounter as 16 against 1, with the same name.
    """
    is_symmetric = mix.order is Order.TOGETHER and mix.rtt_ratio == 1
    if candidate == neighbour and is_symmetric:
        few, many = sorted((mix.candidates, mix.neighbours))
        mix = replace(mix, candidates=few, neighbours=many)
    return Encounter(candidate, neighbour, mix)


def alone(algorithm: str, mix: Mix) -> Encounter:
    """Return the run in which one flow of `algorithm` sends alone.

    In a mix, flows of one algorithm (the candidate) compete with flows of a second algorithm (the
    neighbour). The single flow has the queue size, round-trip time and user that `mix` defines for
    the neighbour's flows.
    """
    quiet = replace(mix, candidates=0, neighbours=1, order=Order.TOGETHER)
    return Encounter(None, algorithm, quiet)


def _flows(encounter: Encounter, network: Network | None) -> list[dict[str, Any]]:
    """Return the tables `[[flow]]` that define an encounter, the candidate's flows first."""
    mix, tables = encounter.mix, []
    late = f"{WARM_UP_S} s"
    if encounter.candidate is not None:
        starts = {"start": late} if mix.order is Order.NEIGHBOUR_FIRST else {}
        own = {"algorithm": encounter.candidate, "count": mix.candidates, **_JITTERED}
        tables.append({**own, **starts})
    if encounter.neighbour is not None:
        neighbour: dict[str, Any] = {"algorithm": encounter.neighbour, "count": mix.neighbours}
        neighbour |= _JITTERED
        if mix.order is Order.CANDIDATE_FIRST:
            neighbour["start"] = late
        if mix.rtt_ratio != 1 and network is not None:
            added_ms = network.base_rtt_ms * (mix.rtt_ratio - 1) / 2
            neighbour["access_delay"] = f"{round(1000 * added_ms)} us"
        if mix.is_across_users:
            neighbour["user"] = 2
        tables += _transfers(neighbour) if encounter.is_transfer else [neighbour]
    return tables


def _transfers(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{**table, "bytes": _TRANSFER, "start": f"{at_s} s"} for at_s in _TRANSFERS_AT_S]


def _link_keys(mix: Mix, network: Network | None) -> dict[str, Any]:
    """Return the link's keys that `mix` changes, with their new values."""
    if network is None:
        return {}
    keys: dict[str, Any] = {}
    match network.path.kind:
        case "cell":
            way = "downlink" if network.direction == "forward" else "uplink"
            place, users = f"link.cell.{way}.queue", "link.cell.users"
        case "wifi":
            place, users = "link.wifi.queue_packets", "link.wifi.stations"
        case _:
            place, users = "link.queue", ""
    if mix.queue_bdp is not None:
        packets = max(2, round(mix.queue_bdp * network.bdp_bytes / _PACKET_BYTES))
        is_count = network.path.kind == "wifi"
        keys[place] = packets if is_count else f"{packets * _PACKET_BYTES} bytes"
    if mix.is_across_users and users:
        keys[users] = 2
    return keys


def _minimum(column: pl.Series) -> float:
    values = column.drop_nulls()
    return float(values.to_numpy().min()) if len(values) else 0.0
