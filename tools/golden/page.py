"""Whether the page's module gives the same bytes as the native build: `make golden-page`.

Every scenario of `scenarios.py` that a page can ask for is run by the WebAssembly module in Node.js
and compared with `hashes.txt`. Left out are saturated links and recorded calls of hooks, which the
module does not offer. Exits 1 if one differs.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scenarios import Golden, scenarios

from run import HASHES, analysed, differences, digest, is_chosen, read_hashes, tell

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE = Path(__file__).parents[2] / "target" / "page"
ARRAYS = {
    "Uint8Array": np.uint8,
    "Uint16Array": np.uint16,
    "Uint32Array": np.uint32,
    "BigUint64Array": np.uint64,
    "Float64Array": np.float64,
}
LISTED = ("flows", "links")  # the core gives their columns as lists


def main() -> int:
    """Run the scenarios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only scenarios whose names contain one of these")
    options = parser.parse_args()
    every = [each for each in scenarios() if is_chosen(each.name, options.names)]
    asked = [each for each in every if each.call != "saturate" and not each.records_calls]
    workers = os.cpu_count() or 1
    parts = [asked[i::workers] for i in range(workers)]
    with ThreadPoolExecutor(workers) as pool:
        found = dict(itertools.chain.from_iterable(pool.map(answers, parts)))
    names = {each.name for each in asked}
    known = {name: hashes for name, hashes in read_hashes().items() if name in names}
    lines = list(differences(known, found))
    tell(lines, len(found), is_written=False)
    print(f"{len(every) - len(asked)} of {HASHES.name} are no runs that a page asks for")
    return int(bool(lines))


def answers(goldens: list[Golden]) -> Iterable[tuple[str, dict[str, str]]]:
    """The hashes of the tables that the module gives, by the scenarios' names."""
    questions = "".join(f"{question(golden)}\n" for golden in goldens)
    node = subprocess.run(  # noqa: S603  what was built here
        ["node",  # noqa: S607  of the path, as for `make page`
         PAGE / "test" / "golden.mjs", PAGE / "cwndlab.wasm"],
        input=questions, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = node.stdout.splitlines()
    if node.returncode or len(lines) != len(goldens):
        sys.exit(f"{len(lines)} of {len(goldens)} answers, then: {node.stderr}")
    return [
        (golden.name, {table: digest(value) for table, value in tables(golden, line).items()})
        for golden, line in zip(goldens, lines, strict=True)
    ]


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
