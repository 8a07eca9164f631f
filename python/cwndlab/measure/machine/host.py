"""Describe this computer, which takes part in a measurement as client or server."""

from __future__ import annotations

import contextlib
import platform
from pathlib import Path
from typing import Any


def describe_host() -> dict[str, Any]:
    """Return kernel, congestion control, TCP buffer sizes and default qdisc of this computer."""

    def read(name: str) -> str | None:
        with contextlib.suppress(OSError):
            return Path("/proc/sys/net", name).read_text(encoding="ascii").strip()
        return None

    return {
        "kernel": platform.release(),
        "algorithms": (read("ipv4/tcp_available_congestion_control") or "").split(),
        "allowed": (read("ipv4/tcp_allowed_congestion_control") or "").split(),
        "default_algorithm": read("ipv4/tcp_congestion_control"),
        "receive_buffer_bytes": read("ipv4/tcp_rmem"),
        "send_buffer_bytes": read("ipv4/tcp_wmem"),
        "default_qdisc": read("core/default_qdisc"),
    }
