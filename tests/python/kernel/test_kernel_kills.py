"""Killing any process at any time leaves nothing of a run on the kernel behind."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cwndlab.kernel.capabilities import obstacles, this_kernel
from cwndlab.kernel.objects import kernel_program
from patience import PATIENCE_S, is_soon
from this_machine import namespaces, namespaces_of, needs_kernel
from user_code import GOOD, mine

pytestmark = [
    needs_kernel,
    pytest.mark.skipif(bool(obstacles()), reason="; ".join(each.what for each in obstacles())),
]

# The process that is killed first; the other processes and the kernel must clean up.
VICTIMS = ("cwndlab", "cwndlab-testbed", "cwndlab-kernel")
MOMENTS = int(os.environ.get("CWNDLAB_KILLS", "6"))
SEED = int(os.environ.get("CWNDLAB_SEED", str(os.getpid())))
LONGEST_S = 2.0
OF_OTHERS = {
    "nf_conntrack_count",
    "tcp_available_congestion_control",
    "tcp_allowed_congestion_control",
}
STUDY = """
from cwndlab.api.study import Study
Study(link="rate=10 Mbit/s,delay=20 ms", algorithm="./mine.c", duration="60 s", id="s").run(
    "results", backend="kernel")
"""


def name_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return Path(os.fsdecode(words[0])).name
    return ""


def helpers_of(pid: int) -> dict[int, str]:
    """Return the helpers that a process has started."""
    with contextlib.suppress(OSError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
        named = {int(child): name_of(int(child)) for child in children}
        return {child: name for child, name in named.items() if name.startswith("cwndlab-")}
    return {}


def processes_of(helpers: dict[int, str]) -> set[int]:
    """Return the keepalive spinners that running helpers have started."""
    found: set[int] = set()
    for helper in helpers:
        for path in Path(f"/proc/{helper}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found.update(map(int, path.read_text(encoding="utf-8").split()))
    return found


def settings() -> dict[str, bytes]:
    """Return the network settings as sysctl shows them, without those that others change."""
    found = {}
    for path in sorted(Path("/proc/sys/net").rglob("*")):
        if path.name in OF_OTHERS or "/cwndlab-" in str(path):
            continue
        with contextlib.suppress(OSError):
            found[str(path)] = path.read_bytes()
    return found


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_nothing_stays_behind(moment: int, tmp_path: Path) -> None:
    draw = random.Random(f"{SEED} {moment}")  # noqa: S311  any moment will do
    victim, after_s = VICTIMS[moment % len(VICTIMS)], draw.uniform(0, LONGEST_S)
    told = f"{victim} killed after {after_s:.3f} s (CWNDLAB_SEED={SEED})"
    # Another source text, so that its name in the kernel differs from that of other tests.
    mine(tmp_path, f"{GOOD}/* */ int unique_{os.getpid()}_{moment};\n")
    program = kernel_program("./mine.c", tmp_path)
    before = settings()
    asking = subprocess.Popen(
        [sys.executable, "-c", STUDY],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert is_soon(lambda: bool(helpers_of(asking.pid)) or asking.poll() is not None)
    time.sleep(after_s)
    helpers = helpers_of(asking.pid)
    held = set().union(*map(namespaces_of, helpers)) - namespaces_of(os.getpid())
    started = processes_of(helpers)
    targets = [pid for pid, name in helpers.items() if name == victim]
    for pid in targets or [asking.pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if victim == "cwndlab-kernel" and targets:
        # The algorithm is unloaded, too; connections that use it continue until they are stopped.
        assert is_soon(lambda: program.name not in this_kernel().ours)
        asking.send_signal(signal.SIGKILL)
    asking.wait(PATIENCE_S)
    assert is_soon(lambda: not any(map(name_of, helpers))), f"a helper lives on: {told}"
    assert is_soon(lambda: not any(map(name_of, started))), f"a process lives on: {told}"
    assert is_soon(lambda: not held & namespaces()), f"a namespace lives on: {told}"
    assert is_soon(lambda: program.name not in this_kernel().ours), f"an algorithm stays: {told}"
    # Devices of other tests may disappear during the test, with their settings.
    assert settings() == {path: each for path, each in before.items() if Path(path).exists()}, told
