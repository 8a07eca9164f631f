"""Find this machine's C compiler, run the compiler, and read its messages."""

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

from cwndlab import core
from cwndlab.errors import AlgorithmError, BrokenAlgorithmError
from cwndlab.usercode.cache import cache_folder, write_whole
from cwndlab.usercode.variables import shared_variables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cwndlab.usercode.program import Program

_OPTIMISED = (
    *("-O2", "-g", "-fPIC", "-fvisibility=hidden", "-Werror=implicit-function-declaration"),
    "-ffunction-sections",
)
# Drop functions that are never called: Linux's tcp_cong.c contains some that need the kernel.
_SHARED = ("-shared", "-Wl,-z,defs", "-Wl,--gc-sections")
_AS_C = ("-x", "c")  # whatever the file's ending
_TIME_LIMIT_S = 15
_SYSTEM = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc/alternatives", "/etc/ld.so.cache")
_MOST_ERRORS = 5
_ERROR = re.compile(r"^.*:\s*(?:fatal )?error:.*$|^.*undefined reference.*$", re.MULTILINE)


@functools.cache
def compiler() -> tuple[str, ...]:
    """Return the command of the C compiler: $CC if it can be found, otherwise cc, gcc or clang.

    Raises:
        AlgorithmError: no C compiler is installed.
    """
    wanted = shlex.split(os.environ.get("CC", ""))
    if wanted and shutil.which(wanted[0]):
        return tuple(wanted)
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return (name,)
    msg = (
        "no C compiler is installed; install gcc or clang (apt install gcc libc6-dev), or set CC "
        "to the command of a compiler"
    )
    raise AlgorithmError(msg)


def preprocess(path: Path, flags: Sequence[str], command: Sequence[str] = ()) -> str:
    """Preprocess a C file with `command`, or with this machine's compiler; return the text.

    The file may include files below its folder, files below the current folder, and cwndlab's
    headers. A file in a Linux source tree may include other files of this tree.

    Raises:
        BrokenAlgorithmError: the preprocessor reports an error; the message names the line.
    """
    own = path.resolve().parent
    is_kernel = own.parts[-2:] == ("net", "ipv4")
    sources = (own.parents[1] if is_kernel else own, Path.cwd())
    whole = [*(command or compiler()), *flags, "-E", *_AS_C, _argument(path)]
    return run(path, whole, sources=sources)


def _argument(path: Path) -> str:
    """Return a path in a form that the compiler does not mistake for an option."""
    return f"./{path}" if str(path).startswith("-") else str(path)


def warnings(path: Path, flags: Sequence[str], command: Sequence[str] = ()) -> str:
    """Compile a file with `command` or this machine's compiler, and return the warnings.

    Raises:
        BrokenAlgorithmError: the file does not compile.
    """
    with tempfile.TemporaryDirectory() as name:
        into = Path(name)
        out = str(into / "x.o")
        whole = [*(command or compiler()), *flags, "-c", *_AS_C, _argument(path), "-o", out]
        sources = (path.resolve().parent, Path.cwd())
        return run(path, whole, sources=sources, into=into, wants_messages=True)


def shared_object(program: Program) -> Path:
    """Return the path of a program's shared object, compiled now unless it is in the cache.

    Raises:
        BrokenAlgorithmError: the program does not compile or link; the message names the erroneous
            lines.
    """
    return _linked(program, "so", (*_SHARED, *program.link_flags))


def shared_objects(programs: Mapping[str, Program]) -> dict[str, tuple[str, str]]:
    """Compile programs; map the name of each to the paths of its shared object and source file.

    Raises:
        BrokenAlgorithmError: a program does not compile or link; the message names the erroneous
            lines.
    """
    return {name: (str(shared_object(program)), program.file) for name, program in programs.items()}


def executable(program: Program) -> Path:
    """Return the path of a program's executable, compiled now unless it is in the cache.

    Raises:
        BrokenAlgorithmError: the program does not compile or link; the message names the erroneous
            lines.
    """
    path = _linked(program, "run", program.link_flags)
    path.chmod(0o755)
    return path


