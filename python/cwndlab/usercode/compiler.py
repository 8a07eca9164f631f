"""The C compiler of this machine: what it is, what is asked of it, and what it answers."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.errors import AlgorithmError, BrokenAlgorithmError
from cwndlab.usercode.cache import cache_folder, write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cwndlab.usercode.program import Program

_OPTIMISED = ("-O2", "-g", "-fPIC", "-fvisibility=hidden", "-Werror=implicit-function-declaration")
_TIME_LIMIT_S = 120
_MOST_ERRORS = 5
_ERROR = re.compile(r"^.*:\s*(?:fatal )?error:.*$|^.*undefined reference.*$", re.MULTILINE)


@functools.cache
def compiler() -> tuple[str, ...]:
    """The command of the C compiler: CC, or what the machine has.

    Raises:
        AlgorithmError: there is none.
    """
    wanted = shlex.split(os.environ.get("CC", ""))
    if wanted and shutil.which(wanted[0]):
        return tuple(wanted)
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return (name,)
    msg = "no C compiler; install gcc or clang (apt install gcc libc6-dev), or name one in CC"
    raise AlgorithmError(msg)


def preprocess(path: Path, flags: Sequence[str]) -> str:
    """The text of a file with all that it includes.

    Raises:
        BrokenAlgorithmError: the preprocessor refuses it; names the line.
    """
    return run(path, [*compiler(), *flags, "-E", str(path)])


def warnings(path: Path, flags: Sequence[str]) -> str:
    """What the compiler has to say about a file; empty if nothing.

    Raises:
        BrokenAlgorithmError: it does not compile.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [*compiler(), *flags, "-c", str(path), "-o", str(Path(folder) / "x.o")]
        return run(path, command, wants_messages=True)


def shared_object(program: Program) -> Path:
    """The compiled program as a library, from the cache if it is there.

    Raises:
        BrokenAlgorithmError: it does not compile or link; names the lines.
    """
    return _linked(program, "so", ("-shared", "-Wl,-z,defs", *program.link_flags))


def executable(program: Program) -> Path:
    """The compiled program as one to be started, from the cache if it is there.

    Raises:
        BrokenAlgorithmError: it does not compile or link; names the lines.
    """
    path = _linked(program, "run", program.link_flags)
    path.chmod(0o755)
    return path


def _linked(program: Program, ending: str, link: Sequence[str]) -> Path:
    # Of the same text elsewhere, an object would name the lines of a file elsewhere.
    key = hashlib.sha256(f"{program} {_version()} {_OPTIMISED}".encode()).hexdigest()
    target = _objects_folder() / f"{key[:32]}.{ending}"
    if target.exists():
        return target
    optimised = (*_OPTIMISED, f"-fdebug-prefix-map={Path.cwd()}=.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        objects = []
        for n, unit in enumerate(program.units):
            source = folder / f"{n}.i"
            source.write_text(unit.text, encoding="utf-8")
            objects.append(str(folder / f"{n}.o"))
            flags = (*unit.flags, *optimised)
            run(unit.file, [*compiler(), *flags, "-c", str(source), "-o", objects[-1]])
        whole = folder / "whole"
        run(program.file, [*compiler(), *link, *objects, "-o", str(whole)])
        write_whole(target, whole.read_bytes())
    return target


def is_compiled_here(library: str) -> bool:
    """Whether a shared object is an algorithm's, and not one of the system's."""
    return Path(library).parent == _objects_folder()


def source_line(library: str, offset: str) -> tuple[str, int] | None:
    """File and line of a place in a shared object, where the machine can tell."""
    tool = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if tool is None:
        return None
    done = subprocess.run(  # noqa: S603  a tool of this machine
        [tool, "-e", library, offset], capture_output=True, text=True, check=False
    )
    file, colon, line = done.stdout.strip().partition(" ")[0].rpartition(":")
    return (file, int(line)) if colon and line.isdigit() and int(line) and file != "??" else None


def _objects_folder() -> Path:
    return cache_folder() / "algorithms"


@functools.cache
def _version() -> str:
    done = subprocess.run(  # noqa: S603  the compiler of this machine
        [*compiler(), "--version"], capture_output=True, text=True, check=False
    )
    return f"{compiler()} {done.stdout}"


def run(file: Path | str, command: Sequence[str], *, wants_messages: bool = False) -> str:
    """What a command of the compiler prints.

    Raises:
        BrokenAlgorithmError: it refuses the file.
    """
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603  the compiler of this machine
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=_TIME_LIMIT_S,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        msg = f"{file} does not compile: {command[0]} had not ended after {_TIME_LIMIT_S} s"
        raise BrokenAlgorithmError(msg) from None
    if done.returncode:
        raise BrokenAlgorithmError(_refusal(file, done.stderr))
    return done.stderr if wants_messages else done.stdout


def _refusal(file: Path | str, messages: str) -> str:
    """The compiler's errors without its context, the first few."""
    found = [line.strip() for line in _ERROR.findall(messages) if "ld returned" not in line]
    errors = found or messages.strip().splitlines()
    more = len(errors) - _MOST_ERRORS
    errors = [re.sub(r"^(?:\./)+", "", error) for error in errors]  # the linker's way to name it
    shown = errors[:_MOST_ERRORS] + ([f"... and {more} more"] if more > 0 else [])
    return "\n".join([f"{file} does not compile", *(f"  {line}" for line in shown)])
