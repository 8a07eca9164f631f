"""Round trips over a shell's link: `serve` answers, `ping PORT LOAD_MBIT_S` asks, both real-time.

With a load, the server sends so much beside its answers for as long as it is being asked.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time

COUNT, INTERVAL_S = 3_000, 0.003
LOAD_BYTES = 1_470
PRIORITY = 5


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
    began = time.monotonic()
    for number in range(COUNT):
        wait_s = began + number * INTERVAL_S - time.monotonic()
        if wait_s > 0:
            time.sleep(wait_s)
        end.sendto(str(time.monotonic_ns()).encode(), place)
    time.sleep(0.5)
    ordered = sorted(rtts_ms)
    ranks = {"min": 0.0, "p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
    found = {name: ordered[int(rank * (len(ordered) - 1))] for name, rank in ranks.items()}
    print(json.dumps({"sent": COUNT, "answered": len(ordered), "rtt_ms": found}))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        ping(int(sys.argv[2]), float(sys.argv[3]))
