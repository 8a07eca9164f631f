"""Check an algorithm in a C file: compilation, the rules of its hooks, and data transfers."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from cwndlab import core
from cwndlab.algorithm.single_run import run_once
from cwndlab.api.study import Study
from cwndlab.errors import BrokenAlgorithmError, RunsFailedError
from cwndlab.resolve.algorithms import describe_file
from cwndlab.usercode import compiler
from cwndlab.usercode.processes import WorkerProcess
from cwndlab.usercode.program import (
    LINUX_PREFIX,
    contract_folder,
    file_of,
    is_file_reference,
    with_every_check,
)
from cwndlab.usercode.worker import CheckProgram

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cwndlab.usercode.program import Program

CheckState = Literal["ok", "note", "failed", "skipped"]

EXAMPLES = 500
_SEED = 1
_TIME_LIMIT_S = 600.0
_STRICT = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion")
_BPF = ("-std=gnu11", "-target", "bpf", "-mcpu=v3", "-O2", "-g")
_MOST_LINES = 5

_LINK = "rate=10 Mbit/s,delay=20 ms,queue=40 packets"
_OUTAGES = [{"start": "3 s", "stop": "4 s"}, {"start": "6 s", "stop": "6.3 s"}]
_RUNS: dict[str, dict[str, Any]] = {
    "a queue that overflows": {"link": _LINK},
    "2 % loss": {"link": f"{_LINK},loss=2 %"},
    "outages": {"link": {"rate": "10 Mbit/s", "delay": "20 ms", "outages": _OUTAGES}},
    "congestion marks": {
        "link": {"rate": "10 Mbit/s", "delay": "20 ms", "aqm": {"kind": "codel", "ecn": True}},
        "stack_overrides": {"ecn": "active"},
    },
    "idle periods": {
        "link": _LINK,
        "application": {"kind": "on_off", "on": "700 ms", "off": "900 ms"},
    },
}


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """The outcome of one check of an algorithm."""

    check: str
    state: CheckState
    found: str


def check_algorithm(reference: str, folder: Path) -> Iterator[CheckFinding]:
    """Run all checks of an algorithm and yield their outcomes; stop if the compilation fails.

    Raises:
        AlgorithmError: the file does not exist, or no compiler is installed.
    """
    if not is_file_reference(reference):
        core.algorithm(reference)  # raises an error that suggests a name
        yield CheckFinding(
            ("built in"),
            ("ok"),
            "this command checks only algorithms in files; for built-in algorithms, `cargo test` "
            "runs the same checks",
        )
        return
    found = describe_file(reference, folder)
    if found.problem or found.program is None:
        yield CheckFinding("compiles and loads", "failed", found.problem)
        return
    entry = found.algorithm
    hooks = ", ".join(entry.hooks)
    yield CheckFinding("compiles and loads", "ok", f"hooks: {hooks}")
    is_own = not reference.startswith(LINUX_PREFIX)
    if is_own:
        yield _warnings(folder / file_of(reference))
    contract = _sequences(
        "hooks do not crash and set only valid values", found.program, is_module=not is_own
    )
    yield contract
    if contract.state != "failed":
        if is_own:
            yield _sequences("has no undefined behaviour", with_every_check(found.program))
        yield from _whole_runs(reference)
    if is_own:
        yield _kernel(folder / file_of(reference))


def _warnings(path: Path) -> CheckFinding:
    flags = (*_STRICT, f"-I{contract_folder() / 'include'}")
    warnings = compiler.warnings(path, flags)
    if not warnings:
        return CheckFinding("compiler warnings", "ok", f"none with {' '.join(_STRICT[2:])}")
    return CheckFinding("compiler warnings", "note", _first_lines(warnings, "warning:"))


def _sequences(check: str, program: Program, *, is_module: bool = False) -> CheckFinding:
    with WorkerProcess() as process:
        try:
            library = str(compiler.shared_object(program))
            request = CheckProgram(library, program.file, EXAMPLES, _SEED, is_module)
            violation = process.ask(request, _TIME_LIMIT_S)
        except BrokenAlgorithmError as error:
            return CheckFinding(check, "failed", str(error))
    if violation is None:
        what = f"{EXAMPLES} sequences of ACKs, losses, timeouts, ECN marks and idle periods"
        return CheckFinding(check, "ok", what)
    text = f"{program.file}: {violation['hook']} {violation['rule']}\n  {violation['example']}"
    return CheckFinding(check, "failed", text)


def _whole_runs(reference: str) -> Iterator[CheckFinding]:

    for name, settings in _RUNS.items():
        check = f"transfers data: {name}"
        try:
            flows = run_once(Study(algorithm=reference, duration="10 s", **settings))["flows"]
        except RunsFailedError as error:
            yield CheckFinding(check, "failed", str(error))
            continue
        row = flows.row(0, named=True)
        found = f"{row['goodput_mbit_s']:.3g} Mbit/s, {row['timeouts']} timeouts"
        state: CheckState = "ok" if row["delivered_bytes"] > 0 else "failed"
        yield CheckFinding(check, state, found)


def _kernel(path: Path) -> CheckFinding:
    """Check that the algorithm also compiles as a BPF program for the kernel."""
    check = "compiles for the kernel (BPF)"
    clang = shutil.which("clang")
    if clang is None:
        return CheckFinding(check, "skipped", "clang is not installed")
    try:
        compiler.warnings(path, (*_BPF, f"-I{contract_folder() / 'include'}"), (clang,))
    except BrokenAlgorithmError as error:
        return CheckFinding(check, "failed", str(error))
    return CheckFinding(check, "ok", "clang -target bpf")


def _first_lines(messages: str, mark: str) -> str:
    lines = [line.strip() for line in messages.splitlines() if mark in line]
    more = len(lines) - _MOST_LINES
    return "\n".join(lines[:_MOST_LINES] + ([f"... and {more} more"] if more > 0 else []))
