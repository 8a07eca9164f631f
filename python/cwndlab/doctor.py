"""What works on this machine, what does not, and what to do about it."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cwndlab import core
from cwndlab.errors import CwndlabError, plural
from cwndlab.executor import available_cores
from cwndlab.presets import presets

State = Literal["ok", "optional", "missing"]

_LEAST_FREE_BYTES = 10**9


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: State
    found: str
    remedy: str = ""


def checks() -> list[Check]:
    """Look at everything."""
    return [
        _python(),
        _core(),
        Check("cores", "ok", plural(available_cores(), "core")),
        Check("links", "ok" if presets() else "missing", plural(len(presets()), "preset")),
        _folder(),
        _disk(),
        _package("pandas", "frames for pandas: results.flows().to_pandas()"),
    ]


def _python() -> Check:
    return Check("python", "ok", f"{platform.python_version()} ({sys.executable})")


def _core() -> Check:
    try:
        names = ", ".join(core.algorithms())
        stacks = ", ".join(core.stacks())
    except CwndlabError as error:
        return Check("simulator", "missing", "not built", str(error))
    return Check("simulator", "ok", f"{core.version()}; algorithms: {names}; stacks: {stacks}")


def _folder() -> Check:
    if os.access(Path.cwd(), os.W_OK):
        return Check("results folder", "ok", str(Path("results")))
    remedy = "change to a folder of yours, or name one with --results"
    return Check("results folder", "missing", f"{Path.cwd()} cannot be written", remedy)


def _disk() -> Check:
    free_bytes = shutil.disk_usage(Path.cwd()).free
    found = f"{free_bytes / 10**9:.1f} GB free"
    if free_bytes < _LEAST_FREE_BYTES:
        return Check("disk", "missing", found, "make room before you start a study")
    return Check("disk", "ok", found)


def _package(name: str, purpose: str) -> Check:
    if importlib.util.find_spec(name):
        return Check(name, "ok", "installed")
    return Check(name, "optional", f"not installed; {purpose}", f"pip install {name}")