def _linked(program: Program, ending: str, link: Sequence[str]) -> Path:
    # The key contains paths, because the object's debug information names source files.
    key = hashlib.sha256(f"{program} {_version()} {_OPTIMISED}".encode()).hexdigest()
    target = objects_folder() / f"{key[:32]}.{ending}"
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
            command = [*compiler(), *flags, "-c", str(source), "-o", objects[-1]]
            # If the compiler can read the source, the columns in its errors match the source.
            run(unit.file, command, sources=(Path(unit.file),), into=folder)
        if not program.may_share:
            _refuse_shared_variables(program, Path(objects[0]).read_bytes())
        whole = folder / "whole"
        run(program.file, [*compiler(), *link, *objects, "-o", str(whole)], into=folder)
        write_whole(target, whole.read_bytes())
    return target


def _refuse_shared_variables(program: Program, unit: bytes) -> None:
    names = shared_variables(unit)
    if names:
        msg = (
            f"{program.file}: all connections and runs share the static state in "
            f"{', '.join(names)}, so results depend on the order of runs; move this state into the "
            "struct of CC_PRIV_CHECK or CC_STATE, or declare it const"
        )
        raise BrokenAlgorithmError(msg)


def is_compiled_here(library: str) -> bool:
    """Return whether a shared object is a compiled algorithm, rather than a system library."""
    return Path(library).parent == objects_folder()


def source_line(library: str, offset: str) -> tuple[str, int] | None:
    """Return the source file and line of an address in a shared object, or None if unknown."""
    tool = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if tool is None:
        return None
    done = subprocess.run(  # noqa: S603  a tool of this machine
        [tool, "-e", library, offset], capture_output=True, text=True, check=False
    )
    file, colon, line = done.stdout.strip().partition(" ")[0].rpartition(":")
    return (file, int(line)) if colon and line.isdigit() and int(line) and file != "??" else None


def objects_folder() -> Path:
    """Return the folder in which compiled algorithms are cached."""
    return cache_folder() / "algorithms"


@functools.cache
def _version() -> str:
    done = subprocess.run(  # noqa: S603  the compiler of this machine
        [*compiler(), "--version"], capture_output=True, text=True, check=False
    )
    return f"{compiler()} {done.stdout}"


def run(
    file: Path | str,
    command: Sequence[str],
    *,
    sources: Sequence[Path] = (),
    into: Path | None = None,
    wants_messages: bool = False,
) -> str:
    """Run a command of the compiler in a sandbox, and return its output.

    The command can read the folders of the system, cwndlab's headers and `sources`, and can write
    only to the folder `into` and to a temporary folder. The time, memory and output of the command
    are limited (`crates/sandbox`).

    Raises:
        BrokenAlgorithmError: the compiler reports an error, or exceeds the time limit.
    """
    readable = [*_SYSTEM, str(_prefix(command[0])), str(cache_folder()), *map(str, sources)]
    with tempfile.TemporaryDirectory() as temporary:
        own = {"LC_ALL": "C", "TMPDIR": temporary, "CCACHE_DISABLE": "1"}
        try:
            status, output, messages = core.module().run_compiler(
                list(command),
                list((os.environ | own).items()),
                readable,
                [temporary, "/dev/null", *([str(into)] if into else [])],
                _TIME_LIMIT_S,
            )
        except TimeoutError as error:
            msg = f"{file} does not compile: {command[0]} {error}"
            raise BrokenAlgorithmError(msg) from None
        except OSError as error:
            cause = error.strerror or error
            msg = f"{file} cannot be compiled: {command[0]} cannot be started ({cause})"
            raise BrokenAlgorithmError(msg) from None
    chosen: bytes = messages if status or wants_messages else output
    text = chosen.decode("utf-8", "replace")
    if status:
        raise BrokenAlgorithmError(_refusal(file, text or f"{command[0]} failed: status {status}"))
    return text


def _prefix(program: str) -> Path:
    """Return the folder in which a compiler is installed, such as /usr for /usr/bin/gcc."""
    return Path(shutil.which(program) or program).resolve().parent.parent


def _refusal(file: Path | str, messages: str) -> str:
    """Return the compiler's first few errors as a message, without excerpts of the source."""
    found = [line.strip() for line in _ERROR.findall(messages) if "ld returned" not in line]
    errors = found or messages.strip().splitlines()
    more = len(errors) - _MOST_ERRORS
    errors = [re.sub(r"^(?:\./)+", "", error) for error in errors]  # prefix written by the linker
    shown = errors[:_MOST_ERRORS] + ([f"... and {more} more"] if more > 0 else [])
    return "\n".join([f"{file} does not compile", *(f"  {line}" for line in shown)])
