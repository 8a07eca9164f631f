"""How exact the emulator is on this machine, against bars; exits 1 below one.

Goodput of a bulk transfer beside what the link can carry, the delay that the emulator adds to that
of its link, and presets in real time. As root; figures of a busy machine say little, so the load is
printed with them, beside the delay that of as many bare timers as a ping has wake-ups, at the same
time, and how much of the processors the host of a virtual machine took for itself.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from cwndlab.api.study import Study
from cwndlab.backends.kernel.process import RunsHelper
from cwndlab.resolve.presets import presets

# Payload in an IPv4 packet of 1500 bytes with timestamps.
SHARE = 1448 / 1500
DELAY_MS = 10
GOODPUT_BARS = {10: 0.005, 50: 0.005, 100: 0.005, 300: 0.005, 1000: 0.01}
IDLE_BAR_MS, LOADED_BAR_MS = 0.5, 1.5
STEAL = 7
"""Which of a processor's times is that which the host took."""
PINGER = Path(__file__).with_name("pinger.py")


def run(study: Study) -> tuple[dict[str, float], dict[str, object]]:
    """The only run of a study on the kernel: its flow and the emulator's report."""
    made = study.matrix.runs[0]
    with RunsHelper() as helper:
        answer = helper.ask(
            {
                "do": "run",
                "scenario": json.loads(made.scenario.to_json()),
                "traces": {name: trace.content.decode() for name, trace in made.traces.items()},
            }
        )
    return answer["flows"][0], answer["report"]


def lateness(report: dict[str, object]) -> str:
    """What is said of the emulator beside a figure."""
    late = report["lateness"]
    drops = report["ring_drops"]
    cpu = report["cpu_pct"]
    return (
        f"late p50 {late['p50_us']:.0f}, p99 {late['p99_us']:.0f}, max {late['max_us']:.0f} us; "
        f"{drops} ring drops; {report['merged']} merged; {cpu:.0f} % of a core"
    )


def goodput(mbit_s: int, bar: float, seconds: int) -> bool:
    """One rate. Whether it holds its bar."""
    queue = max(60_000, mbit_s * 2 * DELAY_MS * 125)
    study = Study(
        link=f"rate={mbit_s} Mbit/s,delay={DELAY_MS} ms,queue={queue} B",
        algorithm="cubic",
        duration=f"{seconds + 4} s",
        warm_up="4 s",
        record={"samples": "1 s", "events": False},
    )
    flow, report = run(study)
    part = flow["goodput_mbit_s"] / (mbit_s * SHARE)
    holds = abs(part - 1) <= bar and report["ring_drops"] == 0
    print(
        f"{mbit_s:5} Mbit/s  goodput {flow['goodput_mbit_s']:8.3f} = {100 * part:.2f} % "
        f"(bar {100 * bar:.1f} %) {'ok' if holds else 'FAILS'}   {lateness(report)}"
    )
    return holds


def delay(loaded: bool, bar_ms: float) -> bool:  # noqa: FBT001  one of two
    """Round trips of echoes beyond those of the link. Whether the 99th percentile holds."""
    link = f"rate=100 Mbit/s,delay={DELAY_MS} ms"
    command = [sys.executable, "-m", "cwndlab", "shell", "--link", link, "--reverse-link", link]
    server = subprocess.Popen(  # noqa: S603  our own program
        [sys.executable, PINGER, "serve"], stdout=subprocess.PIPE, text=True
    )
    port = server.stdout.readline().strip()
    try:
        done = subprocess.run(  # noqa: S603  our own programs
            [*command, "--", sys.executable, PINGER, "ping", port, "50" if loaded else "0"],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    finally:
        server.kill()
        server.wait()
    result = json.loads(done.stdout)
    added, heard = (
        {name: value - 2 * DELAY_MS for name, value in result[which].items()}
        for which in ("rtt_ms", "heard_ms")
    )
    holds = added["p99"] < bar_ms
    what = "half load" if loaded else "no load  "
    print(
        f"  100 Mbit/s  {what}  added delay ms: {figures(added)} (bar p99 {bar_ms} ms) "
        f"{'ok' if holds else 'FAILS'}   {result['answered']} of {result['sent']} answered\n"
        f"  {'':10}  {'':9}  when the pinger ran ms: {figures(heard)}\n"
        f"  {'':10}  {'':9}  bare timers ms: {figures(result['control_ms'])}"
    )
    return holds


def figures(values: dict[str, float]) -> str:
    """Percentiles in one line."""
    return ", ".join(f"{name} {value:.3f}" for name, value in values.items())


def machine(since: list[int]) -> str:
    """Load, and what the host of a virtual machine kept of its processors since then."""
    ticks = processor_ticks()
    spent = [now - before for now, before in zip(ticks, since, strict=True)]
    return (
        f"load {' '.join(f'{value:.1f}' for value in os.getloadavg())}; "
        f"{100 * spent[STEAL] / max(1, sum(spent)):.2f} % of the processors taken by the host"
    )


def processor_ticks() -> list[int]:
    """What all processors did so far, as in proc(5)."""
    first = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    return [int(value) for value in first.split()[1 : STEAL + 2]]


def preset(name: str, seconds: int) -> bool:
    """A preset in real time. Whether the run is a measurement."""
    study = Study(link=name, algorithm="cubic", duration=f"{seconds} s")
    flow, report = run(study)
    print(
        f"  {name:16} goodput {flow['goodput_mbit_s']:7.2f} Mbit/s, RTT median "
        f"{flow['rtt_p50_ms']:.1f} ms   {report['invalid'] or 'ok'}   {lateness(report)}"
    )
    return not report["invalid"]


def main() -> int:
    """Measure everything that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=15, help="of each measurement")
    parser.add_argument("--only", choices=["goodput", "delay", "presets"])
    asked = parser.parse_args()
    if os.geteuid() != 0:
        print("skipped: the emulator needs root")
        return 0
    print(f"load {' '.join(f'{value:.1f}' for value in os.getloadavg())}, {os.cpu_count()} cores")
    began, holds = processor_ticks(), []
    if asked.only in (None, "goodput"):
        holds += [goodput(rate, bar, asked.seconds) for rate, bar in GOODPUT_BARS.items()]
    if asked.only in (None, "delay"):
        holds += [delay(False, IDLE_BAR_MS), delay(True, LOADED_BAR_MS)]  # noqa: FBT003  see there
    if asked.only in (None, "presets"):
        holds += [preset(name, min(asked.seconds, 10)) for name in presets()]
    print(machine(began))
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
