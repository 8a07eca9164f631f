"""Under which names the kernel has the algorithms of a run.

`cubic` is the kernel's own, `ours:cubic` is loaded into it while runs need it.
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
    from collections.abc import Mapping

    from cwndlab.usercode.program import Program


class KernelNames(AbstractContextManager["KernelNames"]):
    """Loads what runs need, and takes all of it back at its end."""

    def __init__(self, *, may_fall_back: bool = False) -> None:
        """With `may_fall_back`, ours is taken for what the kernel lacks, whatever its name."""
        self._may_fall_back = may_fall_back
        self._helper: KernelHelper | None = None
        self._loaded: dict[tuple[str, tuple[tuple[str, int], ...]], str] = {}

    def of(
        self, scenario: Mapping[str, Any], programs: Mapping[str, Program] | None = None
    ) -> dict[str, str]:
        """Return the kernel's names of a scenario's algorithms that are not its own.

        Args:
            scenario: the scenario.
            programs: algorithms that are files, by the scenario's names.

        Raises:
            KernelRunError: two ends have the same algorithm with other parameters, or the kernel's
                own has any.
            KernelError: the kernel or the user cannot load one.
            AlgorithmError: the kernel does not take one; says why.
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
                msg = f"{asked} is the kernel's own, without {named}: ours:{asked} has parameters"
                raise KernelRunError(msg)
            else:
                continue
            name = self._load(reference, parameters)
            if names.setdefault(asked, name) != name:
                msg = (
                    f"{asked} with two sets of parameters in one run is not possible on the kernel"
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
            return name  # the very same, which somebody else holds for now
        if self._helper is None:
            self._helper = KernelHelper()
        self._loaded[key] = load(self._helper, reference, Path(), parameters).name
        return self._loaded[key]

    def outlive(self) -> None:
        """Leave what was loaded to whatever program this process becomes: gone with that."""
        if self._helper is not None:
            self._helper.pass_on()

    def close(self) -> None:
        """Take back what was loaded; connections that use it keep it until they end."""
        if self._helper is not None:
            self._helper.close()
        self._helper = None
        self._loaded = {}

    def __exit__(self, *_: object) -> None:
        self.close()
