"""Two recordings of the same scenario, call by call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cwndlab import _core

if TYPE_CHECKING:
    from pathlib import Path

Calls = np.ndarray[Any, np.dtype[Any]]

HOOKS: list[str] = _core.call_layout()["hooks"]

# Of every hook: when, to whom, with which arguments and answer; what window it found and left.
_ALWAYS = (
    "hook",
    "argument_0",
    "argument_1",
    "result",
    "before.tcp_mstamp",
    "before.snd_cwnd",
    "before.snd_ssthresh",
    "after.snd_cwnd",
    "after.snd_ssthresh",
    "after.sk_pacing_rate",
)
_OF_A_HOOK = {"pkts_acked": "ack.", "cong_control": "rate."}
# Of what a hook writes, this may well be kept otherwise: told, but no difference by itself.
_BESIDE = ("after.snd_cwnd_cnt", "after.ecn_flags", "after.app_limited", "after.snd_cwnd_clamp")


@dataclass(frozen=True)
class Difference:
    """The first call in which two runs differ."""

    call: int
    time_s: float
    socket: int
    hook: str
    fields: tuple[tuple[str, int, int], ...]  # name, theirs, ours

    def __str__(self) -> str:
        values = "; ".join(f"{name}: theirs {a:,}, ours {b:,}" for name, a, b in self.fields)
        at = f"callback {self.call:,} ({self.hook}, socket {self.socket}, {self.time_s:.6f} s)"
        return f"{at}: {values}"


@dataclass(frozen=True)
class Comparison:
    """What became of one scenario."""

    calls: int  # of hooks that both have
    same: int  # before the first difference
    first: Difference | None
    called: dict[str, frozenset[str]]  # hooks that were called, by side
    beside: tuple[str, ...]  # what else is kept otherwise


def read_calls(path: Path) -> Calls:
    """A recording."""
    layout = _core.call_layout()
    kind = np.dtype(
        {
            "names": [name for name, *_ in layout["fields"]],
            "formats": [
                f"{'i' if is_signed else 'u'}{size}" for _, _, size, is_signed in layout["fields"]
            ],
            "offsets": [offset for _, offset, _, _ in layout["fields"]],
            "itemsize": layout["bytes"],
        }
    )
    return np.fromfile(path, dtype=kind)


def compare(theirs: Calls, ours: Calls, common: frozenset[str]) -> Comparison:
    """Find the first call of a hook in `common` in which the two differ."""
    called = {
        side: frozenset(HOOKS[n] for n in np.unique(calls["hook"]))
        for side, calls in (("theirs", theirs), ("ours", ours))
    }
    numbers = [n for n, hook in enumerate(HOOKS) if hook in common]
    theirs, ours = (calls[np.isin(calls["hook"], numbers)] for calls in (theirs, ours))
    count = min(len(theirs), len(ours))
    owners = [_sockets(calls)[:count] for calls in (theirs, ours)]
    differs = owners[0] != owners[1]
    names = [*_ALWAYS, *(n for n in theirs.dtype.names or () if n.startswith(("ack.", "rate.")))]
    for name in names:
        differs |= _has(name, theirs["hook"][:count]) & (theirs[name][:count] != ours[name][:count])
    at = int(differs.argmax()) if differs.any() else count
    first = None
    if at < count:
        first = _difference(theirs[at], ours[at], at, owners[0][at], names)
    elif len(theirs) != len(ours):
        longer = theirs if len(theirs) > count else ours
        values = (("number of calls", len(theirs), len(ours)),)
        first = Difference(count, _time_s(longer[count]), 0, HOOKS[longer["hook"][count]], values)
    beside = tuple(
        name.removeprefix("after.")
        for name in _BESIDE
        if (theirs[name][:at] != ours[name][:at]).any()
    )
    return Comparison(max(len(theirs), len(ours)), at, first, called, beside)


def _has(name: str, hooks: Any) -> Any:  # noqa: ANN401  an array of numbers
    """Which calls have a field: a sample is the argument of one hook, and is not set in others."""
    if name in _ALWAYS:
        return np.ones(len(hooks), dtype=bool)
    own = [HOOKS.index(hook) for hook, prefix in _OF_A_HOOK.items() if name.startswith(prefix)]
    return np.isin(hooks, own)


def _sockets(calls: Calls) -> Any:  # noqa: ANN401  an array of numbers
    """Sockets by the order in which they appear: addresses mean nothing."""
    addresses, firsts, inverse = np.unique(calls["socket"], return_index=True, return_inverse=True)
    rank = np.empty(len(addresses), dtype=np.int64)
    rank[np.argsort(firsts)] = np.arange(len(addresses))
    return rank[inverse]


def _difference(
    theirs: Any,  # noqa: ANN401  one call
    ours: Any,  # noqa: ANN401  one call
    at: int,
    socket: int,
    names: list[str],
) -> Difference:
    hooks = np.array([theirs["hook"], ours["hook"]])
    fields = tuple(
        (name, int(theirs[name]), int(ours[name]))
        for name in names
        if theirs[name] != ours[name] and _has(name, hooks).any()
    )
    return Difference(at, _time_s(theirs), int(socket), HOOKS[theirs["hook"]], fields)


def _time_s(call: Any) -> float:  # noqa: ANN401  one call
    return int(call["before.tcp_mstamp"]) / 1e6
