"""Convert an algorithm's C file into a program: translation units that include no other file.

A translation unit is preprocessed C text, which already contains the text of all included files.
Therefore, a program can be sent to another machine, and the hash of a program covers its complete
source text. The compiler's messages still name the lines of the user's file.
"""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab import core
from cwndlab.errors import AlgorithmError, read_failure
from cwndlab.text.files import user_path
from cwndlab.usercode.cache import cache_folder, write_whole
from cwndlab.usercode.compiler import preprocess

if TYPE_CHECKING:
    from collections.abc import Collection

LINUX_PREFIX = "linux:"

_LANGUAGE = ("-std=gnu11", "-fno-strict-aliasing", "-fwrapv")
_OWN = (*_LANGUAGE, "-DCC_LOADED")
_CHECKS = "-fsanitize=integer-divide-by-zero,bounds"
_EVERY_CHECK = (
    "-fsanitize=integer-divide-by-zero,bounds,shift,signed-integer-overflow,null,alignment,bool,"
    "enum,pointer-overflow,unreachable,return,vla-bound,builtin"
)
_LINUX = (*_LANGUAGE, "-fms-extensions", "-nostdinc")
_LINUX_ERRORS = ("-Wno-all", "-Werror=incompatible-pointer-types")
_LINUX_CHECKS = "-fsanitize=integer-divide-by-zero"
_WRAPPED = ("-Wl,--wrap=tcp_register_congestion_control,--wrap=tcp_unregister_congestion_control",)
_FILE_OF_MARKER = re.compile(r'^# \d+ "([^"<][^"]*)"', re.MULTILINE)
_LINE_MARKER = re.compile(r'^# \d+ ".*$\n?', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TranslationUnit:
    """A preprocessed C file (translation unit), with the flags to compile it."""

    file: str
    text: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """Translation units and linker flags from which an algorithm's shared object is built."""

    file: str  # path that messages show
    units: tuple[TranslationUnit, ...]
    link_flags: tuple[str, ...] = ()
    may_share: bool = True
    """Whether the first translation unit may contain a variable that all connections and runs
    share. If False, a program with such a variable is refused."""

    @property
    def sha256(self) -> str:
        """Hash of the source texts and compiler flags; it does not depend on the files' paths."""
        digest = hashlib.sha256()
        for unit in self.units:
            for part in (_LINE_MARKER.sub("", unit.text), *unit.flags):
                digest.update(part.encode())
                digest.update(b"\0")
        return digest.hexdigest()


def is_file_reference(name: str) -> bool:
    """Return whether an algorithm's name refers to a file, as `./my_cc.c` does."""
    return name.startswith(LINUX_PREFIX) or name.endswith(".c") or "/" in name


def name_of(reference: str, built_in: Collection[str] = ()) -> str:
    """Return the name of an algorithm's file in results, such as `my_cc`.

    If a built-in algorithm has this name, the file's name keeps its ending `.c`.
    """
    if reference.startswith(LINUX_PREFIX):
        return f"{LINUX_PREFIX}{file_of(reference).stem.removeprefix('tcp_')}"
    path = Path(reference)
    return path.name if path.stem in built_in else path.stem


def file_of(reference: str) -> Path:
    """Return the path of the C file to which a reference such as `./my_cc.c` refers."""
    return user_path(reference.removeprefix(LINUX_PREFIX))


def read_program(reference: str, folder: Path) -> Program:
    """Read and preprocess an algorithm's file; a relative path starts at `folder`.

    Raises:
        AlgorithmError: a file cannot be read.
        BrokenAlgorithmError: the preprocessor reports an error.
    """
    path = existing_file(reference, folder)
    return _linux_program(path) if reference.startswith(LINUX_PREFIX) else _own_program(path)


def existing_file(reference: str, folder: Path) -> Path:
    """Return the path of an algorithm's file, which must exist.

    Raises:
        AlgorithmError: the file does not exist.
    """
    path = folder / file_of(reference)
    if not path.is_file():
        why = "is not a file" if path.exists() else "no such file"
        hint = (
            ""
            if path.suffix == ".c"
            else " (give the path to a C file, such as ./my_cc.c or linux:PATH/tcp_x.c)"
        )
        msg = f"{path}: {why}{hint}"
        raise AlgorithmError(msg)
    return path


def copies_of(reference: str, folder: Path, program: Program | None) -> tuple[str, dict[str, Path]]:
    """Find the files of an algorithm that must be stored with results.

    Returns:
        The path under which the algorithm's C file is stored, and a dictionary that maps the path
        of each stored copy to the original file. The dictionary also contains the files that the C
        file includes from its folder or from the same Linux source tree.
    """
    main = folder / file_of(reference)
    is_linux = reference.startswith(LINUX_PREFIX)
    base = (main.parent / "../.." if is_linux else main.parent).resolve()
    names = {main.resolve()}
    for unit in program.units if program else ():
        names |= {Path(name).resolve() for name in _FILE_OF_MARKER.findall(unit.text)}
    kept = {
        path.relative_to(base).as_posix(): path
        for path in sorted(names)
        if path.is_relative_to(base) and path.is_file()
    }
    return main.resolve().relative_to(base).as_posix(), kept


def contract_folder() -> Path:
    """Return the folder that contains cc.h and cwndlab's other C files; write missing files."""
    files: dict[str, str] = core.module().contract_files()
    digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:16]
    folder = cache_folder() / "contract" / digest
    for name, text in files.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_whole(path, text.encode())
    return folder


