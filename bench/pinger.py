"""Round trips over a shell's link: `serve` answers, `ping PORT LOAD_MBIT_S` asks, both real-time.

With a load, the server sends so much beside its answers for as long as it is being asked. At the
same time, `control` looks how late this machine's bare timers are.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time

COUNT, INTERVAL_S = 3_000, 0.003
LOAD_BYTES = 1_470
PRIORITY = 5
WAKE_UPS = 6
"""Of a ping: the emulator by the packet and by its due time, whoever hears it, and all of it again
on the way back."""
CONTROL_INTERVAL_S = 0.001


def realtime() -> None:
    """Before what else the machine does, after the emulator."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))


def serve() -> None:
    """Answer whoever asks; a first message says what load is wanted, and where."""
    realtime()
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.bind(("0.0.0.0", 0))  # noqa: S104  who asks is behind a link
    print(end.getsockname()[1], flush=True)
    while True:
        message, place = end.recvfrom(2048)
        if message.startswith(b"load "):
            rate = float(message.split()[1])
            if os.fork() == 0:
                pour(end, (place[0], int(message.split()[2])), rate)
                os._exit(0)
        else:
            end.sendto(message, place)


def pour(end: socket.socket, place: tuple[str, int], mbit_s: float) -> None:
    """Packets at equal distances."""
    distance_s = 8e-6 * LOAD_BYTES / mbit_s
    began, packet = time.monotonic(), bytes(LOAD_BYTES)
    for number in range(int((COUNT * INTERVAL_S + 1) / distance_s)):
        wait_s = began + number * distance_s - time.monotonic()
        if wait_s > 0:
            time.sleep(wait_s)
        end.sendto(packet, place)


def ping(port: int, load_mbit_s: float) -> None:
    """Ask at equal distances; print percentiles of the round trips."""
    place = (os.environ["CWNDLAB_HOST"], port)
    realtime()
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if load_mbit_s > 0:
        sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sink.bind(("0.0.0.0", 0))  # noqa: S104  it is the link's end
        end.sendto(f"load {load_mbit_s} {sink.getsockname()[1]}".encode(), place)
        time.sleep(0.3)
    rtts_ms: list[float] = []

    def hear() -> None:
        while True:
            message = end.recv(2048)
            rtts_ms.append((time.monotonic_ns() - int(message)) / 1e6)

    end.sendto(b"0", place)
    threading.Thread(target=hear, daemon=True).start()
    time.sleep(0.2)
    rtts_ms.clear()
    beside = subprocess.Popen(  # noqa: S603  this program
        [sys.executable, __file__, "control"], stdout=subprocess.PIPE, text=True
    )
    began = time.monotonic()
    for number in range(COUNT):
        wait_s = began + number * INTERVAL_S - time.monotonic()
        if wait_s > 0:
            time.sleep(wait_s)
        end.sendto(str(time.monotonic_ns()).encode(), place)
    time.sleep(0.5)
    told, _ = beside.communicate()
    found = {"sent": COUNT, "answered": len(rtts_ms), "rtt_ms": percentiles(rtts_ms)}
    print(json.dumps({**found, "control_ms": json.loads(told)}))


def control() -> None:
    """Print percentiles of how late as many timers are together as a ping has wake-ups."""
    realtime()
    late_ms: list[float] = []
    began = time.monotonic()
    for number in range(1, int(COUNT * INTERVAL_S / CONTROL_INTERVAL_S)):
        due = began + number * CONTROL_INTERVAL_S
        time.sleep(max(0.0, due - time.monotonic()))
        late_ms.append(1e3 * (time.monotonic() - due))
    # Of a ping they are milliseconds apart, and here as far as can be.
    count, step = len(late_ms), len(late_ms) // WAKE_UPS
    together = [
        sum(late_ms[(first + step * number) % count] for number in range(WAKE_UPS))
        for first in range(count)
    ]
    print(json.dumps(percentiles(together)))


def percentiles(values: list[float]) -> dict[str, float]:
    """What is told of them."""
    ordered = sorted(values)
    ranks = {"min": 0.0, "p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
    return {name: ordered[int(rank * (len(ordered) - 1))] for name, rank in ranks.items()}


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    elif sys.argv[1] == "control":
        control()
    else:
        ping(int(sys.argv[2]), float(sys.argv[3]))
