"""Define old TCP variants (such as Tahoe) as Reno's window control with another loss recovery.

The TCP stack determines which variants are possible. The stacks of the RFCs and of simulators
(`classic`) support all variants. Linux stacks support NewReno and SACK, but not Tahoe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.errors import CwndlabError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.core import Stack

ALGORITHM = "reno"

# Settings that each variant changes in a stack profile, by the kind of stack.
_CHOICES: Mapping[str, Mapping[str, Mapping[str, str | bool]]] = {
    "tahoe": {"classic": {"recovery": "tahoe"}},
    "newreno": {"classic": {"recovery": "newreno"}, "linux": {"sack": False}},
    "sack": {"classic": {"recovery": "sack"}, "linux": {"sack": True}},
}

DESCRIPTIONS: Mapping[str, str] = {
    "tahoe": "reno that returns to slow start at every loss (Jacobson, 1988); not in Linux stacks",
    "newreno": "reno without SACK: retransmits one lost packet per round trip (RFC 6582)",
    "sack": "reno that retransmits the packets that SACK reports as missing (RFC 2018)",
}

# Settings that determine how a stack repairs losses; they do not describe the path.
SETTINGS = frozenset(
    setting for kinds in _CHOICES.values() for changes in kinds.values() for setting in changes
)


def algorithm_named(name: str) -> str:
    """Return the algorithm that a name selects; for variants such as Tahoe, this is `reno`."""
    return ALGORITHM if name in _CHOICES else name


def changes_of(name: str, stack: Stack) -> Mapping[str, str | bool]:
    """Return the stack settings that the variant `name` changes; empty if `name` is no variant.

    Raises:
        CwndlabError: the stack does not support the variant.
    """
    if name not in _CHOICES:
        return {}
    for kind, changes in _CHOICES[name].items():
        if kind in stack.values:
            return changes
    message = f'stack {stack.name} does not support {name}; write, for example, stack = "textbook"'
    raise CwndlabError(message)
