"""Send pings over a shell's link in real time, and report round-trip times like ping(8).

`ping PORT LOAD_MBIT_S RATE_MBIT_S` sends the requests, and the kernel answers them. A round trip
ends at the time at which the kernel receives the answer, so delays of this program are not counted.
If a load is given, `serve` sends this load in parallel with the answers, for longer than all turns
can take. Turns of pings alternate with turns in which this program measures how late bare timers
fire. To their lateness, it adds the time that a ping spends on a perfect link of `RATE_MBIT_S`: its
own transmission in both directions, and, under load, the rest of the packet in front of the answer.
Each turn is shorter than the time for which the emulator keeps polling an idle link, so the machine
stays in the same state.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import sys
import threading
import time

TURNS = 10
COUNT, INTERVAL_S = 300, 0.003
"""Number and interval of the pings of a turn."""
LOAD_BYTES = 1_470
"""Payload of a packet of the load."""
LOAD_HEADER_BYTES = 28
PING_BYTES = 47
"""An IPv4 packet with an echo request."""
PHASES = 50
"""Number of equally spaced times, relative to the load, at which an answer reaches the link."""
PRIORITY = 5
WAKE_UPS = 4
"""Wake-ups of the emulator for a ping: on arrival and when due, in both directions."""
TIMERS, TIMER_INTERVAL_S = 800, 0.001
PAUSE_S = 0.05
"""Time to wait for the answer to the last ping."""
LONGEST_TURN_S = 3.0
"""Time limit of a turn of pings and timers."""
ECHO_REQUEST, ECHO_REPLY = 8, 0
IP_HEADER_BYTES, ICMP_HEADER = 20, struct.Struct("!BBHHH")
SOL_RAW, ICMP_FILTER, SO_TIMESTAMPNS = 255, 1, 35
"""Constants from linux/socket.h, linux/icmp.h and asm-generic/socket.h that Python lacks."""
TIMESPEC = struct.Struct("qq")


def realtime() -> None:
    """Run this process at a real-time priority, which is lower than the emulator's."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))


def serve() -> None:
    """Wait for a client that requests a load, and send the load to this client."""
    realtime()
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.bind(("0.0.0.0", 0))  # noqa: S104  who asks is behind a link
    print(end.getsockname()[1], flush=True)
    message, (address, _) = end.recvfrom(2048)
    mbit_s, port = message.split()
    pour(end, (address, int(port)), float(mbit_s))


def pour(end: socket.socket, place: tuple[str, int], mbit_s: float) -> None:
    """Send packets at equal intervals, for the longest time that all turns can take."""
    distance_s = 8e-6 * LOAD_BYTES / mbit_s
    began, packet = time.monotonic(), bytes(LOAD_BYTES)
    for number in range(int(TURNS * LONGEST_TURN_S / distance_s)):
        wait_s = began + number * distance_s - time.monotonic()
        if wait_s > 0:
            time.sleep(wait_s)
        end.sendto(packet, place)


