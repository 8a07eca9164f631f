"""Measure the emulator's accuracy on this machine; exit with 1 if it misses a bar.

The program runs as root. It measures the goodput of bulk transfers relative to the capacity of the
link, the processor share that the emulator needs for these transfers, the delay that the emulator
adds to the link's delay, and presets in real time. A machine cannot be more accurate than its
timers. Therefore, turns of pings alternate with turns of bare timers, which have as many wake-ups
as a ping, and to which the time is added that a ping spends on a perfect link (its transmission,
and waiting behind a packet of the load). The median ratio of consecutive turns is compared with the
bar. The program also prints the load, and the share of processor time that the host of a virtual
machine took.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from math import ceil
from pathlib import Path
from statistics import median

from cwndlab.api.study import Study
from cwndlab.backends.kernel.process import RunsHelper
from cwndlab.resolve.presets import presets

# Payload in an IPv4 packet of 1500 bytes with timestamps.
SHARE = 1448 / 1500
DELAY_MS = 10
DELAY_MBIT_S = 100
GOODPUT_BARS = {10: 0.005, 50: 0.005, 100: 0.005, 300: 0.005, 1000: 0.01, 2500: 0.01}
AIM_MBIT_S = 5000
"""Rate that is measured but not judged."""
CPU_BARS_PCT = {1000: 35.0}
"""Largest CPU use in percent of a core, by rate in Mbit/s."""
SEND_BUFFER_BYTES = 4_194_304
"""Linux's limit of a connection's send buffer (net.ipv4.tcp_wmem). There are as many connections as
it takes for their buffers to hold what the link and its queue hold: a sender with a full buffer
waits until a third of it is free, and then sends all of this at once, which overflows the queue."""
RATIO_BAR, DELAY_BAR_MS = 1.2, 0.3
"""Bars for the 99th percentile of the added delay: as a ratio to that of bare timers, and in ms,
where the timers themselves are below the latter."""
DELAY_ROWS = {
    "rtt_ms": "added delay ms, medians of the turns",
    "heard_ms": "when the pinger ran ms",
    "timers_ms": "bare timers and a perfect link ms",
}
STEAL = 7
"""Index of stolen time among the times of a processor in /proc/stat."""
PINGER = Path(__file__).with_name("pinger.py")


def run(study: Study) -> tuple[list[dict[str, float]], dict[str, object]]:
    """Execute the only run of a study on the kernel; return its flows and the emulator's report."""
    made = study.matrix.runs[0]
    with RunsHelper() as helper:
        answer = helper.ask(
            {
                "do": "run",
                "scenario": json.loads(made.scenario.to_json()),
                "traces": {name: trace.content.decode() for name, trace in made.traces.items()},
            }
        )
    return answer["flows"], answer["report"]


def lateness(report: dict[str, object]) -> str:
    """Return lateness, drops and CPU share of the emulator as text, for the end of a row."""
    late = report["lateness"]
    drops = report["ring_drops"]
    cpu = report["cpu_pct"]
    return (
        f"late p50 {late['p50_us']:.0f}, p99 {late['p99_us']:.0f}, max {late['max_us']:.0f} us; "
        f"{drops} ring drops; {report['merged']} merged; {cpu:.0f} % of a core"
    )


def goodput(mbit_s: int, bar: float | None, seconds: int) -> bool:
    """Measure goodput at one rate; return False if the goodput or the CPU use misses its bar."""
    bdp_bytes = mbit_s * 2 * DELAY_MS * 125
    queue = max(60_000, bdp_bytes)
    study = Study(
        link=f"rate={mbit_s} Mbit/s,delay={DELAY_MS} ms,queue={queue} B",
        algorithm="cubic",
        flows=ceil((bdp_bytes + queue) / SEND_BUFFER_BYTES),
        duration=f"{seconds + 4} s",
        warm_up="4 s",
        record={"samples": "1 s", "events": False},
    )
    flows, report = run(study)
    total = sum(flow["goodput_mbit_s"] for flow in flows)
    part = total / (mbit_s * SHARE)
    cpu_bar = CPU_BARS_PCT.get(mbit_s, 100.0)
    holds = report["ring_drops"] == 0 and report["cpu_pct"] <= cpu_bar
    holds &= bar is None or abs(part - 1) <= bar
    bars = "no bar" if bar is None else f"bar {100 * bar:.1f} %"
    if mbit_s in CPU_BARS_PCT:
        bars += f", {cpu_bar:.0f} % of a core"
    verdict = "-" if bar is None else "ok" if holds else "FAILS"
    print(
        f"{mbit_s:5} Mbit/s  goodput {total:8.3f} = {100 * part:.2f} % ({bars}) {verdict}   "
        f"{lateness(report)}"
    )
    return holds or bar is None


