"""A process for one loaded algorithm: what the algorithm breaks ends it.

Usage: record.py describe OBJECT SOURCE-NAME                          prints what it is, as JSON
       record.py record   OBJECT SOURCE-NAME SCENARIO.json CALLS      runs, and writes every call
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from scenarios import NAME

from cwndlab import _core


def main() -> None:
    """Do what the first argument says."""
    what, library, source, *files = sys.argv[1:]
    if what == "describe":
        print(json.dumps(_core.describe_object(library, source)))
        return
    scenario, calls = (Path(file) for file in files)
    result = _core.run(scenario.read_text(), {}, {NAME: (library, source)}, record_calls=True)
    calls.write_bytes(result["calls"])


if __name__ == "__main__":
    main()
