"""Whether `cwndlab advise` agrees with full-length studies of recorded traces.

    python bench/advice.py TRACE... [--results FOLDER]

For each trace and goal: the advice, and what a study of the whole trace says, each of whose ten
repetitions runs for as long as the trace is and begins elsewhere in it.  They agree if the advised
algorithm is the study's winner or as good, or the study is undecided.  Exits 1 where they do not.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from cwndlab.advice import CANDIDATES, Wish, advise, compared, judge_wish
from cwndlab.api.study import Study
from cwndlab.study.describe import read_link

WISHES = (Wish.BALANCE, Wish.THROUGHPUT, Wish.LATENCY, Wish.STABILITY)


def main() -> int:
    """Print a line for each trace and goal."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("traces", type=Path, nargs="+")
    parser.add_argument("--results", type=Path, default=Path("results/advice"))
    arguments = parser.parse_args()
    print("trace | goal | advice | repetitions | s | whole trace | agree")
    disagreements = 0
    for trace in arguments.traces:
        link = f"trace:{trace},delay=20 ms"
        _, resolved = read_link(link)
        (length_s,) = (each.info["duration_s"] for each in resolved.traces.values())
        study = Study(
            link=link,
            algorithm=CANDIDATES,
            duration=f"{round(1000 * length_s)} ms",
            begin_within=f"{round(1000 * length_s)} ms",
            warm_up="5 s",
            repetitions=10,
            id=f"whole-{trace.name}",
        )
        (comparison,) = compared(study.run(arguments.results / study.id))
        for wish in WISHES:
            began = time.monotonic()
            folder = arguments.results / f"advice-{trace.name}"
            advice = advise(link, wish, folder=folder)
            spent_s = time.monotonic() - began
            whole = judge_wish(comparison, wish)
            first = advice.judged.recommended[0]
            is_same = first in whole.recommended or not whole.is_decided
            disagreements += not is_same
            open_ = "" if advice.judged.is_decided else " (not all decided)"
            answer = ", ".join(whole.recommended)
            print(
                f"{trace.name} | {wish} | {first}{open_} | {advice.repetitions} | {spent_s:.0f} | "
                f"{answer} | {'yes' if is_same else 'NO'}",
                flush=True,
            )
    return 1 if disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
