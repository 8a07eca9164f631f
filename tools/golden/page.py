"""Check that the page's module computes the same bytes as the native build (`make golden-page`).

The WebAssembly module runs every scenario of `scenarios.py` that a page can request, in Node.js or
in a browser; the results are compared with `hashes.txt`. Saturated links and recorded calls of
hooks are excluded, because the module does not offer them. Then, random settings of the page are
drawn, and the scenarios that the page makes of them are compared with those of `cwndlab compare`;
for some settings, so are the tables of a run, or the numbers and sentences of the decision over all
repetitions. Exits with 1 if anything differs.
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
import tempfile
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
from cwndlab.judge.sentences import certainty, headline, sentences
from run import (
    HASHES,
    SHOWN,
    analysed,
    answer,
    differences,
    digest,
    is_chosen,
    read_hashes,
    tell,
)

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
LISTED = ("flows", "links")  # tables whose columns the core returns as lists


def main() -> int:
    """Run the scenarios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", help="run only scenarios whose names contain one of these"
    )
    parser.add_argument(
        "--browser", metavar="PROGRAM", help="Chromium or Firefox to use instead of Node.js"
    )
    parser.add_argument("--settings", type=int, default=400, help="number of settings to draw")
    parser.add_argument("--runs", type=int, default=20, help="number of drawn settings to run")
    parser.add_argument("--decisions", type=int, default=12, help="number of decisions to draw")
    parser.add_argument("--seed", type=int, default=1, help="random seed of all draws")
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
    print(
        f"{len(every) - len(asked)} scenarios of {HASHES.name} are not runs that a page can request"
    )
    draw = random.Random(options.seed)  # noqa: S311  no secret
    settings = list(itertools.islice(drawn_settings(program, draw), options.settings))
    others = [line for setting in settings if (line := difference(*setting))]
    for line in (*others[:SHOWN], f"{len(others)} of {len(settings)} settings differ"):
        print(line)
    drawn = drawn_runs(draw, options.runs)
    native = {each.name: digests(answer(each)) for each in drawn}
    wrong = differences(native, dict(answers(program, drawn)))
    for line in (*wrong[:SHOWN], f"{len(wrong)} of {len(drawn)} drawn runs differ"):
        print(line)
    unlike = list(filter(None, decisions(program, draw, options.decisions)))
    for line in (*unlike[:SHOWN], f"{len(unlike)} of {options.decisions} decisions differ"):
        print(line)
    return int(bool(lines or others or wrong or unlike))


def drawn_runs(draw: random.Random, count: int) -> list[Golden]:
    """Draw runs of random settings of the page."""
    page = json.loads((PAGE / "data.json").read_text())
    found: list[Golden] = []
    while len(found) < count:
        setting = drawn_setting(draw, page) | {"duration_s": draw.randint(1, 20)}
        if not is_refused(setting):
            run = study_of(setting).matrix.runs[setting["repetition"] - 1]
            name = f"{len(found)} {link_of(setting)} {setting['algorithms'][0]}"
            found.append(Golden(name, json.loads(run.scenario_json), traces={}))
    return found


def digests(answers: dict[str, Any]) -> dict[str, str]:
    """Return the hash of each table."""
    return {table: digest(value) for table, value in answers.items()}


def decisions(program: Program, draw: random.Random, count: int) -> Iterator[str | None]:
    """Yield, for each drawn setting, a line if its decision differs from the command line's."""
    page = json.loads((PAGE / "data.json").read_text())
    settings: list[Json] = []
    while len(settings) < count:
        setting = drawn_setting(draw, page)
        names = [algorithm["name"] for algorithm in page["algorithms"]]
        setting |= {
            "algorithms": draw.sample(names, draw.randint(1, 4)),
            "duration_s": draw.randint(2, 6),
            "goal": draw.choice(page["goals"])["name"],
            "beside": "",  # in the page, the study makes this decision
        }
        if not is_refused(setting):
            settings.append(setting)
    found = asked(program, [json.dumps({"decide": setting}) for setting in settings])
    for setting, line in zip(settings, found, strict=True):
        said, expected = json.loads(line), decided(setting)
        wrong = [key for key, value in expected.items() if said.get(key) != value]
        told = "; ".join(f"{key} {said.get(key)} for {expected[key]}" for key in wrong)
        yield f"{setting}: {said.get('error', told)}" if wrong else None


