"""Measure the cost of a campaign besides its simulation; exit with 1 if it exceeds a bar.

The measured study consists of many short runs. Wall time, CPU time, memory, `fsync` calls and
written bytes are measured from the start of the interpreter to the finished results, on one core
and on two. The program also measures the time of the simulation itself, the growth of time and
memory with the number of runs, the runs lost by SIGKILL at random moments, and the cost of drawing
networks from the ranges of a preset.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

RUNS = 1_000
WALL_S = 1.5
CPU_S = 1.5
BYTES_A_RUN = 3_000
NETWORKS = 300
NETWORKS_CPU_S = 1.0
CHANGING = {"manifest.json", ".manifest.json", "history.parquet", ".lock"}

_STUDY = """
import cwndlab as cw
study = cw.Study(link="rate=10 Mbit/s,delay=20 ms", algorithm=["reno", "cubic"],
                 duration="2 s", repetitions={repetitions}, record={record}, id="bench")
"""
_CAMPAIGN = f"""
import json, os, sys, resource, time
syncs, fsync = [0], os.fsync
def counted(file):
    syncs[0] += 1
    fsync(file)
os.fsync = counted
{_STUDY}
began_s = time.perf_counter()
study.run({{folder!r}}, jobs={{jobs}})
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({{{{
    "fsyncs": syncs[0], "rss_mb": usage.ru_maxrss / 1024,
    "study_s": time.perf_counter() - began_s}}}}))
"""
_SIMULATION = f"""
import json, time
{_STUDY}
from cwndlab import core
texts = [run.scenario_json for run in study.matrix.runs]
began_s = time.process_time()
while texts:
    texts = texts[len(core.run_many(texts[:512], {{{{}}}})["errors"]):]
print(json.dumps({{{{"simulation_s": time.process_time() - began_s}}}}))
"""
_NETWORKS = """
import json, time
import cwndlab as cw
from cwndlab.judge.sampling import vary
def resolved(count):
    draws = vary("lte-typical", count, 1).draws
    study = cw.Study(link="lte-typical", algorithm="cubic",
                     factors={"network": [draw.level() for draw in draws]})
    return [cell.resolved.scenario for cell in study.cells]
resolved(2)  # what is loaded once
began_s = time.process_time()
assert len(resolved(COUNT)) == COUNT
print(json.dumps({"networks_s": time.process_time() - began_s}))
"""
SUMMARIES = '{"samples": "none", "events": False}'


@dataclass(frozen=True)
class Cost:
    """The measured cost of one campaign."""

    wall_s: float
    cpu_s: float
    study_s: float
    rss_mb: float
    fsyncs: int
    bytes_a_run: float


def campaign(runs: int, folder: Path, record: str = "{}", jobs: int = 2) -> Cost:
    """Run a study in a separate process, and return its cost from start to end."""
    text = _CAMPAIGN.format(repetitions=runs // 2, record=record, folder=str(folder), jobs=jobs)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began_s = time.perf_counter()
    told = json.loads(output_of(text))
    wall_s = time.perf_counter() - began_s
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Cost(wall_s, cpu_s, told["study_s"], told["rss_mb"], told["fsyncs"], size / runs)


def output_of(text: str) -> bytes:
    """Return the output of a Python program."""
    return subprocess.check_output([sys.executable, "-c", text])  # noqa: S603  our own program


def digest(folder: Path) -> str:
    """Return a hash of all files except those that contain times and machines."""
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in CHANGING:
            whole.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return whole.hexdigest()


def kills(count: int, folder: Path, runs: int) -> tuple[int, int]:
    """Kill a study at random moments; return the numbers of lost and of repeated runs."""
    from cwndlab.errors import ResultsError  # noqa: PLC0415  the rest needs no cwndlab
    from cwndlab.results.folder import Folder  # noqa: PLC0415

    def finished() -> Counter[str]:
        try:
            entries = Folder.open(folder).history
        except ResultsError:
            return Counter()
        return Counter(entry["run"] for entry in entries if entry["status"] == "done")

    text = _CAMPAIGN.format(repetitions=runs // 2, record="{}", folder=str(folder), jobs=2)
    draw = random.Random()  # noqa: S311  no secret
    lost = 0
    twice = 0
    for _ in range(count):
        before = finished()
        if len(before) == runs:
            shutil.rmtree(folder)
            before = Counter()
        process = subprocess.Popen(  # noqa: S603  our own program
            [sys.executable, "-c", text], stdout=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(draw.uniform(0.5, 3))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        after = finished()
        lost += len(before.keys() - after.keys())
        twice += sum(times - 1 for times in after.values())
    return lost, twice


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--many", type=int, default=100_000, help="number of runs of the largest study"
    )
    parser.add_argument("--kills", type=int, default=200)
    options = parser.parse_args()
    missed = 0

    def judge(name: str, value: float, unit: str, bar: float | None = None) -> None:
        nonlocal missed
        is_ok = bar is None or value <= bar
        missed += not is_ok
        against = "" if bar is None else f"at most {bar:,g}  {'ok' if is_ok else 'MISSED'}"
        print(f"{name:58} {value:12,.4g} {unit:8} {against}", flush=True)

    drawn = json.loads(output_of(_NETWORKS.replace("COUNT", str(NETWORKS))))
    judge(f"{NETWORKS} networks drawn and resolved", drawn["networks_s"], "CPU s", NETWORKS_CPU_S)
    with tempfile.TemporaryDirectory() as place:
        top = Path(place)
        text = _SIMULATION.format(repetitions=RUNS // 2, record="{}")
        simulated = json.loads(output_of(text))
        judge(f"{RUNS:,} runs of 2 s: the simulation itself", simulated["simulation_s"], "CPU s")
        digests = []
        for jobs in (1, 2):
            folder = top / f"jobs-{jobs}"
            cost = campaign(RUNS, folder, jobs=jobs)
            name = f"{RUNS:,} runs on {jobs} core{'s' * (jobs > 1)}"
            bars = (WALL_S, CPU_S) if jobs > 1 else (None, None)
            judge(f"{name}, with the start of Python", cost.wall_s, "s", bars[0])
            judge(f"{name}, with the start of Python", cost.cpu_s, "CPU s", bars[1])
            judge(f"{name}, the study alone", cost.study_s, "s")
            judge(f"{name}: fsync", cost.fsyncs, "times")
            judge(f"{name}: results", cost.bytes_a_run, "B a run")
            digests.append(digest(folder))
        judge("files that differ between one core and two", len(set(digests)) - 1, "", 0)
        for runs in (options.many // 10, options.many):
            cost = campaign(runs, top / f"runs-{runs}", SUMMARIES)
            judge(f"{runs:,} runs, summaries only", cost.wall_s, "s")
            judge(f"{runs:,} runs, summaries only", cost.cpu_s / runs * 1e3, "ms a run")
            judge(f"{runs:,} runs, summaries only: memory", cost.rss_mb, "MB")
            judge(f"{runs:,} runs, summaries only", cost.bytes_a_run, "B a run", BYTES_A_RUN)
        if options.kills:
            lost, twice = kills(options.kills, top / "killed", 4 * RUNS)
            judge(f"{options.kills} times SIGKILL: finished runs lost", lost, "runs", 0)
            judge(f"{options.kills} times SIGKILL: finished runs repeated", twice, "runs", 0)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
