"""Find the kernel's names for a run's algorithms, and load algorithms that the kernel lacks.

In a study, `cubic` means Linux's own algorithm, and `ours:cubic` means cwndlab's implementation.
Implementations of cwndlab are loaded into the kernel only while runs need them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.core import OURS
from cwndlab.errors import KernelRunError
from cwndlab.kernel.capabilities import this_kernel
from cwndlab.kernel.helper import KernelHelper
from cwndlab.kernel.loading import load, require_loading
from cwndlab.kernel.objects import kernel_program
from cwndlab.usercode.program import LINUX_PREFIX, is_file_reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cwndlab.resolve import Resolved
    from cwndlab.usercode.program import Program


def require_algorithms(cells: Iterable[Resolved]) -> None:
    """Raise an error if the kernel lacks an algorithm of a study.

    Raises:
        KernelRunError: an algorithm is missing; the message names all missing algorithms.
    """
    named = {
        end.algorithm
        for cell in cells
        for flow in cell.scenario.flows
        for end in (flow.sender, flow.receiver)
        if end.algorithm not in cell.algorithms and not end.algorithm.startswith(OURS)
    }
    kernel = this_kernel()
    missing = sorted(name for name in named if kernel.state_of(name) is None)
    if missing:
        ours = ", ".join(f"{OURS}{name}" for name in missing)
        msg = f"this kernel lacks {', '.join(missing)}; to load cwndlab's versions, write {ours}"
        raise KernelRunError(msg)


class KernelNames(AbstractContextManager["KernelNames"]):
    """Loads algorithms that runs need but the kernel lacks; `close` unloads them."""

    def __init__(self, *, may_fall_back: bool = False) -> None:
        """Create the loader.

        `may_fall_back` permits it to replace missing algorithms with cwndlab's own.
        """
        self._may_fall_back = may_fall_back
        self._helper: KernelHelper | None = None
        self._loaded: dict[tuple[str, tuple[tuple[str, int], ...]], str] = {}

    def of(
        self, scenario: Mapping[str, Any], programs: Mapping[str, Program] | None = None
    ) -> dict[str, str]:
        """Load those algorithms of a scenario that are not Linux's own; return their kernel names.

        Args:
            scenario: the scenario.
            programs: the algorithms given as files, by their names in the scenario.

        Raises:
            KernelRunError: two ends use the same algorithm with different parameters, or the
                scenario sets parameters of one of Linux's algorithms.
            KernelError: the kernel does not support loading algorithms, or does not allow this
                user to load them.
            AlgorithmError: the kernel refuses an algorithm; the message states the reason.
        """
        names: dict[str, str] = {}
        ends = [flow[end] for flow in scenario["flows"] for end in ("sender", "receiver")]
        for end in ends:
            asked: str = end["algorithm"]
            parameters = end.get("parameters", {})
            if asked in (programs or {}):
                reference = (programs or {})[asked].file
                if asked.startswith(LINUX_PREFIX):
                    reference = f"{LINUX_PREFIX}{reference}"
            elif is_file_reference(asked):
                reference = asked
            elif self._is_ours(asked):
                reference = asked.removeprefix(OURS)
            elif parameters:
                named = ", ".join(parameters)
                msg = (
                    f"the kernel's {asked} has no parameter {named}; use ours:{asked}, cwndlab's "
                    "implementation"
                )
                raise KernelRunError(msg)
            else:
                continue
            name = self._load(reference, parameters)
            if names.setdefault(asked, name) != name:
                msg = (
                    f"the kernel cannot use {asked} with two sets of parameters in the same run; "
                    f"give all flows of {asked} the same parameters"
                )
                raise KernelRunError(msg)
        return names

    def _is_ours(self, asked: str) -> bool:
        if asked.startswith(OURS):
            return True
        return self._may_fall_back and this_kernel().state_of(asked) is None

    def _load(self, reference: str, parameters: Mapping[str, int]) -> str:
        key = (reference, tuple(sorted(parameters.items())))
        if key in self._loaded:
            return self._loaded[key]
        require_loading(reference)
        name = kernel_program(reference, Path(), parameters).name
        if name in this_kernel().ours:
            return name  # the same program, which another process has loaded
        if self._helper is None:
            self._helper = KernelHelper()
        self._loaded[key] = load(self._helper, reference, Path(), parameters).name
        return self._loaded[key]

    def outlive(self) -> None:
        """Keep the algorithms loaded after `exec`, until the program that replaces cwndlab ends."""
        if self._helper is not None:
            self._helper.pass_on()

    def close(self) -> None:
        """Ask the kernel to unload the algorithms; each stays until its last connection ends."""
        if self._helper is not None:
            self._helper.close()
        self._helper = None
        self._loaded = {}

    def __exit__(self, *_: object) -> None:
        self.close()
