"""Measures rows of the fidelity table on Debian's Linux 6.1, in a virtual machine on this one.

Reads a row file (python tests/fidelity/run.py --help lists its columns) and writes its rows,
completed with the measured values. docs/explanation/fidelity.md describes the network. Measuring a
run takes about as long as the run lasts, on one core. Refuses a file that contains a row with an
ECN queue.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

import itertools

import rows as row_files
from machine import Machine, MachineError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rows import Link, Row

NS = 1_000_000_000
FIRST_PORT = 5001
# The ends wait this long for each other before a run begins, on a whole second of their clock.
SETTLE_S = 3
# Where in its millisecond a run begins decides about chance; the reference's S1 is met with this.
START_NS = 300_000
MEASURED = ("goodput_mbps", "mean_rtt_ms", "mean_cwnd", "retrans_packets", "last_rx_ms", "rto_at_s")


def _bottleneck(link: Link, rate_bit_s: int, *, is_out: bool = False) -> str:
    loss = 100.0 if is_out else link.loss_ppb / 1e7
    limit = f" limit {link.limit_pkts}" if link.limit_pkts else ""
    return f"'rate {rate_bit_s}bit{limit}" + (f" loss {loss:g}%" if loss else "") + "'"


def _changes(link: Link) -> Iterator[tuple[int, str]]:
    rate = link.rate_bit_s
    for at_ns, step in link.rate_steps:
        rate = step
        yield at_ns, f"bottleneck change {_bottleneck(link, rate)}"
    for at_ns, delay_ns in link.delay_steps:
        yield at_ns, f"delay change {delay_ns / 1000:g}us"
    for start_ns, end_ns in link.blackouts:
        yield start_ns, f"bottleneck change {_bottleneck(link, rate, is_out=True)}"
        yield end_ns, f"bottleneck change {_bottleneck(link, rate)}"


def job(flows: Sequence[Row]) -> str:
    """The shell script that measures the flows of one run."""
    link = flows[0].link
    lines = [
        f"head -c {64 * flows[0].rep} /dev/urandom > /dev/null",
        f"bottleneck add {_bottleneck(link, link.rate_bit_s)}",
        f"delay add {link.delay_ns / 1000:g}us",
    ]
    for number, row in enumerate(flows):
        # Linux lets a DCTCP sender have ECN only if the listener uses DCTCP too.
        also = " dctcp" if row.cc == "dctcp" else ""
        lines.append(f"on rcv guest receive {FIRST_PORT + number} /out/receiver{number}{also} &")
    offset_ns = SETTLE_S * NS + START_NS + (flows[0].rep - 1) * 1_370_000
    lines += ["sleep 1", f"began=$(( $(guest now) / {NS} * {NS} + {offset_ns} ))"]
    for at_ns, command in _changes(link):
        lines.append(f"(guest until $((began + {at_ns})); {command}) &")
    for number, row in enumerate(flows):
        lasts_ms = int((row.duration_s or 60) * 1000)
        lines.append(
            f"on snd guest send {row.cc} {FIRST_PORT + number} "
            f"$((began + {row.starts_ns[number]})) {lasts_ms} {row.size_bytes or 0} "
            f"/out/sender{number} & last=$!"
        )
        lines.append('senders="$senders $last"')
    lines += ["for sender in $senders; do wait $sender; done", "killall guest", "wait"]
    return "\n".join(lines) + "\n"


def _table(text: str) -> list[dict[str, int]]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return [{name: int(value) for name, value in row.items()} for row in csv.DictReader(lines)]


def measure(machine: Machine, flows: Sequence[Row]) -> list[dict[str, str]]:
    """The reference values of each flow of one run."""
    files = machine.run(job(flows))
    measured = []
    for number, row in enumerate(flows):
        sent, read = _table(files[f"sender{number}"]), _table(files[f"receiver{number}"])
        began_ns = int(files[f"sender{number}"].rsplit("# began_ns ", 1)[1])
        if row.size_bytes:
            if read[-1]["bytes"] != row.size_bytes:
                msg = f"{row.scenario} {row.cc}: not complete in {row.duration_s} s"
                raise MachineError(msg)
            measured.append({"last_rx_ms": f"{(read[-1]['at_ns'] - began_ns) / 1e6:.3f}"})
            continue
        duration_ns = int((row.duration_s or 0) * NS)
        window_s = row.window_s
        if window_s is None:
            window_s = (row.duration_s or 0) - (1 if len(flows) == 1 else 2)
        from_ns = duration_ns - int(window_s * NS)
        inside = [sample for sample in sent if from_ns <= sample["at_ns"] <= duration_ns]
        arrived = [s for s in read if from_ns <= s["at_ns"] - began_ns <= duration_ns]
        seconds = (arrived[-1]["at_ns"] - arrived[0]["at_ns"]) / NS
        bits = 8 * (arrived[-1]["bytes"] - arrived[0]["bytes"])
        timeouts = [
            later["at_ns"] / NS
            for earlier, later in itertools.pairwise(sent)
            if later["timeouts_in_a_row"] > earlier["timeouts_in_a_row"]
        ]
        values = {
            "goodput_mbps": f"{bits / seconds / 1e6:.4f}",
            "mean_rtt_ms": f"{sum(s['srtt_us'] for s in inside) / len(inside) / 1e3:.3f}",
            "mean_cwnd": f"{sum(s['cwnd'] for s in inside) / len(inside):.2f}",
            "retrans_packets": f"{sent[-1]['retransmitted']}",
        }
        if row.link.blackouts:
            values["rto_at_s"] = ";".join(f"{at_s:.2f}" for at_s in timeouts)
        measured.append(values)
    return measured


def _read(path: Path) -> tuple[list[str], list[list[tuple[Row, dict[str, str]]]]]:
    """The columns to write, and of each run its flows in order, each with its fields."""
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(line for line in file if line.strip() and not line.startswith("#"))
        lines = list(reader)
    runs: dict[tuple[object, ...], list[tuple[Row, dict[str, str]]]] = {}
    for row, fields in zip(row_files.read_rows(path), lines, strict=True):
        if row.link.ecn_pkts is not None:
            msg = f"{row.scenario} {row.cc}: an ECN queue is not measured"
            raise MachineError(msg)
        runs.setdefault(row.run_key, []).append((row, fields))
    names = list(dict.fromkeys([*(reader.fieldnames or ()), *MEASURED]))
    return names, [sorted(flows, key=lambda flow: flow[0].flow) for flows in runs.values()]


def main() -> int:
    """Measure a file's rows; 0 if all could be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path, metavar="ROWS.csv")
    parser.add_argument("out", type=Path, metavar="OUT.csv", help="gets each run once measured")
    parser.add_argument(
        "--machine",
        type=Path,
        default=Path(__file__).parents[3] / "target/measured-kernel",
        metavar="FOLDER",
        help="where the kernel's package is kept (default: %(default)s)",
    )
    arguments = parser.parse_args()
    try:
        names, runs = _read(arguments.rows)
        machine = Machine(arguments.machine)
        with arguments.out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names, lineterminator="\n")
            writer.writeheader()
            for number, flows in enumerate(runs):
                label = f"{flows[0][0].scenario} {' and '.join(row.cc for row, _ in flows)}"
                print(f"{number + 1} of {len(runs)}: {label}", file=sys.stderr, flush=True)
                values = measure(machine, [row for row, _ in flows])
                for (_, fields), measured in zip(flows, values, strict=True):
                    writer.writerow({**fields, **measured})
                file.flush()
    except (MachineError, row_files.RowError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
