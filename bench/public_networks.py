"""Networks of the published ledger: facts that a user knows, and networks drawn from the facts.

The rules are those of docs/notes/2026-11-ledger-sources.md.  Source A is read from a clone of
GenetProject/Genet; only its base round-trip times are used here, not its throughput.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cwndlab
from cwndlab.judge.populations import load_population
from cwndlab.judge.sampling import vary

COMMIT = "5d4303bf7d817136889120eab87f05e22066add3"
ALGORITHMS = ("cubic", "bbr", "vegas")
RUNS = 3
SEED = 2026
_HSPA_QUEUE = ('low = "95 kB"', 'low = "150 kB"')  # the lower end of `lte-*`, see the note


@dataclass(frozen=True)
class Network:
    """A network on one day, or on the days of one published table."""

    name: str
    source: str
    """Letter of the source in the note."""
    network_class: str
    draws: str
    """Which networks are drawn: a key of `DRAWN`."""
    day: str
    direction: str
    algorithms: tuple[str, ...]
    flows: int = 1
    stagger_s: float = 0.0
    base_rtt_ms: float | None = None
    stack: str = ""
    """The sender's TCP stack; empty if the source does not state it."""
    duration_s: float = 30.0
    goals: tuple[str, ...] = ("throughput",)

    @property
    def simulated_direction(self) -> str:
        """The simulated direction: the ranges of wires describe only one, so it serves both."""
        return "downlink" if self.draws in {"wire", "low orbit"} else self.direction

    @property
    def key(self) -> str:
        """The inputs of the prediction; networks with the same key share their simulation."""
        known = [self.draws, self.simulated_direction, self.flows, self.stagger_s, self.base_rtt_ms]
        return json.dumps([*known, self.stack, self.duration_s, self.algorithms])


DRAWN = {
    "lte": (("lte-good", 3), ("lte-typical", 6), ("lte-bad", 3)),
    "hspa": (("hspa-good", 3), ("hspa-typical", 6), ("hspa-bad", 3)),
    "nr": (("nr-good", 3), ("nr-typical", 6), ("nr-bad", 3)),
    "wire": (("wired-50", 12),),
    "low orbit": (("low orbit", 12),),
}
_CELL_MS = {"lte": 8.0}
"""Base round-trip time of the presets' radio access, in ms; the rest is the distance."""
_WIRED_BASE_RTT_MS, _PACKET_BITS = 40.0, 12_112.0


def stated_networks() -> list[Network]:
    """Return the networks of sources B to G."""
    low_orbit = {"network_class": "satellite", "draws": "low orbit"}
    found = [
        Network(
            f"Starlink {way}",
            "B",
            day="2023-08",
            direction=way,
            algorithms=("cubic", "bbr"),
            **low_orbit,
        )
        for way in ("downlink", "uplink")
    ]
    found.append(
        Network(
            "Starlink, single flows",
            "C",
            day="2025",
            direction="downlink",
            algorithms=("cubic", "bbr", "illinois"),
            **low_orbit,
        )
    )
    found.append(
        Network(
            "LTE on a highway",
            "D",
            "lte",
            "lte",
            "2017",
            "downlink",
            ("cubic", "bbr"),
            goals=("latency",),
        )
    )
    found += [
        Network(
            f"HSDPA {way}, {flows} flows",
            "E",
            "umts",
            "hspa",
            "2010",
            way,
            ("cubic", "reno", "westwood", "bic"),
            flows,
            stack="linux-2.6.24",
            duration_s=60.0,
            goals=("throughput", "latency"),
        )
        for way in ("downlink", "uplink")
        for flows in (1, 2, 3, 4)
    ]
    found += [
        Network(
            f"4G in Vaasa, {place}",
            "F",
            "lte",
            "lte",
            "2013",
            "uplink",
            ("cubic", "reno", "vegas", "westwood"),
            stack="linux-3.5",
        )
        for place in ("ahventie", "olympia", "vamk")
    ]
    found.append(
        Network(
            "5G in Vaasa",
            "G",
            "nr",
            "nr",
            "2023",
            "downlink",
            ("cubic", "reno", "htcp", "westwood", "bbr"),
            stack="linux-5.10",
        )
    )
    return found


