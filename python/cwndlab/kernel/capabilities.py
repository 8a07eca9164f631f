"""Find out, without root privileges, which algorithms the running kernel has or can load."""

from __future__ import annotations

import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from cwndlab.errors import AlgorithmError
from cwndlab.kernel.clang import CLANG_PACKAGES, clang
from cwndlab.kernel.helper import HELPER_REMEDY, helper_path

OUR_PREFIX = "cl_"
_OLDEST = (6, 4)
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_TYPES = Path("/sys/kernel/btf/vmlinux")
_CAP_NET_ADMIN, _CAP_SYS_ADMIN, _CAP_PERFMON, _CAP_BPF = 12, 21, 38, 39
_EVERY_USER = ["0", "0", "4294967295"]  # uid_map of a process that is not in a user namespace
_MODULE = re.compile(r"/tcp_(\w+)\.ko", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A reason why cwndlab's algorithms cannot be loaded on this machine, with a remedy."""

    what: str
    remedy: str
    is_root: bool = False  # whether only root privileges are missing


@dataclass(frozen=True, slots=True)
class Kernel:
    """The release of a kernel, and its congestion control algorithms."""

    release: str
    available: frozenset[str]  # names in the kernel, including cwndlab's algorithms
    loaded_modules: frozenset[str]
    modules: frozenset[str]  # modules that the kernel could load

    @property
    def own(self) -> list[str]:
        """Names of Linux's own algorithms in alphabetical order, without cwndlab's algorithms."""
        return sorted(name for name in self.available if not name.startswith(OUR_PREFIX))

    @property
    def ours(self) -> frozenset[str]:
        """Names of the algorithms that cwndlab has loaded into the kernel."""
        return frozenset(name for name in self.available if name.startswith(OUR_PREFIX))

    def state_of(self, name: str) -> str | None:
        """Return how the kernel provides an algorithm; None if it does not.

        The text is "built in", "module, loaded", or "module:" with the command that loads the
        module.
        """
        if name in self.available:
            return "module, loaded" if name in self.loaded_modules else "built in"
        return f"module: modprobe tcp_{name}" if name in self.modules else None


def this_kernel() -> Kernel:
    """Return the release and the algorithms of the running kernel."""
    release = platform.release()
    return Kernel(
        release,
        frozenset(_read(_AVAILABLE).split()),
        frozenset(re.findall(r"^tcp_(\w+) ", _read(Path("/proc/modules")), re.MULTILINE)),
        frozenset(_MODULE.findall(_read(Path("/lib/modules") / release / "modules.dep"))),
    )


def obstacles() -> list[Obstacle]:
    """Return all reasons why cwndlab's algorithms cannot be loaded into the running kernel."""
    if sys.platform != "linux":
        return [Obstacle("this machine does not run Linux", "use the simulator")]
    found = []
    release = platform.release()
    version = tuple(int(part) for part in re.findall(r"\d+", release)[:2])
    if version < _OLDEST:
        found.append(Obstacle(f"Linux {release} is too old", "run Linux 6.4 or later"))
    if not _TYPES.exists():
        remedy = "run a kernel built with CONFIG_DEBUG_INFO_BTF, such as a distribution's kernel"
        found.append(Obstacle(f"this kernel has no {_TYPES}", remedy))
    if helper_path() is None:
        found.append(Obstacle("cwndlab's helper program has not been built", HELPER_REMEDY))
    try:
        clang()
    except AlgorithmError:
        found.append(Obstacle("clang is missing", f"sudo {CLANG_PACKAGES}"))
    if not _is_privileged():
        remedy = "sudo cwndlab algorithm load NAME"
        found.append(Obstacle("only root can load algorithms", remedy, is_root=True))
    return found


def _is_privileged() -> bool:
    """Return whether this process may load algorithms.

    The process needs capabilities of root, and must not run in a user namespace, such as that of a
    rootless container.
    """
    match = re.search(r"^CapEff:\s*(\w+)$", _read(Path("/proc/self/status")), re.MULTILINE)
    bits = int(match[1], 16) if match else 0
    may_program = bits >> _CAP_SYS_ADMIN & 1 or bits >> _CAP_BPF & bits >> _CAP_PERFMON & 1
    is_in_charge = _read(Path("/proc/self/uid_map")).split() == _EVERY_USER
    return bool(may_program and bits >> _CAP_NET_ADMIN & 1 and is_in_charge)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