def with_every_check(program: Program) -> Program:
    """Return the program with flags that add run-time checks for undefined behaviour in C."""
    own, *others = program.units
    flags = (*(flag for flag in own.flags if flag not in ("-fwrapv", _CHECKS)), _EVERY_CHECK)
    # The checks have variables of their own.
    return replace(program, units=(replace(own, flags=flags), *others), may_share=True)


def _own_program(path: Path) -> Program:
    folder = contract_folder()
    flags = (*_OWN, f"-I{folder / 'include'}")
    unit = TranslationUnit(str(path), preprocess(path, flags), (*_OWN, _CHECKS))
    return Program(str(path), (unit, _guard(folder)), may_share=False)


def _guard(folder: Path) -> TranslationUnit:
    path = folder / "port" / "guard.c"
    return TranslationUnit("guard.c", _our_text(path), _LANGUAGE)


@functools.cache
def _our_text(path: Path) -> str:
    return preprocess(path, (*_LANGUAGE, f"-I{path.parents[1] / 'include'}"))


# ---- files of a kernel

_INCLUDE = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.MULTILINE)
_EXPORT = re.compile(r"EXPORT_SYMBOL(?:_GPL)?\((\w+)\)")
_WORD = re.compile(r"\w+")
_CONG_CONTROL = re.compile(r"\.cong_control\s*=\s*(\w+)")


def _linux_program(path: Path) -> Program:
    """Return the program for a kernel file; include the kernel files whose functions it calls."""
    folder = contract_folder()
    main = _read(path)
    companions = _companions(path, main)
    units = []
    for file, text in (*companions, (path, main)):
        flags = list(_LINUX)
        if file != path:
            flags.append("-DCC_LINUX_COMPANION")
        if _takes_ack_and_flag(main):
            flags.append("-DCC_LINUX_CONG_CONTROL_4")
        includes = (f"-I{_stand_ins(text)}", f"-I{folder / 'linux'}", f"-I{folder / 'include'}")
        complete = preprocess(file, (*flags, *includes))
        units.append(TranslationUnit(str(file), complete, (*flags, *_LINUX_ERRORS, _LINUX_CHECKS)))
    module_flags = (*_OWN, *(["-DCC_LINUX_CONG_CONTROL_4"] if _takes_ack_and_flag(main) else []))
    module = folder / "linux" / "module.c"
    complete = preprocess(module, (*module_flags, f"-I{folder / 'include'}"))
    units.append(TranslationUnit("module.c", complete, module_flags))
    return Program(str(path), (*units, _guard(folder)), _WRAPPED)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise AlgorithmError(read_failure(path, error)) from None


def _companions(path: Path, text: str) -> list[tuple[Path, str]]:
    """Return path and text of the kernel files whose functions `text` calls, even indirectly."""
    filters = path.parent / "../../lib/win_minmax.c"
    candidates = {
        file: _read(file)
        for file in (*sorted(path.parent.glob("tcp_*.c")), filters)
        if file.is_file() and file != path
    }
    exporters = {
        symbol: file
        for file, content in candidates.items()
        if "tcp_register_congestion_control" in content or file.name == "win_minmax.c"
        for symbol in _EXPORT.findall(content)
    }
    found: dict[Path, str] = {}

    def visit(content: str) -> None:
        for file in sorted({exporters[w] for w in _WORD.findall(content) if w in exporters}):
            if file not in found:
                found[file] = candidates[file]
                visit(candidates[file])

    visit(text)
    return list(reversed(found.items()))


def _stand_ins(text: str) -> Path:
    """Return a folder in which cc_linux.h replaces each header that `text` includes."""
    folder = cache_folder() / "linux-headers"
    for name in _INCLUDE.findall(text):
        path = folder / name
        if ".." not in Path(name).parts and not path.exists():
            write_whole(path, b'#include "cc_linux.h"\n')
    return folder


def _takes_ack_and_flag(text: str) -> bool:
    """Return whether the hook cong_control in `text` has the arguments of Linux 6.10 and later."""
    hook = _CONG_CONTROL.search(text)
    if hook is None:
        return False
    return re.search(rf"\b{hook[1]}\s*\(\s*struct sock \*\w+,\s*u32\b", text) is not None
