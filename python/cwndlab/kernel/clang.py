"""Find the compiler clang, which compiles algorithms for the kernel."""

from __future__ import annotations

import functools
import shlex
import shutil
from os import environ

from cwndlab.errors import AlgorithmError

CLANG_PACKAGES = "apt install clang"
_NEWEST_CLANG, _OLDEST_CLANG = 25, 12


@functools.cache
def clang() -> tuple[str, ...]:
    """Return the command for clang: $CLANG if installed, else `clang`, else the newest `clang-N`.

    Raises:
        AlgorithmError: clang is not installed.
    """
    wanted = shlex.split(environ.get("CLANG", ""))
    if wanted and shutil.which(wanted[0]):
        return tuple(wanted)
    versions = range(_NEWEST_CLANG, _OLDEST_CLANG - 1, -1)
    for name in ("clang", *(f"clang-{version}" for version in versions)):
        if shutil.which(name):
            return (name,)
    msg = f"clang, which compiles algorithms for the kernel, is not installed ({CLANG_PACKAGES})"
    raise AlgorithmError(msg)