def pantheon_networks(clone: Path) -> list[Network]:
    """Return the networks of source A, with the base round-trip time of each path."""
    campaigns: dict[str, list[float]] = {}
    for path in files(clone):
        campaigns.setdefault(path.rsplit("/", 1)[0], []).append(2 * read(clone, path)["delays"][0])
    lowest: dict[tuple[str, str], float] = {}
    for folder, rtts in campaigns.items():
        path = _path(folder)
        lowest[path] = min([lowest.get(path, float("inf")), *rtts])
    found = []
    for folder in sorted(campaigns):
        kind, name = folder.split("/")[1:]
        is_cell = kind == "cellular"
        start, end = _path(folder)
        found.append(
            Network(
                name,
                "A",
                "lte" if is_cell else "wire",
                "lte" if is_cell else "wire",
                name[:10],
                "downlink" if start.startswith("AWS") else "uplink",
                ALGORITHMS,
                flows=3 if name.endswith("3-flows") else 1,
                stagger_s=10.0 if name.endswith("3-flows") else 0.0,
                base_rtt_ms=round(lowest[start, end], 1),
            )
        )
    return found


def _path(folder: str) -> tuple[str, str]:
    match = re.fullmatch(r"[\dT-]{16}-(.+)-to-(.+?)-\d-runs(?:-3-flows)?", folder.split("/")[2])
    if match is None:
        msg = f"{folder}: not the name of a campaign"
        raise SystemExit(msg)
    return match[1], match[2]


def files(clone: Path) -> list[str]:
    """Return the paths of all files of source A."""
    listed = _git(clone, "ls-tree", "-r", "--name-only", COMMIT, "cc_trace")
    return [path for path in listed.splitlines() if path.endswith(".json")]


def read(clone: Path, path: str) -> dict[str, Any]:
    """Return one run of source A."""
    found: dict[str, Any] = json.loads(_git(clone, "show", f"{COMMIT}:{path}"))
    return found


def _git(clone: Path, *arguments: str) -> str:
    command = ["git", "-C", str(clone), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  git
    return done.stdout


def drawn(network: Network, folder: Path) -> list[dict[str, Any]]:
    """Return the settings of the drawn networks that represent a network.

    Args:
        network: the network to predict.
        folder: folder to which changed presets are written.
    """
    found: list[dict[str, Any]] = []
    for preset, count in DRAWN[network.draws]:
        link: Any = preset
        given = ["duration", *(["stack"] if network.stack else [])]
        if preset == "low orbit":
            users = load_population("satellite").classes
            link = next(each.link for each in users if each.name == preset)
        elif network.draws == "hspa":
            link = str(_changed(preset, folder))
        if network.base_rtt_ms is not None:
            given.append("link.server")
            if network.draws == "wire":
                link = f"{preset},delay={max(network.base_rtt_ms / 2, 0.5):.2f} ms"
            else:
                away = max(0.0, (network.base_rtt_ms - _CELL_MS[network.draws]) / 2)
                link = f"{preset},server={away:.2f} ms"
        sample = vary(link, count, SEED, given=given, folder=folder)
        changes = [dict(draw.changes) for draw in sample.draws]
        if network.draws == "wire":
            changes = [_with_queue_of_preset(each) for each in changes]
        found += [{"link": link, **each} for each in changes]
    return found


def _with_queue_of_preset(changes: dict[str, Any]) -> dict[str, Any]:
    """Give the queue of `wired-50` in packets: a known path does not change the access's queue."""
    share = float(changes["link.queue"].removesuffix(" BDP"))
    rate_mbit_s = float(changes["link.rate"].removesuffix(" Mbit/s"))
    packets = max(1, round(share * rate_mbit_s * 1e3 * _WIRED_BASE_RTT_MS / _PACKET_BITS))
    return {**changes, "link.queue": f"{packets} packets"}


def _changed(preset: str, folder: Path) -> Path:
    """Write a copy of an HSPA preset whose range of queue sizes uses no value of source E."""
    text = (Path(cwndlab.__file__).parent / "data" / "links" / f"{preset}.toml").read_text()
    if _HSPA_QUEUE[0] not in text:
        msg = f"{preset}: the range of the queue has changed"
        raise SystemExit(msg)
    path = folder / f"{preset}.toml"
    path.write_text(text.replace(*_HSPA_QUEUE))
    return path


def seed_of(*what: object) -> int:
    """Return a random seed that depends only on its arguments."""
    digest = hashlib.sha256(json.dumps(what).encode()).digest()
    return int.from_bytes(digest[:6], "big")
