"""Whether the page's module gives the same bytes as the native build: `make golden-page`.

Every scenario of `scenarios.py` that a page can ask for is run by the WebAssembly module in
Node.js, or in a browser, and compared with `hashes.txt`. Left out are saturated links and recorded
calls of hooks, which the module does not offer. Then settings of the page are drawn by a seed, and
the scenarios that it makes of them are compared with those of `cwndlab compare`. Exits 1 if one
differs.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scenarios import Golden, scenarios

import cwndlab as cw
from cwndlab import core
from cwndlab.api.repetitions import randomness, resolve_text
from cwndlab.errors import StudyError
from run import HASHES, SHOWN, analysed, differences, digest, is_chosen, read_hashes, tell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PAGE = Path(__file__).parents[2] / "target" / "page"
ARRAYS = {
    "Uint8Array": np.uint8,
    "Uint16Array": np.uint16,
    "Uint32Array": np.uint32,
    "BigUint64Array": np.uint64,
    "Float64Array": np.float64,
}
BATCH = 1000
VALUES = {
    "rate": ("0.5 Mbit/s", "13 Mbit/s", "500 Mbit/s"),
    "delay": ("1 ms", "33 ms", "500 ms"),
    "queue": ("0.1 BDP", "1 BDP", "20 BDP"),
    "loss": ("0 %", "0.3 %", "10 %"),
    "coverage": ("-5 dB", "12 dB", "30 dB"),
    "speed": ("1 km/h", "55 km/h", "300 km/h"),
    "users": ("1", "5", "12"),
    "server": ("0 ms", "25 ms", "200 ms"),
}
Json = dict[str, Any]
Program = list[str | Path]
LISTED = ("flows", "links")  # the core gives their columns as lists


def main() -> int:
    """Run the scenarios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only scenarios whose names contain one of these")
    parser.add_argument(
        "--browser", metavar="PROGRAM", help="a Chromium or Firefox that runs it instead of Node.js"
    )
    parser.add_argument("--settings", type=int, default=400, help="how many settings to draw")
    parser.add_argument("--seed", type=int, default=1, help="by which they are drawn")
    options = parser.parse_args()
    program = program_of(options.browser)
    every = [each for each in scenarios() if is_chosen(each.name, options.names)]
    asked = [each for each in every if each.call != "saturate" and not each.records_calls]
    workers = os.cpu_count() or 1
    parts = [asked[i::workers] for i in range(workers)]
    with ThreadPoolExecutor(workers) as pool:
        found = dict(itertools.chain.from_iterable(pool.map(partial(answers, program), parts)))
    names = {each.name for each in asked}
    known = {name: hashes for name, hashes in read_hashes().items() if name in names}
    lines = list(differences(known, found))
    tell(lines, len(found), is_written=False)
    print(f"{len(every) - len(asked)} of {HASHES.name} are no runs that a page asks for")
    draw = random.Random(options.seed)  # noqa: S311  no secret
    settings = list(itertools.islice(drawn_settings(program, draw), options.settings))
    others = [line for setting in settings if (line := difference(*setting))]
    for line in (*others[:SHOWN], f"{len(others)} of {len(settings)} settings differ"):
        print(line)
    return int(bool(lines or others))


def drawn_settings(program: Program, draw: random.Random) -> Iterator[tuple[Json, Json]]:
    """Settings as page/src/setting.ts has them, each with an algorithm, and the module's answer."""
    page = json.loads((PAGE / "data.json").read_text())
    while True:
        batch = [drawn_setting(draw, page) for _ in range(BATCH)]
        lines = [json.dumps({"setting": s, "algorithm": s["algorithms"][0]}) for s in batch]
        yield from zip(batch, (json.loads(line) for line in asked(program, lines)), strict=True)


