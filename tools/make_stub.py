"""Update the tables in `python/cwndlab/_core.pyi` from the columns that the core defines."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from cwndlab import _core

STUB = Path(__file__).parent.parent / "python/cwndlab/_core.pyi"
BEGIN, END = "# ---- tables, by tools/make_stub.py\n", "# ---- end of the tables\n"
CLASSES = {
    "flows": ("Flows", "One entry for each flow, in the order of the scenario."),
    "links": ("Links", "One entry for each stage of the path, beginning with `forward.0`."),
    "samples": (
        "Samples",
        "Samples of each flow at equal intervals. NaN: ssthresh is infinite, or no RTT yet.",
    ),
    "events": (
        "Events",
        "Events of a run. `flow` is None if an event concerns all flows; NaN means no value.",
    ),
    "acks": (
        "Acks",
        "State of the sender before each ACK; sequence numbers count from the first byte.",
    ),
    "saturation": (
        "Saturation",
        "Recording of a saturated link: arrivals, queue length per ms, blocks of a cell.",
    ),
}
TYPES = {"text": "str", "integer": "int", "real": "float"}


def tables() -> str:
    """Return the typed dictionaries of all tables."""
    columns: list[dict[str, Any]] = _core.columns()
    parts = []
    for table, (name, sentence) in CLASSES.items():
        lines = ["@type_check_only", f"class {name}(TypedDict):", f'    """{sentence}"""', ""]
        lines += [
            f"    {column['name']}: {_type(column)}"
            for column in columns
            if column["table"] == table
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _type(column: dict[str, Any]) -> str:
    if column["array"]:
        return f"NDArray[np.{column['array']}]"
    undefined = " | None" if column["can_be_undefined"] else ""
    return f"list[{TYPES[column['type']]}{undefined}]"


def written(stub: str) -> str:
    """Return the stub with the current tables."""
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return pattern.sub(lambda _: f"{BEGIN}{tables()}\n\n{END}", stub)


if __name__ == "__main__":
    text = STUB.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        sys.exit(0 if written(text) == text else "_core.pyi is out of date; run tools/make_stub.py")
    STUB.write_text(written(text), encoding="utf-8")
