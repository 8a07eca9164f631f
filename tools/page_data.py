"""Writes what the page knows of this version: presets, algorithms, templates of scenarios.

It is JSON on standard output, read when the page is built. Scenarios come from the code of the
command line: `templates[n - 1]` is that of `cwndlab compare --flows n --repeat 2 ...` without its
path.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import cwndlab as cw
from cwndlab import core
from cwndlab.api.repetitions import START_JITTER
from cwndlab.errors import StudyError
from cwndlab.figures.style import style_of
from cwndlab.resolve.presets import load_preset, presets
from cwndlab.study.describe import read_link
from cwndlab.study.runs import channel_of

MOST_FLOWS = 8
SLIDERS = {  # keys that the page has sliders for, and a value that each can have
    "rate": "5 Mbit/s",
    "delay": "30 ms",
    "queue": "2 BDP",
    "loss": "1 %",
    "coverage": "12 dB",
    "speed": "50 km/h",
    "users": "4",
    "server": "20 ms",
}
_NS_PER_MS = 1_000_000


def main() -> None:
    """Write everything."""
    json.dump(data(), sys.stdout, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def data() -> dict[str, Any]:
    """Everything, as `Data` in page/src/data.ts."""
    return {
        "version": core.version(),
        "behaviour_epoch": core.behaviour_epoch(),
        "start_jitter_ns": int(START_JITTER.removesuffix(" ms")) * _NS_PER_MS,
        "templates": [template(flows) for flows in range(1, MOST_FLOWS + 1)],
        "presets": [preset(name) for name in presets()],
        "algorithms": [algorithm(name) for name in core.algorithms()],
    }


def template(flows: int) -> dict[str, Any]:
    """A scenario of flows alike without its path, and what its seed depends on."""
    study = cw.Study(link="rate=10 Mbit/s,delay=20 ms", algorithm="cubic", flows=flows)
    scenario = study.matrix.cells[0].resolved.scenario
    cell = json.loads(channel_of(scenario))
    del cell["path"]
    left_out = {"path", "seed"}
    return {
        "cell": cell,
        "scenario": scenario.model_dump(mode="json", exclude_none=True, exclude=left_out),
    }


def preset(name: str) -> dict[str, Any]:
    """A preset: its file, and what kind of link it is."""
    loaded = load_preset(name, presets()[name].parent)
    medium = next((kind for kind in ("cell", "wifi", "stage") if kind in loaded.link), "wire")
    return {
        "name": name,
        "title": loaded.title,
        "description": loaded.description,
        "medium": medium,
        "keys": [key for key, value in SLIDERS.items() if has_key(name, key, value)],
        "text": presets()[name].read_text(encoding="utf-8"),
    }


def has_key(preset: str, key: str, value: str) -> bool:
    """Whether a key can follow a preset in a link."""
    try:
        read_link(f"{preset},{key}={value}")
    except StudyError:
        return False
    return True


def algorithm(name: str) -> dict[str, Any]:
    """An algorithm, and how it is drawn."""
    style = style_of(name)
    return {
        "name": name,
        "summary": core.algorithm(name).description,
        "colour": style.colour,
        "dark_colour": style.dark_colour,
    }


if __name__ == "__main__":
    main()
