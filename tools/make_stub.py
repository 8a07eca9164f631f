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
    "flows": ("Flows", "One entry per flow, in the scenario's order."),
    "links": ("Links", "One entry per stage of the path, `forward.0` first."),
    "samples": (
        "Samples",
        "The flows at an interval, while they live. NaN: an infinite ssthresh, no RTT yet.",
    ),
    "events": (
        "Events",
        "What happened. `flow` is None for an event that concerns every flow; NaN: no value.",
    ),
    "acks": (
        "Acks",
        "The state in which each ACK found its sender; positions count from the first byte.",
    ),
    "saturation": (
        "Saturation",
        "What a source got that always sends: arrivals, the queue each ms, a cell's blocks.",
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
        sys.exit(0 if written(text) == text else "_core.pyi is not what tools/make_stub.py writes")
    STUB.write_text(written(text), encoding="utf-8")
