"""Check that the results of some 1,100 scenarios are unchanged, byte for byte.

`hashes.txt` has a line for each scenario of `scenarios.py`: the scenario's name and, for each table
of its result, the beginning of the table's SHA-256. Exits with 1 if any hash differs. For a commit
that is meant to change results, run this program with `--write`, increase the behaviour epoch, and
state in the commit message which scenarios changed and why.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scenarios import Golden, scenarios

from cwndlab import _core

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HASHES = Path(__file__).with_name("hashes.txt")
HEX_DIGITS = 16  # of 64: the probability that two builds agree on them by chance is 1 in 10^19
SHOWN = 40
NO_TABLES = ("behaviour_epoch",)  # states that results may differ; it is not a table

Hashes = dict[str, dict[str, str]]


def main() -> int:
    """Run the scenarios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", help="run only scenarios whose names contain one of these"
    )
    parser.add_argument("--write", action="store_true", help="store the new hashes in hashes.txt")
    parser.add_argument(
        "--tables",
        type=Path,
        metavar="FOLDER",
        help="folder to which the tables are written as text",
    )
    options = parser.parse_args()
    every = scenarios()
    chosen = [each for each in every if is_chosen(each.name, options.names)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        tables = dict(zip((each.name for each in chosen), pool.map(answer, chosen), strict=True))
    if options.tables:
        write_tables(tables, options.tables)
    found = {name: {table: digest(value) for table, value in answers.items()}
             for name, answers in tables.items()}  # fmt: skip
    known = read_hashes()
    kept = {name: row for name, row in known.items() if name in {each.name for each in every}}
    if options.write:
        write_hashes(kept | found)
    gone = known.keys() - kept.keys()
    lines = [
        *differences(known, found),
        *(f"{name}: this scenario no longer exists" for name in gone),
    ]
    tell(lines, len(found), is_written=options.write)
    return int(bool(lines) and not options.write)


def is_chosen(name: str, parts: Iterable[str]) -> bool:
    """Return whether a scenario is one of those that the user chose."""
    return not parts or any(part in name for part in parts)


def answer(golden: Golden) -> dict[str, Any]:
    """Return the tables of a scenario, or its error as the only table."""
    scenario = json.dumps(golden.scenario)
    try:
        if golden.call == "saturate":
            saturation = _core.saturate(scenario, golden.traces, golden.direction, 1)
            return {"saturation": dict(saturation)}
        result = _core.run(scenario, golden.traces, record_calls=golden.records_calls)
    except (ValueError, RuntimeError) as error:
        return {"error": str(error)}
    if golden.call == "capture":
        return {"capture": analysed(result["pcap"] or b"")}
    return {
        table: value
        for table, value in result.items()
        if value is not None and table not in NO_TABLES
    }


def analysed(pcap: bytes) -> list[dict[str, Any]]:
    """Return the analysis of a capture."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "capture.pcap"
        path.write_bytes(pcap)
        return _core.analyse_capture(path)


def digest(value: Any) -> str:  # noqa: ANN401  whatever a table consists of
    """Return the beginning of a table's SHA-256."""
    content = value if isinstance(value, bytes) else printed(value).encode()
    return hashlib.sha256(content).hexdigest()[:HEX_DIGITS]


def printed(value: Any) -> str:  # noqa: ANN401  whatever a table consists of
    """Return a table as text that represents every bit of it, with one line for each column."""

    def of_array(array: Any) -> dict[str, Any]:  # noqa: ANN401  what json does not know
        if isinstance(array, bytes):
            return {"bytes": hashlib.sha256(array).hexdigest()}
        return {str(array.dtype): np.asarray(array).tolist()}

    if isinstance(value, dict):
        columns = (
            f"{name} {json.dumps(column, default=of_array)}" for name, column in value.items()
        )
        return "\n".join(columns) + "\n"
    return json.dumps(value, default=of_array) + "\n"


def differences(known: Hashes, found: Hashes) -> list[str]:
    """Return a line for each scenario whose hashes have changed."""
    lines = []
    for name, tables in found.items():
        before = known.get(name)
        if before is None:
            lines.append(f"{name}: new")
            continue
        changed = [table for table in sorted(tables.keys() | before.keys())
                   if tables.get(table) != before.get(table)]  # fmt: skip
        if changed:
            lines.append(f"{name}: {', '.join(changed)}")
    return lines


def tell(lines: list[str], total: int, *, is_written: bool) -> None:
    """Print the scenarios that differ, and their number by kind."""
    for line in lines[:SHOWN]:
        print(line)
    if len(lines) > SHOWN:
        print(f"and {len(lines) - SHOWN} more")
    if lines:
        kinds = Counter(line.split("/")[0] for line in lines)
        print("by kind: " + ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())))
    verdict = "have new hashes" if is_written else "differ"
    print(
        f"{len(lines)} of {total} scenarios {verdict}" if lines else f"{total} scenarios: the same"
    )


def write_tables(tables: Mapping[str, Mapping[str, Any]], folder: Path) -> None:
    """Write each table as text to a separate file."""
    for name, answers in tables.items():
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        for table, value in answers.items():
            (place / f"{table}.txt").write_text(printed(value))


def read_hashes() -> Hashes:
    """Read the stored hashes."""
    known: Hashes = {}
    for line in HASHES.read_text().splitlines() if HASHES.exists() else []:
        name, *columns = line.split(" ")
        known[name] = dict(column.split("=", 1) for column in columns)
    return known


def write_hashes(hashes: Hashes) -> None:
    """Store new hashes."""
    rows = (
        " ".join([name, *(f"{table}={value}" for table, value in sorted(tables.items()))])
        for name, tables in sorted(hashes.items())
    )
    HASHES.write_text("".join(f"{row}\n" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
