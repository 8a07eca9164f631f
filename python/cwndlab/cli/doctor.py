"""`cwndlab doctor`: check which features work on this machine; print a remedy for each fault."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from cwndlab import core
from cwndlab.backends.kernel.process import obstacles_to_runs
from cwndlab.backends.vm.machine import obstacles_to_machines
from cwndlab.backends.vm.packages import kernels
from cwndlab.cli.output import format_option, print_rows
from cwndlab.errors import CwndlabError, plural
from cwndlab.kernel.capabilities import obstacles, this_kernel
from cwndlab.kernel.helper import KernelHelper
from cwndlab.kernel.loading import load
from cwndlab.resolve.presets import presets
from cwndlab.run.executor import available_cores

ExaminedState = Literal["ok", "optional", "missing"]

_LEAST_FREE_BYTES = 10**9
_WINDOWS = 1_000_000  # largest window of the algorithm


@dataclass(frozen=True, slots=True)
class Examined:
    """The outcome of one check of this machine, and the remedy if the check failed."""

    name: str
    state: ExaminedState
    found: str
    remedy: str = ""


def checks() -> list[Examined]:
    """Run all checks of this machine and return their outcomes."""
    return [
        _python(),
        _core(),
        Examined("cores", "ok", plural(available_cores(), "core")),
        Examined("links", "ok" if presets() else "missing", plural(len(presets()), "preset")),
        _folder(),
        _disk(),
        _confinement(),
        _package("pandas", "only results.flows().to_pandas() needs this package"),
        *_kernel(),
        *_testbed(),
        *_machines(),
    ]


def _python() -> Examined:
    return Examined("python", "ok", f"{platform.python_version()} ({sys.executable})")


def _core() -> Examined:
    try:
        names = ", ".join(core.algorithms())
        stacks = ", ".join(core.stacks())
    except CwndlabError as error:
        return Examined("simulator", "missing", "not built", str(error))
    return Examined("simulator", "ok", f"{core.version()}; algorithms: {names}; stacks: {stacks}")


def _confinement() -> Examined:
    """Check whether the kernel can confine the processes that run users' own algorithms."""
    name = "own algorithms"
    missing = [each for each, is_there in core.module().protections() if not is_there]
    if not missing:
        return Examined(
            name,
            "ok",
            "your own algorithms run in a process that cannot open files or connections",
        )
    found = (
        f"this kernel has no {' and no '.join(missing)}, so algorithms in your own C files could "
        "open files"
    )
    return Examined(name, "optional", found, "run only C files that you have read")


def _testbed() -> list[Examined]:
    """Check whether `run --backend kernel` and `shell` can emulate links on this machine."""
    name = "runs on the kernel"
    found = [Examined(name, "optional", what, remedy) for what, remedy in obstacles_to_runs()]
    return found or [Examined(name, "ok", "cwndlab run --backend kernel, shell, validate")]


def _machines() -> list[Examined]:
    """Check whether virtual machines can run here, and list the stock kernels that were added."""
    name = "virtual machines"
    missing = [Examined(name, "optional", *each) for each in obstacles_to_machines()]
    if missing:
        return missing
    releases = ", ".join(each.release for each in kernels())
    if not releases:
        return [Examined(name, "optional", "no kernel has been added", "cwndlab kernel add 6.1")]
    return [Examined(name, "ok", f"cwndlab run --backend vm, with Linux {releases}")]


def _kernel() -> list[Examined]:
    """List the kernel's algorithms, and check whether it accepts one of cwndlab's algorithms."""
    kernel = this_kernel()
    has = f"Linux {kernel.release} has {', '.join(kernel.own)}" if kernel.own else "not Linux"
    loadable = sorted(kernel.modules - kernel.available)
    if loadable:
        has += (
            f"; kernel modules that can be loaded: {', '.join(f'tcp_{name}' for name in loadable)}"
        )
    found = [Examined("kernel", "ok" if kernel.own else "optional", has)]
    in_the_way = obstacles()
    found += [
        Examined("loading algorithms", "optional", each.what, each.remedy) for each in in_the_way
    ]
    if not in_the_way:
        found.append(_try_loading())
    return found


def _try_loading() -> Examined:
    name = "loading algorithms"
    try:
        with KernelHelper() as helper:
            # A unique parameter value gives the algorithm a unique name.
            load(helper, "fixed", Path.cwd(), {"window_pkts": 1 + os.getpid() % _WINDOWS})
    except CwndlabError as error:
        return Examined(name, "optional", 'the algorithm "fixed" could not be loaded', str(error))
    return Examined(name, "ok", 'the algorithm "fixed" was loaded and unloaded as a test')


def _folder() -> Examined:
    if os.access(Path.cwd(), os.W_OK):
        return Examined("results folder", "ok", str(Path("results")))
    remedy = "change to a folder in which you may write, or name a folder with --results"
    return Examined("results folder", "missing", f"{Path.cwd()} is not writable", remedy)


def _disk() -> Examined:
    free_bytes = shutil.disk_usage(Path.cwd()).free
    found = f"{free_bytes / 10**9:.1f} GB free"
    if free_bytes < _LEAST_FREE_BYTES:
        return Examined("disk", "missing", found, "free some space before you start a study")
    return Examined("disk", "ok", found)


def _package(name: str, purpose: str) -> Examined:
    if importlib.util.find_spec(name):
        return Examined(name, "ok", "installed")
    return Examined(name, "optional", f"not installed; {purpose}", f"pip install {name}")


@click.command("doctor")
@format_option
def doctor_command(output_format: str) -> int:
    """Check which features work on this machine, and print how to enable missing features."""
    found = checks()
    rows: list[dict[str, Any]] = [
        {
            "check": check.name,
            "state": check.state,
            "found": check.found,
            "remedy": check.remedy or None,
        }
        for check in found
    ]
    print_rows(rows, output_format)
    return 2 if any(check.state == "missing" for check in found) else 0