def delay(loaded: bool) -> bool:  # noqa: FBT001  one of two
    """Measure the delay added to pings; return whether it is within the bars."""
    link = f"rate={DELAY_MBIT_S} Mbit/s,delay={DELAY_MS} ms"
    command = [sys.executable, "-m", "cwndlab", "shell", "--link", link, "--reverse-link", link]
    server = subprocess.Popen(  # noqa: S603  our own program
        [sys.executable, PINGER, "serve"], stdout=subprocess.PIPE, text=True
    )
    port = server.stdout.readline().strip()
    load = str(DELAY_MBIT_S // 2 if loaded else 0)
    try:
        done = subprocess.run(  # noqa: S603  our own programs
            [*command, "--", sys.executable, PINGER, "ping", port, load, str(DELAY_MBIT_S)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    finally:
        server.kill()
        server.wait()
    turns = json.loads(done.stdout)
    added = [turn["rtt_ms"]["p99"] - 2 * DELAY_MS for turn in turns]
    timers = [turn["timers_ms"]["p99"] for turn in turns]
    ratio = median(mine / bare for mine, bare in zip(added, timers, strict=True))
    timers_allow = median(timers) <= DELAY_BAR_MS
    holds = ratio <= RATIO_BAR and (not timers_allow or median(added) <= DELAY_BAR_MS)
    answered, sent = (sum(turn[name] for turn in turns) for name in ("answered", "sent"))
    print(
        f"  {DELAY_MBIT_S} Mbit/s  {'half load' if loaded else 'no load  '}  added delay, 99th "
        f"percentile of {len(turns)} turns: median {median(added):.3f} ms (bar {DELAY_BAR_MS} ms"
        f"{'' if timers_allow else ', which the timers do not allow'}), bare timers and "
        f"a perfect link {median(timers):.3f} ms, median ratio {ratio:.2f} (bar {RATIO_BAR}) "
        f"{'ok' if holds else 'FAILS'}   {answered} of {sent} answered"
    )
    for name in ("rtt_ms", "heard_ms", "timers_ms"):
        less = 0 if name == "timers_ms" else 2 * DELAY_MS
        middle = {
            rank: median(turn[name][rank] for turn in turns) - less for rank in turns[0][name]
        }
        print(f"  {'':10}  {'':9}  {DELAY_ROWS[name]}: {figures(middle)}")
    return holds


def figures(values: dict[str, float]) -> str:
    """Return percentiles as one line of text."""
    return ", ".join(f"{name} {value:.3f}" for name, value in values.items())


def machine(since: list[int]) -> str:
    """Return as text the load, and the processor time that the host took since `since`."""
    ticks = processor_ticks()
    spent = [now - before for now, before in zip(ticks, since, strict=True)]
    return (
        f"load {' '.join(f'{value:.1f}' for value in os.getloadavg())}; "
        f"{100 * spent[STEAL] / max(1, sum(spent)):.2f} % of the processors taken by the host"
    )


def processor_ticks() -> list[int]:
    """Return the time of all processors in each state since boot, in ticks (proc(5))."""
    first = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    return [int(value) for value in first.split()[1 : STEAL + 2]]


def preset(name: str, seconds: int) -> bool:
    """Run a preset in real time; return whether the run is valid."""
    study = Study(link=name, algorithm="cubic", duration=f"{seconds} s")
    [flow], report = run(study)
    print(
        f"  {name:16} goodput {flow['goodput_mbit_s']:7.2f} Mbit/s, RTT median "
        f"{flow['rtt_p50_ms']:.1f} ms   {report['invalid'] or 'ok'}   {lateness(report)}"
    )
    return not report["invalid"]


def main() -> int:
    """Run the chosen measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=int, default=15, help="duration of each measurement in seconds"
    )
    parser.add_argument("--only", choices=["goodput", "delay", "presets"])
    asked = parser.parse_args()
    if os.geteuid() != 0:
        print("skipped: the emulator needs root")
        return 0
    print(f"load {' '.join(f'{value:.1f}' for value in os.getloadavg())}, {os.cpu_count()} cores")
    began, holds = processor_ticks(), []
    if asked.only in (None, "goodput"):
        holds += [goodput(rate, bar, asked.seconds) for rate, bar in GOODPUT_BARS.items()]
        goodput(AIM_MBIT_S, None, asked.seconds)
    if asked.only in (None, "delay"):
        holds += [delay(False), delay(True)]  # noqa: FBT003  see there
    if asked.only in (None, "presets"):
        holds += [preset(name, min(asked.seconds, 10)) for name in presets()]
    print(machine(began))
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
