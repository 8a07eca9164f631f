"""Turns of clients: one measures at a time, so that none affects the results of another."""

from __future__ import annotations

import asyncio


class Turns:
    """Sessions in the order of their requests; the first has the turn until it leaves."""

    def __init__(self) -> None:
        """Start with an empty queue."""
        self._waiting: dict[str, asyncio.Event] = {}

    def has(self, session: str) -> bool:
        """Return whether a session has the turn."""
        return next(iter(self._waiting), None) == session

    async def wait(self, session: str, for_s: float) -> int:
        """Ask for a turn, or keep waiting for it; return the number of sessions ahead."""
        is_first = self._waiting.setdefault(session, asyncio.Event())
        if self.has(session):
            return 0
        try:
            async with asyncio.timeout(for_s):
                await is_first.wait()
        except TimeoutError:
            pass
        return list(self._waiting).index(session)

    def leave(self, session: str) -> None:
        """Remove a session; if it had the turn, the next session gets the turn."""
        self._waiting.pop(session, None)
        for is_first in self._waiting.values():
            is_first.set()
            break