def drawn_setting(draw: random.Random, page: Json) -> Json:
    """A setting that the page can have, by chance."""
    preset = draw.choice(page["presets"])
    chosen = {key: draw.choice(VALUES[key]) for key in preset["keys"] if draw.random() < 0.4}  # noqa: PLR2004
    return {
        "preset": preset["name"],
        "keys": chosen,
        "algorithms": [draw.choice(page["algorithms"])["name"]],
        "flows": draw.randint(1, len(page["templates"])),
        "duration_s": draw.randint(1, 120),
        "repetition": draw.randint(1, 10),
        "repetitions": 10,
        "seed": draw.choice([0, 1, 7, 2**53 - 1]),
    }


def difference(setting: Json, answer: Json) -> str | None:
    """A line about a setting whose scenario is not that of the command line."""
    link = ",".join([setting["preset"], *(f"{key}={v}" for key, v in setting["keys"].items())])
    try:
        study = cw.Study(
            link=link, algorithm=setting["algorithms"], flows=setting["flows"],
            seed=setting["seed"], duration=f"{setting['duration_s']} s",
            repetitions=setting["repetitions"],
            **randomness(resolve_text(link)),
        )  # fmt: skip
        expected = core.check_scenario(study.matrix.runs[setting["repetition"] - 1].scenario_json)
    except StudyError as error:
        return None if "error" in answer else f"{link}: the page does not refuse it: {error}"
    if "error" in answer or answer["scenario"] != expected:
        return f"{link} {setting}: {answer.get('error', 'another scenario')}"
    return None


def answers(program: Program, goldens: list[Golden]) -> Iterable[tuple[str, dict[str, str]]]:
    """The hashes of the tables that the module gives, by the scenarios' names."""
    lines = asked(program, [question(golden) for golden in goldens])
    return [
        (golden.name, {table: digest(value) for table, value in tables(golden, line).items()})
        for golden, line in zip(goldens, lines, strict=True)
    ]


def asked(program: Program, questions: Sequence[str]) -> list[str]:
    """The module's answers to these lines."""
    done = subprocess.run(  # noqa: S603  what was built here
        program,
        input="".join(f"{line}\n" for line in questions),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    if done.returncode or len(lines) != len(questions):
        sys.exit(f"{len(lines)} of {len(questions)} answers, then: {done.stderr}")
    return lines


def program_of(browser: str | None) -> Program:
    """What runs the module: Node.js, or by way of it a browser."""
    if browser is None:
        return ["node", PAGE / "test" / "node.mjs", PAGE / "cwndlab.wasm"]
    found = shutil.which(browser)
    if found is None:
        sys.exit(f"{browser}: not found")
    return ["node", PAGE / "test" / "browser.mjs", PAGE / "cwndlab.wasm", found]


def question(golden: Golden) -> str:
    """A scenario as a line for the module."""
    traces = {name: base64.b64encode(content).decode() for name, content in golden.traces.items()}
    return json.dumps({"scenario": json.dumps(golden.scenario), "traces": traces})


def tables(golden: Golden, line: str) -> dict[str, Any]:
    """The tables of an answer, as `run.answer` gives those of the core."""
    answer = json.loads(line)
    if "tables" not in answer:
        return answer
    pcap = base64.b64decode(answer["pcap"]) if answer["pcap"] is not None else None
    if golden.call == "capture":
        return {"capture": analysed(pcap or b"")}
    found = {
        table: {name: column(values, is_listed=table in LISTED) for name, values in columns}
        for table, columns in answer["tables"].items()
    }
    return found if pcap is None else found | {"pcap": pcap}


def column(values: Any, *, is_listed: bool) -> Any:  # noqa: ANN401  a list or an array
    """A column as the core gives it."""
    if isinstance(values, list):
        return values
    array = np.frombuffer(base64.b64decode(values["bytes"]), ARRAYS[values["type"]])
    if not is_listed:
        return array
    return [None if value != value else value for value in array.tolist()]  # noqa: PLR0124  NaN


if __name__ == "__main__":
    sys.exit(main())
