"""The program `ip`, for tests that build networks in namespaces."""

from __future__ import annotations

import shutil
import subprocess

import pytest

IP = shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin:/bin") or ""
needs_ip = pytest.mark.skipif(not IP, reason="needs ip (iproute2)")


def ip(*words: str) -> str:
    """Run `ip`, and return its output."""
    return subprocess.run([IP, *words], check=True, capture_output=True, text=True).stdout
