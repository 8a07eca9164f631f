"""Devices of operators on a path, as a program in the namespace between client and server.

`proxy PORT` ends TCP connections to PORT at any address, and opens others instead; `clamp MSS`
lowers the segment size in every SYN that passes the device `middle`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
import sys
import threading

_TRANSPARENT = 19
_TUNSETIFF, _TUN_WITHOUT_HEADER = 0x400454CA, 0x1001
_SYN, _MSS = 0x02, 2


def proxy(port: int) -> None:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_IP, _TRANSPARENT, 1)
    listener.bind(("0.0.0.0", port))  # noqa: S104  for every address
    listener.listen(16)
    os.write(1, b"ready\n")
    while True:
        near, _ = listener.accept()
        far = socket.create_connection(near.getsockname())
        for source, target in ((near, far), (far, near)):
            threading.Thread(target=pass_on, args=(source, target), daemon=True).start()


def pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while content := source.recv(1 << 16):
            target.sendall(content)
        target.shutdown(socket.SHUT_WR)


def clamp(mss: int) -> None:
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", b"middle", _TUN_WITHOUT_HEADER))
    os.write(1, b"ready\n")
    while True:
        os.write(device, clamped(os.read(device, 1 << 16), mss))


def clamped(packet: bytes, mss: int) -> bytes:
    """Return the packet, with a lower MSS if it is a SYN over IPv4."""
    at = (packet[0] & 0xF) * 4
    if packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP or not packet[at + 13] & _SYN:
        return packet
    changed = bytearray(packet)
    option, end = at + 20, at + (packet[at + 12] >> 4) * 4
    while option < end:
        kind = packet[option]
        if kind == _MSS:
            changed[option + 2 : option + 4] = struct.pack("!H", mss)
            break
        option += 1 if kind <= 1 else packet[option + 1]
    changed[at + 16 : at + 18] = bytes(2)
    pseudo = packet[12:20] + struct.pack("!HH", socket.IPPROTO_TCP, len(packet) - at)
    changed[at + 16 : at + 18] = struct.pack("!H", checksum(pseudo + bytes(changed[at:])))
    return bytes(changed)


def checksum(content: bytes) -> int:
    """Return the Internet checksum (RFC 1071)."""
    padded = content + bytes(len(content) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


if __name__ == "__main__":
    {"proxy": proxy, "clamp": clamp}[sys.argv[1]](int(sys.argv[2]))
