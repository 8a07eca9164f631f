"""Wait until the flows of a transfer end, or until a function demands that they end early."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from cwndlab.measure.wire.flow import FlowEnd

    SenderStates = Mapping[int, Mapping[str, int]]
    EndsEarly = Callable[[SenderStates], bool]

_POLL_S = 0.02
_LOOK_S = 0.25
"""Interval in seconds at which the senders' states are requested."""


def wait_for(
    ends: Collection[FlowEnd],
    duration_s: float,
    states: Callable[[], SenderStates],
    ends_early: EndsEarly | None,
) -> bool:
    """Wait until all flows are done, or until `duration_s` has passed.

    Return True if `ends_early` ended the wait before that.

    Args:
        ends: the flows' endpoints on this computer.
        duration_s: duration of the flows.
        states: function that returns some fields of TCP_INFO of each flow's sender.
        ends_early: function that decides from these states whether to end all flows; if None, the
            states are not requested.
    """
    began_s = look_s = time.monotonic()
    while (now_s := time.monotonic()) < began_s + duration_s:
        if all(end.is_done for end in ends):
            return False
        if ends_early is not None and now_s >= look_s + _LOOK_S:
            if ends_early(states()):
                return True
            look_s = time.monotonic()
        time.sleep(_POLL_S)
    return False