def ping(port: int, load_mbit_s: float, rate_mbit_s: float) -> None:
    """Send echo requests in turns, with bare timers in between; print percentiles of each turn."""
    on_link_ms = times_on_link_ms(load_mbit_s, rate_mbit_s)
    host = os.environ["CWNDLAB_HOST"]
    realtime()
    if load_mbit_s > 0:
        sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sink.bind(("0.0.0.0", 0))  # noqa: S104  it is the link's end
        sink.sendto(f"{load_mbit_s} {sink.getsockname()[1]}".encode(), (host, port))
        time.sleep(0.3)
    end = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    end.setsockopt(SOL_RAW, ICMP_FILTER, struct.pack("I", ~(1 << ECHO_REPLY) & 0xFFFFFFFF))
    end.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    end.connect((host, 0))
    requests = [echo_request(number) for number in range(COUNT)]
    sent_ns = [0] * COUNT
    rtts_ms: list[float] = []
    heard_ms: list[float] = []

    def hear() -> None:
        while True:
            packet, told, _, _ = end.recvmsg(2048, socket.CMSG_SPACE(TIMESPEC.size))
            now_ns = time.time_ns()
            number = ICMP_HEADER.unpack_from(packet, IP_HEADER_BYTES)[-1]
            seconds, nanoseconds = TIMESPEC.unpack(told[0][2])
            rtts_ms.append((seconds * 10**9 + nanoseconds - sent_ns[number]) / 1e6)
            heard_ms.append((now_ns - sent_ns[number]) / 1e6)

    threading.Thread(target=hear, daemon=True).start()
    # The first echo is slower and not counted: the kernel has not looked up its route yet.
    end.send(requests[0])
    time.sleep(0.2)
    turns = []
    for _ in range(TURNS):
        rtts_ms.clear()
        heard_ms.clear()
        began = time.monotonic()
        for number in range(COUNT):
            wait_s = began + number * INTERVAL_S - time.monotonic()
            if wait_s > 0:
                time.sleep(wait_s)
            request = requests[number]
            sent_ns[number] = time.time_ns()
            end.send(request)
        time.sleep(PAUSE_S)
        found = {"sent": COUNT, "answered": len(rtts_ms)}
        values = {"rtt_ms": percentiles(rtts_ms), "heard_ms": percentiles(heard_ms)}
        perfect = [late + on_link for late in timers() for on_link in on_link_ms]
        turns.append({**found, **values, "timers_ms": percentiles(perfect)})
    print(json.dumps(turns))


def echo_request(number: int) -> bytes:
    """Return the echo request with this sequence number (RFC 792)."""
    content = bytes(PING_BYTES - IP_HEADER_BYTES - ICMP_HEADER.size)
    header = ICMP_HEADER.pack(ECHO_REQUEST, 0, 0, os.getpid() & 0xFFFF, number)
    return header[:2] + struct.pack("!H", checksum(header + content)) + header[4:] + content


def checksum(message: bytes) -> int:
    """Return the Internet checksum of a message (RFC 1071)."""
    padded = message + bytes(len(message) % 2)
    total = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def times_on_link_ms(load_mbit_s: float, rate_mbit_s: float) -> list[float]:
    """Return the time in ms that pings spend on a perfect link, without its propagation delay.

    A ping is transmitted once in each direction. Packets of the load pass at equal intervals in the
    direction of the answers, which wait for the rest of such a packet. The returned times belong to
    equally spaced arrivals of an answer between two packets of the load.
    """
    transmission_ms = 2 * 8e-3 * PING_BYTES / rate_mbit_s
    if load_mbit_s == 0:
        return [transmission_ms]
    packet_ms = 8e-3 * (LOAD_BYTES + LOAD_HEADER_BYTES) / rate_mbit_s
    interval_ms = 8e-3 * LOAD_BYTES / load_mbit_s
    arrivals_ms = [interval_ms * (phase + 0.5) / PHASES for phase in range(PHASES)]
    return [transmission_ms + max(0.0, packet_ms - arrival_ms) for arrival_ms in arrivals_ms]


def timers() -> list[float]:
    """Return sums of the lateness of as many bare timers as a ping has wake-ups, in ms."""
    late_ms: list[float] = []
    began = time.monotonic()
    for number in range(1, TIMERS + 1):
        due = began + number * TIMER_INTERVAL_S
        time.sleep(max(0.0, due - time.monotonic()))
        late_ms.append(1e3 * (time.monotonic() - due))
    # The wake-ups of a ping are milliseconds apart; the timers of a sum are as far apart as
    # possible.
    count, step = len(late_ms), len(late_ms) // WAKE_UPS
    return [
        sum(late_ms[(first + step * number) % count] for number in range(WAKE_UPS))
        for first in range(count)
    ]


def percentiles(values: list[float]) -> dict[str, float]:
    """Return minimum, median, 90th and 99th percentile, and maximum of values."""
    ordered = sorted(values)
    ranks = {"min": 0.0, "p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
    return {name: ordered[int(rank * (len(ordered) - 1))] for name, rank in ranks.items()}


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        ping(int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
