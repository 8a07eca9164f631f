"""Compile the unchanged C file of an algorithm into an object file that the kernel can load."""

from __future__ import annotations

import functools
import hashlib
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab import core
from cwndlab.errors import AlgorithmError
from cwndlab.kernel.clang import clang
from cwndlab.resolve.algorithms import label_of
from cwndlab.resolve.reno_variants import DESCRIPTIONS, algorithm_named
from cwndlab.usercode.cache import cache_folder, write_whole
from cwndlab.usercode.compiler import preprocess, run
from cwndlab.usercode.program import (
    LINUX_PREFIX,
    Program,
    TranslationUnit,
    contract_folder,
    existing_file,
    is_file_reference,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_FLAGS = ("-target", "bpf", "-mcpu=v3", "-O2", "-g", "-std=gnu11")
_REPLAY_FLAGS = ("-std=gnu11", "-fno-strict-aliasing", "-fwrapv", "-DCC_LOADED", "-DCC_REPLAY")


@dataclass(frozen=True, slots=True)
class KernelProgram:
    """An algorithm with its parameters, in the form in which it is loaded into the kernel."""

    label: str  # name shown to users
    name: str  # name in the kernel
    program: Program
    parameters: tuple[tuple[str, int], ...]
    is_recording: bool = False
    """True if the program records every call of the algorithm's functions (hooks)."""
    seed: int | None = None
    """Seed of the random numbers that a recording program draws; if None, the kernel chooses it."""

    @property
    def pin(self) -> str:
        """Name of the algorithm's file in /sys/fs/bpf/cwndlab; it contains no dots."""
        return f"{re.sub('[^A-Za-z0-9_-]', '_', self.label)[:40]}-{self.name}"


def kernel_program(
    reference: str,
    folder: Path,
    parameters: Mapping[str, int] | None = None,
    *,
    is_recording: bool = False,
    seed: int | None = None,
    has_link: bool = True,
) -> KernelProgram:
    """Return the kernel program of an algorithm, given by name or file.

    `seed` determines the random numbers of the program. If `is_recording` is true, the program
    records every call of the algorithm's hooks, and has a different name in the kernel than the
    program that does not record.

    `has_link` must be false for kernels before Linux 6.4, which lack BPF links for congestion
    control. Without a link, the program stays loaded after its loader has ended.

    Raises:
        AlgorithmError: the file cannot be read, or clang is missing.
        BrokenAlgorithmError: the preprocessor reports an error.
        UnknownNameError: no algorithm has this name.
    """
    source, contract = _source(reference, folder)
    recording = ["-DCC_RECORD"] if is_recording else []
    section = [] if has_link else ['-DCC_OPS_SECTION=".struct_ops"']
    flags = (*_FLAGS, *recording, *section, f"-I{contract / 'include'}")
    text = preprocess(source, flags, clang())
    program = Program(str(source), (TranslationUnit(str(source), text, _FLAGS),))
    settings = tuple(sorted((parameters or {}).items()))
    digest = hashlib.sha256(f"{program.sha256} {settings}".encode()).hexdigest()
    return KernelProgram(
        label_of(reference), f"cl_{digest[:8]}", program, settings, is_recording, seed
    )


def replay_program(reference: str, folder: Path) -> Program:
    """Return the user-space program that replays recorded calls of the algorithm.

    Raises:
        AlgorithmError: the file cannot be read.
        BrokenAlgorithmError: the preprocessor reports an error.
    """
    source, contract = _source(reference, folder)
    flags = (*_REPLAY_FLAGS, f"-I{contract / 'include'}")
    files = (source, contract / "port" / "replay.c")
    units = (TranslationUnit(str(file), preprocess(file, flags), _REPLAY_FLAGS) for file in files)
    return Program(str(source), tuple(units))


def tracing_program() -> Program:
    """Return the BPF program that records TCP events in the kernel.

    Raises:
        AlgorithmError: clang is missing.
    """
    source = Path(__file__).with_name("trace.bpf.c")
    text = preprocess(source, _FLAGS, clang())
    return Program(str(source), (TranslationUnit(str(source), text, _FLAGS),))


def kernel_object(program: Program) -> Path:
    """Compile a program, unless its object file is in the cache; return the object file's path.

    Raises:
        BrokenAlgorithmError: the program does not compile; the message names the erroneous lines.
    """
    key = hashlib.sha256(f"{program} {_version()}".encode()).hexdigest()
    target = cache_folder() / "algorithms" / f"{key[:32]}.bpf.o"
    if target.exists():
        return target
    (unit,) = program.units
    with tempfile.TemporaryDirectory() as name:
        source, whole = Path(name) / "algorithm.i", Path(name) / "algorithm.o"
        source.write_text(unit.text, encoding="utf-8")
        command = [*clang(), *unit.flags, "-c", str(source), "-o", str(whole)]
        run(unit.file, command, sources=(Path(unit.file),), into=Path(name))
        write_whole(target, whole.read_bytes())
    return target


def _source(reference: str, folder: Path) -> tuple[Path, Path]:
    """Return the C file of an algorithm, and the folder with the headers that the file includes."""
    if reference.startswith(LINUX_PREFIX):
        module = Path(reference.removeprefix(LINUX_PREFIX)).stem
        msg = f"{reference} is a kernel module; load it with: modprobe {module}"
        raise AlgorithmError(msg)
    if reference in DESCRIPTIONS:
        reno = algorithm_named(reference)
        why = "which is part of the kernel and cannot be loaded"
        msg = f"{reference} differs from {reno} only in loss recovery, {why}; load {reno} instead"
        raise AlgorithmError(msg)
    contract = contract_folder()
    if is_file_reference(reference):
        return existing_file(reference, folder), contract
    return _built_in_file(core.algorithm(reference), contract), contract


def _built_in_file(algorithm: core.Algorithm, contract: Path) -> Path:
    """Write a built-in algorithm's source to the folder of the headers; return the file's path."""
    path = contract / f"{algorithm.name}.c"
    content = algorithm.source_text.encode()
    if not path.exists() or path.read_bytes() != content:
        write_whole(path, content)
    return path


@functools.cache
def _version() -> str:
    done = subprocess.run(  # noqa: S603  the compiler of this machine
        [*clang(), "--version"], capture_output=True, text=True, check=False
    )
    return f"{clang()} {done.stdout}"
