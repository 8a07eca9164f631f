"""Run the published tests of C4 (draft-huitema-ccwg-c4-test); the slowest run decides each test.

For each test, the draft defines a link, one or two downloads, and the longest time that any of 100
runs may take. Values that the draft omits or garbles come from the authors' files
(github.com/private-octopus/c4, sim_specs) and are listed as assumptions. The authors' hosts ran
QUIC instead of Linux's TCP, so two tests are repeated under conditions that are closer to QUIC. The
competing BBR is version 3, because the design of C4 cites draft-ietf-ccwg-bbr. The draft's tests of
media are omitted, because they need QUIC's datagrams and priorities. Three tests do not agree with
the draft's own rules: with these rules, the authors' program misses them, too
(docs/notes/2026-11-line-up.md). This program prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from cwndlab.algorithm.single_run import run_once
from cwndlab.api.study import Study

MB = 1_000_000
# The text states a queue, 1 BDP, only for the first three tests. In the authors' files, the queue
# is 250 ms here, and 80 ms where the rate changes.
BAD_WIFI = {"rate": "10 Mbit/s", "delay": "1 ms", "jitter": "wifi 7 ms", "queue": "312500 bytes"}
WIRE = {"rate": "20 Mbit/s", "delay": "40 ms"}
SLOW = {"rate": "10 Mbit/s", "delay": "35 ms"}
BUFFERS = {f"{end}_buffer_max_bytes": 64 * MB for end in ("receive", "send")}
# Two BDP of the satellite link are 26 000 packets, each of which occupies 4 kB of a send buffer.
WHOLE_WINDOW = {
    "receive_window_opens_by_arrivals": False,
    "receive_buffer_bytes": 128 * MB,
    "receive_buffer_max_bytes": 128 * MB,
    "send_buffer_max_bytes": 128 * MB,
}
GEO = {"rate": "250 Mbit/s", "delay": "300 ms"}
SAVED = {"saved_cwnd": 18_750, "saved_rtt": 600}
# The authors' links count UDP payload: about 37 of each 1,440 bytes are not data but header, tag
# and STREAM frame (RFC 9000). Here, 66 of each 1,514 bytes are not data.
OF_QUIC = (1403 / 1440) / (1448 / 1514)
START_S = 0.1  # the start of each flow is random, so that runs differ


@dataclass(frozen=True)
class Case:
    """A test, with times in s, sizes in MB, and the keys of the link."""

    name: str
    link: dict[str, Any]
    size_mb: int
    limit_s: float
    other: str | None = None
    other_mb: int = 0
    delay_s: float = 0  # start of the main connection after the other one's; negative if earlier
    assumption: str = ""
    parameters: dict[str, int] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def _changes(*steps: tuple[float, str]) -> list[dict[str, str]]:
    return [{"at": f"{at} s", "rate": rate} for at, rate in steps]


def _pairs(
    other: str, limits_s: tuple[float, float, float, float], short: str = "", wifi: str = ""
) -> list[Case]:
    return [
        Case(f"short, beside {other}", WIRE, 5, limits_s[0], other, 10, assumption=short),
        Case(f"long, beside {other}", WIRE, 20, limits_s[1], other, 30),
        Case(f"long, {other} 1 s later", SLOW, 10, limits_s[2], other, 15, -1),
        Case(f"bad Wi-Fi, 1 s after {other}", BAD_WIFI, 4, limits_s[3], other, 10, 1, wifi),
    ]


CASES = [
    Case("20 Mbit/s", WIRE, 10, 5),
    Case("200 Mbit/s", {"rate": "200 Mbit/s", "delay": "20 ms"}, 20, 1.25),
    Case(
        "satellite",
        GEO,
        *(100, 7.4),
        assumption="resumes, but a receiver of Linux offers 64 kB at first",
        parameters=SAVED,
    ),
    Case(
        "satellite, whole window",
        GEO,
        *(100, 7.4),
        assumption="the receiver offers its whole buffer at once, as BSD's TCP does",
        parameters=SAVED,
        settings=WHOLE_WINDOW,
    ),
    Case(
        "low and up",
        {
            "rate": "5 Mbit/s",
            "delay": "50 ms",
            "queue": "100 kB",
            "schedule": _changes((2.5, "10 Mbit/s")),
        },
        7,
        7.9,
    ),
    Case(
        "drop and back",
        {
            "rate": "10 Mbit/s",
            "delay": "50 ms",
            "queue": "100 kB",
            "schedule": _changes((1.5, "5 Mbit/s"), (3.5, "10 Mbit/s")),
        },
        7,
        8.15,
        assumption='"after 2 seconds" is 2 s after the drop',
    ),
    Case(
        "drop and back, headers of QUIC",
        {
            "rate": f"{10 * OF_QUIC:.4f} Mbit/s",
            "delay": "50 ms",
            "queue": "100 kB",
            "schedule": _changes(
                (1.5, f"{5 * OF_QUIC:.4f} Mbit/s"), (3.5, f"{10 * OF_QUIC:.4f} Mbit/s")
            ),
        },
        7,
        8.15,
        assumption="the rates are 1.9 % higher, so that as much data pass as with QUIC",
    ),
    Case(
        "black hole",
        {
            "rate": "25 Mbit/s",
            "delay": "35 ms",
            "outages": [{"start": "2 s", "stop": "4 s", "kind": "hold"}],
        },
        10,
        6.1,
        assumption="the text gives no rate, the file 25 Mbit/s",
    ),
    Case(
        "short to long",
        {
            "rate": "10 Mbit/s",
            "delay": "15 ms",
            "schedule": [{"at": "1 s", "delay": "50 ms"}],
        },
        20,
        22,
        assumption='"the data rate remains constant at 100ms": 10 Mbit/s',
    ),
    Case(
        "bad Wi-Fi",
        BAD_WIFI,
        4,
        4.3,
        assumption="10 MB take 8 s at the 10 Mbit/s of the text; the file downloads 4 MB. By the "
        "text's rule for delays, the authors' program needs 6.04 s",
    ),
    Case(
        "Wi-Fi suspension",
        {
            "rate": "20 Mbit/s",
            "delay": "5 ms",
            "queue": "250 kB",
            "outages": [
                {"start": f"{n}.8 s", "stop": f"{n + 1} s", "kind": "hold"} for n in range(1, 12, 2)
            ],
        },
        10,
        5.4,
    ),
    Case("short, beside c4-00", WIRE, 5, 6.7, "c4-00", 10),
    Case("short, 0.5 s after c4-00", WIRE, 5, 8.15, "c4-00", 10, 0.5),
    Case(
        "short, c4-00 0.5 s later",
        {"rate": "50 Mbit/s", "delay": "15 ms"},
        *(10, 4.1, "c4-00", 20, -0.5),
    ),
    Case("long, beside c4-00", WIRE, 20, 22.8, "c4-00", 30),
    Case("long, c4-00 1 s later", SLOW, 10, 22.2, "c4-00", 15, -1),
    Case("bad Wi-Fi, 1 s after c4-00", BAD_WIFI, 4, 13, "c4-00", 10, 1),
    *_pairs(
        "cubic",
        (6.7, 22.2, 22, 11),
        wifi="the file requires 12.1 s; if the jitter differs from run to run, the authors' "
        "program needs 15.65 s",
    ),
    *_pairs(
        "bbr3",
        (6.7, 23, 23, 13.5),
        short="by the text's pacing of the initial phase, the authors' program needs 8.65 s",
    ),
]


def main() -> int:
    """Run the chosen tests and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="run only tests whose names contain one of these")
    parser.add_argument("--seeds", type=int, default=100, help="number of runs of each test")
    options = parser.parse_args()
    chosen = [
        case
        for case in CASES
        if not options.names or any(part in case.name for part in options.names)
    ]
    print("| test | at most, s | worst, s | median, s | | assumption |")
    print("|---|---|---|---|---|---|")
    for case in chosen:
        times = [completion_s(case, seed) for seed in range(1, options.seeds + 1)]
        worst = max(times)
        verdict = "holds" if worst < case.limit_s else "fails"
        print(
            f"| {case.name} | {case.limit_s} | {worst:.2f} | {median(times):.2f} | {verdict} "
            f"| {case.assumption} |",
            flush=True,
        )
    return 0


def completion_s(case: Case, seed: int) -> float:
    """Return the time from the start of the first connection to the end of the main download."""
    main_start, other_start = max(case.delay_s, 0), max(-case.delay_s, 0)
    flows = [_flow("c4-00", case.size_mb, main_start)]
    if case.other is not None:
        flows.append(_flow(case.other, case.other_mb, other_start))
    study = Study(
        duration="60 s",
        seed=seed,
        start_jitter=f"{START_S} s",
        link={"queue": "1 BDP"} | case.link,
        flow=flows,
        stack_overrides=BUFFERS | case.settings,
        parameters={"c4-00": case.parameters},
    )
    row = run_once(study)["flows"].row(0, named=True)
    return float(row["completion_ms"]) / 1000 + main_start


def _flow(algorithm: str, size_mb: int, start_s: float) -> dict[str, Any]:
    return {"algorithm": algorithm, "bytes": f"{size_mb} MB", "start": f"{start_s} s"}


if __name__ == "__main__":
    sys.exit(main())
