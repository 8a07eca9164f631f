"""Load cwndlab's algorithms into the running kernel, and unload them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.errors import CwndlabError, KernelError
from cwndlab.kernel.capabilities import obstacles, this_kernel
from cwndlab.kernel.helper import KernelHelper
from cwndlab.kernel.objects import KernelProgram, kernel_object, kernel_program

if TYPE_CHECKING:
    from collections.abc import Mapping

PINS = Path("/sys/fs/bpf/cwndlab")
_PIN = re.compile(r"(?P<label>[\w-]+)-(?P<name>cl_[0-9a-f]{8})")


@dataclass(frozen=True, slots=True)
class Pin:
    """A pinned algorithm, which stays in the kernel until it is unloaded."""

    label: str
    name: str

    @property
    def entry(self) -> str:
        """Name of the algorithm's file in /sys/fs/bpf/cwndlab."""
        return f"{self.label}-{self.name}"


def load(
    helper: KernelHelper,
    reference: str,
    folder: Path,
    parameters: Mapping[str, int] | None = None,
    *,
    stays: bool = False,
) -> KernelProgram:
    """Load an algorithm, given by name or file.

    The algorithm is unloaded when the helper process ends, unless `stays` is set.

    Raises:
        AlgorithmError: the algorithm does not compile, or the kernel refuses it; the message
            states the reason.
        KernelError: this kernel does not support loading algorithms, or this user may not load
            them.
    """
    program = kernel_program(reference, folder, parameters)
    request = {
        "do": "load",
        "object": str(kernel_object(program.program)),
        "name": program.name,
        "parameters": dict(program.parameters),
        "pin": program.pin if stays else None,
    }
    helper.ask(request, program.program.file)
    return program


def require_loading(reference: str) -> None:
    """Raise an error if the algorithm cannot be loaded into this kernel.

    Raises:
        KernelError: the algorithm cannot be loaded; the message states the reason.
    """
    found = obstacles()
    if not found:
        return
    if all(obstacle.is_root for obstacle in found):
        is_there = this_kernel().state_of(reference)
        what = (
            "loading cwndlab's version of the algorithm needs root"
            if is_there
            else f"{reference} is not in this kernel, and loading it needs root"
        )
        msg = f"{what}: sudo cwndlab algorithm load {reference}"
        raise KernelError(msg)
    reasons = "".join(f"\n  {obstacle.what}: {obstacle.remedy}" for obstacle in found)
    msg = f"{reference} cannot be loaded into this kernel{reasons}"
    raise KernelError(msg)


def pins() -> list[Pin]:
    """List the pinned algorithms; the list is empty if their folder cannot be read."""
    try:
        entries = sorted(path.name for path in PINS.iterdir())
    except OSError:
        return []
    found = (_PIN.fullmatch(entry) for entry in entries)
    return [Pin(match["label"], match["name"]) for match in found if match]


def unload(reference: str, folder: Path) -> list[Pin]:
    """Unload the pinned algorithms that match `reference`.

    `reference` is an algorithm's name in cwndlab, its file, or its name in the kernel.

    Raises:
        KernelError: no pinned algorithm matches, or unloading needs root.
    """
    if any(obstacle.is_root for obstacle in obstacles()):
        msg = f"unloading needs root: sudo cwndlab algorithm unload {reference}"
        raise KernelError(msg)
    found = [pin for pin in pins() if reference in (pin.label, pin.name)]
    name = reference
    if not found and reference not in this_kernel().ours:
        program = kernel_program(reference, folder)
        name = program.name
        label = program.pin.removesuffix(f"-{name}")
        found = [pin for pin in pins() if pin.label == label]
    if not found and name in this_kernel().ours:
        msg = f"{name} was loaded by a cwndlab command that is still running; stop that command"
        raise KernelError(msg)
    if not found:
        msg = f"{reference} is not loaded; `cwndlab algorithm list` shows loaded algorithms"
        raise KernelError(msg)
    with KernelHelper() as helper:
        for pin in found:
            helper.ask({"do": "unpin", "pin": pin.entry})
    return found


def kernel_states(references: list[str]) -> dict[str, str]:
    """Return, for each algorithm, how the kernel provides it, or whether it can be loaded."""
    kernel = this_kernel()
    may_load = all(obstacle.is_root for obstacle in obstacles())
    states = {}
    for reference in references:
        ours = loaded_name(reference)
        own = kernel.state_of(reference)
        states[reference] = ", ".join(
            [*([own] if own else []), *([f"ours as {ours}"] if ours else [])]
        ) or ("loadable" if may_load else "cannot be loaded (cwndlab doctor shows the reason)")
    return states


def loaded_name(reference: str) -> str | None:
    """Return the kernel's name for cwndlab's version of an algorithm; None if it is not loaded."""
    ours = this_kernel().ours
    pinned = {pin.label: pin.name for pin in pins()}
    name = pinned.get(reference) or (_name_of(reference) if ours else None)
    return name if name in ours else None


def _name_of(reference: str) -> str | None:
    try:
        return kernel_program(reference, Path()).name
    except CwndlabError:
        return None
