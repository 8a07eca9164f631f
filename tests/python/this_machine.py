"""Features and current state of this machine's kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from cwndlab.backends.kernel import process
from cwndlab.kernel.capabilities import this_kernel
from patience import is_soon

MISSING = "; ".join(what for what, _ in process.obstacles_to_runs())
needs_kernel = pytest.mark.skipif(bool(MISSING), reason=f"no runs on this kernel: {MISSING}")


def namespaces() -> set[str]:
    """Return every network namespace that a process uses or holds open."""
    found = set()
    for pattern in ("[0-9]*/task/*/ns/net", "[0-9]*/fd/*"):
        for link in Path("/proc").glob(pattern):
            try:
                target = str(link.readlink())
            except OSError:
                continue
            if target.startswith("net:"):
                found.add(target)
    return found


def namespaces_of(pid: int) -> set[str]:
    found = set()
    for link in (*Path(f"/proc/{pid}/task").glob("*/ns/net"), *Path(f"/proc/{pid}/fd").glob("*")):
        try:
            found.add(str(link.readlink()))
        except OSError:
            continue
    return {target for target in found if target.startswith("net:")}


def is_gone_soon(name: str) -> bool:
    """Wait until an algorithm is gone: the kernel frees it shortly after its last user."""
    return is_soon(lambda: name not in this_kernel().ours)


def devices() -> set[str]:
    lines = Path("/proc/self/net/dev").read_text(encoding="utf-8").splitlines()[2:]
    return {line.split(":")[0].strip() for line in lines}
