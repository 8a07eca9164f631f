"""Write the page's data for this version: presets, algorithms, scenarios and sentences.

The JSON on standard output is read when the page is built. Scenarios come from the code of the
command line: `templates[n - 1]` is the scenario of `cwndlab compare --flows n --repeat 2 ...`
without its path; `templates_beside[n - 1]` has one more flow, whose algorithm the page chooses.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cwndlab as cw
from cwndlab import core
from cwndlab.api.repetitions import START_JITTER
from cwndlab.errors import StudyError
from cwndlab.figures.style import style_of
from cwndlab.judge.answer import BASELINE
from cwndlab.judge.decision import SURE, ZONE
from cwndlab.judge.goals import BALANCE, LATENCY, THROUGHPUT
from cwndlab.judge.reality import reality_of
from cwndlab.judge.record import phrase_of_record
from cwndlab.judge.simulated_host import simulated_host
from cwndlab.judge.templates import CHANGES, TEMPLATES
from cwndlab.resolve.presets import load_preset, presets
from cwndlab.study.describe import read_link
from cwndlab.study.runs import channel_of

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_FLOWS = 8
ALGORITHMS = Path(__file__).parents[1] / "docs" / "explanation" / "algorithms.md"
SLIDERS = {  # keys for which the page has sliders, and an example value of each
    "rate": "5 Mbit/s",
    "delay": "30 ms",
    "queue": "2 BDP",
    "loss": "1 %",
    "coverage": "12 dB",
    "speed": "50 km/h",
    "users": "4",
    "server": "20 ms",
}
GOALS = (BALANCE, THROUGHPUT, LATENCY)  # goals that need no further flows or records
CLASSES = ("umts", "lte", "nr", "wifi", "wire", "trace")  # classes of networks; some have a record
CANDIDATES = {  # values that are compared with a preset's own value
    "coverage": [f"{level} dB" for level in range(-5, 31)],
    "users": [str(users) for users in range(1, 13)],
    "server": [f"{delay} ms" for delay in range(201)],
}
SPEEDS = [f"{speed} km/h" for speed in (1, 2, 3, 5, 10, 30, 50, 80, 100, 120, 200, 300)]
SAME_SPEED = 0.05  # relative difference of the Doppler shift, which presets round
_NS_PER_MS = 1_000_000


def main() -> None:
    """Write the data as JSON."""
    json.dump(data(), sys.stdout, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def data() -> dict[str, Any]:
    """Return the data in the form of `Data` in page/src/data.ts."""
    return {
        "version": core.version(),
        "behaviour_epoch": core.behaviour_epoch(),
        "start_jitter_ns": int(START_JITTER.removesuffix(" ms")) * _NS_PER_MS,
        "templates": [template([{"count": flows}]) for flows in range(1, MOST_FLOWS + 1)],
        "templates_beside": [
            template([{"count": flows}, {"algorithm": BASELINE}])
            for flows in range(1, MOST_FLOWS + 1)
        ],
        "rule": {"zone": ZONE, "sure": SURE},
        "baseline": BASELINE,
        "host": simulated_host(template([{}])["scenario"]).to_json(),
        "goals": [
            {"name": g.name, "title": g.title, "price": g.price, "missing": g.missing}
            for g in GOALS
        ],
        "reality": {
            name: {"record": record.to_json(), "meaning": phrase_of_record(record)}
            for name in CLASSES
            if (record := reality_of(name)) is not None
        },
        "sentences": TEMPLATES,
        "changes": CHANGES,
        "presets": [preset(name) for name in presets()],
        "algorithms": [algorithm(name) for name in core.algorithms()],
    }


def template(flows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a scenario of these flows without its path, and the settings that its seed needs."""
    study = cw.Study(link="rate=10 Mbit/s,delay=20 ms", algorithm="cubic", flow=flows)
    scenario = study.matrix.cells[0].resolved.scenario
    cell = json.loads(channel_of(scenario))
    del cell["path"]
    left_out = {"path", "seed"}
    return {
        "cell": cell,
        "scenario": scenario.model_dump(mode="json", exclude_none=True, exclude=left_out),
    }


def preset(name: str) -> dict[str, Any]:
    """Return a preset: its file, the kind of its link, and the values of its sliders."""
    loaded = load_preset(name, presets()[name].parent)
    medium = next((kind for kind in ("cell", "wifi", "stage") if kind in loaded.link), "wire")
    keys = [key for key, value in SLIDERS.items() if has_key(name, key, value)]
    own = {key: own_value(name, key, loaded.link) for key in keys}
    return {
        "name": name,
        "title": loaded.title,
        "description": loaded.description,
        "medium": medium,
        "keys": keys,
        "values": {key: value for key, value in own.items() if value is not None},
        "text": presets()[name].read_text(encoding="utf-8"),
    }


def has_key(preset: str, key: str, value: str) -> bool:
    """Return whether a link can set a key after the name of a preset."""
    try:
        read_link(f"{preset},{key}={value}")
    except StudyError:
        return False
    return True


def own_value(preset: str, key: str, link: Mapping[str, object]) -> str | None:
    """Return a preset's own value of a key; None if no value of the slider equals it."""
    written = link.get(key)
    if isinstance(written, str):
        return written
    if key == "loss":
        return "0 %" if written is None else None
    if key == "speed":
        return own_speed(preset)
    own = path_of(preset)
    return next(
        (value for value in CANDIDATES.get(key, ()) if path_of(f"{preset},{key}={value}") == own),
        None,
    )


def own_speed(preset: str) -> str | None:
    """Return the speed whose Doppler shift is nearest to the preset's; None if none is close."""

    def shift(link: str) -> int:
        return next((user.get("fading", {}).get("doppler_mhz", 0) for user in users(link)), 0)

    def users(link: str) -> list[dict[str, Any]]:
        return path_of(link).get("users", [])

    own = shift(preset)
    apart = {speed: abs(shift(f"{preset},speed={speed}") / own - 1) for speed in SPEEDS if own}
    nearest = min(apart, key=lambda speed: apart[speed], default=None)
    return nearest if nearest is not None and apart[nearest] < SAME_SPEED else None


@functools.cache
def path_of(link: str) -> dict[str, Any]:
    """Return the path of a scenario on a link that is given in one line."""
    study = cw.Study(link=link, algorithm="cubic")
    scenario = study.matrix.cells[0].resolved.scenario
    path: dict[str, Any] = scenario.model_dump(mode="json", exclude_none=True)["path"]
    return path


def algorithm(name: str) -> dict[str, Any]:
    """Return an algorithm's description, and its style in figures."""
    style, known = style_of(name), core.algorithm(name)
    return {
        "name": name,
        "summary": known.description,
        "phases": list(known.phases),
        **windows()[name],
        "colour": style.colour,
        "dark_colour": style.dark_colour,
    }


@functools.cache
def windows() -> dict[str, dict[str, str]]:
    """Return each algorithm's window growth and reaction to loss, from the documentation."""
    found = {}
    for line in ALGORITHMS.read_text(encoding="utf-8").splitlines():
        if row := re.match(r"\| `([\w-]+)`[^|]*\| ([^|]*) \| ([^|]*) \|", line):
            found[row[1]] = {"increase": row[2], "decrease": row[3]}
    return found


if __name__ == "__main__":
    main()