def decided(setting: Json) -> Json:
    """Return the decision of `cwndlab compare` for a setting, and its sentences."""
    with tempfile.TemporaryDirectory() as folder:
        decision = (
            study_of(setting).run(results=folder).answers(setting["goal"]).settings[0].decision
        )
    return {
        "decision": json.loads(json.dumps(decision.to_json())),
        "headline": headline(decision),
        "sentences": sentences(decision),
        "certainty": [[line.name, line.value, line.meaning] for line in certainty(decision)],
    }


def is_refused(setting: Json) -> bool:
    """Return whether the command line refuses a setting."""
    try:
        _ = study_of(setting).matrix
    except StudyError:
        return True
    return False


def link_of(setting: Json) -> str:
    """Return the link of a setting as one line of text."""
    return ",".join([setting["preset"], *(f"{key}={v}" for key, v in setting["keys"].items())])


def study_of(setting: Json) -> cw.Study:
    """Return the study that `cwndlab compare` makes of a setting."""
    link = link_of(setting)
    beside = [{"algorithm": setting["beside"]}] if setting["beside"] else []
    return cw.Study(
        link=link, algorithm=setting["algorithms"],
        flow=[{"count": setting["flows"]}, *beside],
        seed=setting["seed"], duration=f"{setting['duration_s']} s",
        repetitions=setting["repetitions"],
        **randomness(resolve_text(link)),
    )  # fmt: skip


def drawn_settings(program: Program, draw: random.Random) -> Iterator[tuple[Json, Json]]:
    """Yield random settings in the form of page/src/setting.ts, with the module's answers."""
    page = json.loads((PAGE / "data.json").read_text())
    while True:
        batch = [drawn_setting(draw, page) for _ in range(BATCH)]
        lines = [json.dumps({"setting": s, "algorithm": s["algorithms"][0]}) for s in batch]
        yield from zip(batch, (json.loads(line) for line in asked(program, lines)), strict=True)


def drawn_setting(draw: random.Random, page: Json) -> Json:
    """Draw a random setting of the page."""
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
        "beside": draw.choice(["", "", "cubic", "vegas"]),
        "goal": page["goals"][0]["name"],
    }


def difference(setting: Json, said: Json) -> str | None:
    """Return a line if a setting's scenario differs from the command line's."""
    link = link_of(setting)
    try:
        study = study_of(setting)
        expected = core.check_scenario(study.matrix.runs[setting["repetition"] - 1].scenario_json)
    except StudyError as error:
        return None if "error" in said else f"{link}: the page does not refuse it: {error}"
    if "error" in said or said["scenario"] != expected:
        return f"{link} {setting}: {said.get('error', 'another scenario')}"
    return None


def answers(program: Program, goldens: list[Golden]) -> Iterable[tuple[str, dict[str, str]]]:
    """Return the hashes of the tables that the module computes, by the scenarios' names."""
    lines = asked(program, [question(golden) for golden in goldens])
    return [
        (golden.name, digests(tables(golden, line)))
        for golden, line in zip(goldens, lines, strict=True)
    ]


def asked(program: Program, questions: Sequence[str]) -> list[str]:
    """Return the module's answers to these lines."""
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
    """Return the command that runs the module: Node.js, or Node.js controlling a browser."""
    if browser is None:
        return ["node", PAGE / "test" / "node.mjs", PAGE / "cwndlab.wasm"]
    found = shutil.which(browser)
    if found is None:
        sys.exit(f"{browser}: not found")
    return ["node", PAGE / "test" / "browser.mjs", PAGE / "cwndlab.wasm", found]


def question(golden: Golden) -> str:
    """Return a scenario as a line of input for the module."""
    traces = {name: base64.b64encode(content).decode() for name, content in golden.traces.items()}
    return json.dumps({"scenario": json.dumps(golden.scenario), "traces": traces})


def tables(golden: Golden, line: str) -> dict[str, Any]:
    """Return the tables of an answer in the form that `run.answer` uses."""
    said = json.loads(line)
    if "tables" not in said:
        return said
    pcap = base64.b64decode(said["pcap"]) if said["pcap"] is not None else None
    if golden.call == "capture":
        return {"capture": analysed(pcap or b"")}
    found = {
        table: {name: column(values, is_listed=table in LISTED) for name, values in columns}
        for table, columns in said["tables"].items()
    }
    return found if pcap is None else found | {"pcap": pcap}


def column(values: Any, *, is_listed: bool) -> Any:  # noqa: ANN401  a list or an array
    """Return a column in the form in which the core returns it."""
    if isinstance(values, list):
        return values
    array = np.frombuffer(base64.b64decode(values["bytes"]), ARRAYS[values["type"]])
    if not is_listed:
        return array
    return [None if value != value else value for value in array.tolist()]  # noqa: PLR0124  NaN


if __name__ == "__main__":
    sys.exit(main())
