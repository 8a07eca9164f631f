"""What a study's algorithms are called in the running kernel.

`cubic` is the kernel's own: built in, or a module that modprobe brings; where the kernel has none,
it is ours. `ours:cubic` is ours in any case, and so is a file.
"""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Self

from cwndlab import core
from cwndlab.errors import KernelError
from cwndlab.kernel.capabilities import this_kernel
from cwndlab.kernel.helper import Helper
from cwndlab.kernel.loading import load, require_loading
from cwndlab.kernel.objects import kernel_program
from cwndlab.usercode.program import is_file_reference

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

OURS = "ours:"


class KernelAlgorithms:
    """Algorithms that a study needs of the kernel; what had to be loaded goes when this closes."""

    def __init__(self, folder: Path) -> None:
        """Look for files from this folder on."""
        self._folder = folder
        self._helper: Helper | None = None

    def name_of(self, reference: str, parameters: Mapping[str, int] | None = None) -> str:
        """The name in the kernel of a study's algorithm, which is there from now on.

        Raises:
            AlgorithmError: it cannot be compiled, or the kernel does not take it; says why.
            KernelError: this kernel or user cannot have it.
            UnknownNameError: there is no algorithm of this name.
        """
        is_ours = reference.startswith(OURS) or is_file_reference(reference)
        plain = reference.removeprefix(OURS)
        if not is_ours:
            plain = core.algorithm(plain).name
            if _is_kernels_own(plain):
                if parameters:
                    msg = f"the kernel's own {plain} takes no parameters; {OURS}{plain} does"
                    raise KernelError(msg)
                return plain
        program = kernel_program(plain, self._folder, parameters)
        if program.name in this_kernel().ours:
            return program.name
        require_loading(plain)
        if self._helper is None:
            self._helper = Helper()
        return load(self._helper, plain, self._folder, parameters).name

    def close(self) -> None:
        """Let go of what was loaded."""
        if self._helper is not None:
            self._helper.close()
            self._helper = None

    def __enter__(self) -> Self:
        """Nothing more."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let go of what was loaded."""
        self.close()


def _is_kernels_own(name: str) -> bool:
    """Whether the kernel has it by itself, after its module was asked for."""
    kernel = this_kernel()
    if name in kernel.available:
        return True
    program = shutil.which("modprobe")
    if name not in kernel.modules or program is None:
        return False
    subprocess.run([program, "--quiet", f"tcp_{name}"], check=False)  # noqa: S603  a tool of this machine
    return name in this_kernel().available
