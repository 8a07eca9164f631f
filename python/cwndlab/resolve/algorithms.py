"""Find the algorithms that a study names: built-in algorithms, and algorithms in C files.

`./my_cc.c` is a file of the user; `linux:PATH/net/ipv4/tcp_westwood.c` is an unmodified source file
of the Linux kernel. This module compiles both, and a separate process loads the compiled file and
describes its algorithm.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cwndlab import core
from cwndlab.errors import AlgorithmError, BrokenAlgorithmError, CwndlabError
from cwndlab.resolve.reno_variants import DESCRIPTIONS, algorithm_named
from cwndlab.schema.problems import FieldError
from cwndlab.usercode.compiler import shared_object
from cwndlab.usercode.processes import WorkerProcess
from cwndlab.usercode.program import (
    Program,
    file_of,
    is_file_reference,
    name_of,
    read_program,
)
from cwndlab.usercode.worker import DescribeProgram

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from cwndlab.text.toml import KeyPath

_DESCRIPTION_LIMIT_S = 20.0


@dataclass(frozen=True, slots=True)
class FileAlgorithm:
    """An algorithm from a file: its description, or the reason why it cannot run."""

    reference: str  # as written in the study
    algorithm: core.Algorithm
    program: Program | None
    problem: str = ""


@dataclass(slots=True)
class AlgorithmReader:
    """Finds the algorithms that a study names, and records which algorithms come from files."""

    folder: Path
    references: Mapping[str, str] = field(default_factory=dict)  # by name, for [parameters.NAME]
    files: dict[str, FileAlgorithm] = field(default_factory=dict)

    def find(self, name: str, key: KeyPath) -> core.Algorithm:
        """Return the algorithm that the study names at `key`.

        Raises:
            FieldError: the algorithm or its file does not exist, no compiler is installed, or
                another file of the study has the same name.
        """
        try:
            if not is_file_reference(name):
                return core.algorithm(algorithm_named(name))
            found = describe_file(name, self.folder)
        except CwndlabError as error:
            raise FieldError(key, str(error)) from None
        known = self.files.setdefault(found.algorithm.name, found)
        if known.algorithm.source_sha256 != found.algorithm.source_sha256:
            message = (
                f"two different algorithm files have the name {found.algorithm.name}; rename one"
            )
            raise FieldError(key, message)
        return known.algorithm

    def find_by_name(self, name: str, key: KeyPath) -> core.Algorithm:
        """Return the algorithm of this name, which may be the short name of a study's C file.

        Raises:
            FieldError: the algorithm or its file does not exist, no compiler is installed, or
                another file of the study has the same name.
        """
        return self.find(self.references.get(name, name), key)

    def problem(self, algorithm: core.Algorithm) -> str:
        """Return the reason why an algorithm cannot run, or "" if the algorithm can run."""
        return self.files[algorithm.name].problem if algorithm.name in self.files else ""


def label_of(name: str) -> str:
    """Return the name under which results list an algorithm.

    The argument `name` is a name of the algorithm, an alias, or a reference to its file.

    Raises:
        UnknownNameError: no algorithm has this name or alias.
    """
    if is_file_reference(name):
        return name_of(name, built_in_names())
    return name if name in DESCRIPTIONS else core.algorithm(name).name


def references_in(document: object) -> dict[str, str]:
    """Return a dictionary of the C files to which a study refers.

    A key is the name of an algorithm in results, such as `my_cc`. Its value is the algorithm's C
    file as the study writes it, such as `./my_cc.c`.
    """
    return {name_of(text, built_in_names()): text for text in _texts(document)}


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str) and is_file_reference(value) and value.endswith(".c"):
        yield value


def built_in_names() -> frozenset[str]:
    """Return the names and aliases of all built-in algorithms, and the names of Reno's variants."""
    algorithms = core.algorithms().values()
    return frozenset(name for entry in algorithms for name in (entry.name, *entry.aliases)).union(
        DESCRIPTIONS
    )


def describe_file(reference: str, folder: Path) -> FileAlgorithm:
    """Return the description of an algorithm file, or the reason why it cannot be used.

    Raises:
        AlgorithmError: the file does not exist, or no compiler is installed.
    """
    name = name_of(reference, built_in_names())
    try:
        program = read_program(reference, folder)
    except BrokenAlgorithmError as error:
        return FileAlgorithm(reference, _nothing_known(name, str(error)), None, str(error))
    return _describe(reference, folder, name, program)


@functools.lru_cache(maxsize=64)
def _describe(reference: str, folder: Path, name: str, program: Program) -> FileAlgorithm:
    sha256 = program.sha256
    try:
        request = DescribeProgram(str(shared_object(program)), program.file)
        with WorkerProcess() as process:
            entry: dict[str, Any] = process.ask(request, _DESCRIPTION_LIMIT_S)
    except BrokenAlgorithmError as error:
        return FileAlgorithm(reference, _nothing_known(name, sha256), program, str(error))
    text = (folder / file_of(reference)).read_text(encoding="utf-8", errors="replace")
    described = {**entry, "name": name, "source_sha256": sha256, "source_text": text}
    algorithm = core.read_algorithm(described)
    return FileAlgorithm(reference, algorithm, program)


def _nothing_known(name: str, sha256: str) -> core.Algorithm:
    return core.Algorithm(name, (), "", (), (), (), sha256)


def algorithm_of(reference: str, folder: Path) -> core.Algorithm:
    """Return the algorithm with this name or in this file.

    Raises:
        UnknownNameError: no algorithm has this name.
        AlgorithmError: the file cannot be used; the message states the reason.
    """
    if not is_file_reference(reference):
        return core.algorithm(algorithm_named(reference))
    found = describe_file(reference, folder)
    if found.problem:
        raise AlgorithmError(found.problem)
    return found.algorithm
