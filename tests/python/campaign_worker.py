"""Run a small study in a separate process that tests may kill.

Usage: campaign_worker.py FOLDER JOBS REPETITIONS [FILE_LIMIT_BYTES]. Prints "ready" at the start.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from cwndlab.api.running import run_study
from cwndlab.api.study import Study
from cwndlab.errors import CwndlabError
from cwndlab.run.progress import Silent


def study(repetitions: int) -> Study:
    """Return a small study of several cells."""
    return Study(
        link="rate=10 Mbit/s,delay=20 ms,loss=1 %",
        algorithm=["reno", "cubic", "highspeed"],
        factors={"link.rate": ["1 Mbit/s", "10 Mbit/s"]},
        flows=2,
        duration="2 s",
        repetitions=repetitions,
        id="crash",
    )


def main() -> int:
    folder, jobs, repetitions = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    made = study(repetitions)
    print("ready", flush=True)  # noqa: T201  the parent waits for it
    if len(sys.argv) > 4:
        limit = int(sys.argv[4])
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        run_study(made, folder, jobs=jobs, report=lambda *_: Silent())
    except CwndlabError as error:
        print(error, file=sys.stderr)  # noqa: T201  the parent reads it
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
