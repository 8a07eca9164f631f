"""Turns of clients: one measures at a time, so that none affects the results of another."""

from __future__ import annotations

import asyncio


class Turns:
    """Sessions in the order in which they asked for a turn; the first has it until it leaves."""

    def __init__(self) -> None:
        """Start with an empty queue."""
        self._waiting: dict[str, asyncio.Event] = {}

    def has(self, session: str) -> bool:
        """Return whether it is a session's turn."""
        return next(iter(self._waiting), None) == session

    async def wait(self, session: str, for_s: float) -> int:
        """Ask for a turn, or keep waiting for it; return how many sessions are still ahead."""
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
        """Remove a session; if it had the turn, the next one gets it."""
        self._waiting.pop(session, None)
        for is_first in self._waiting.values():
            is_first.set()
            break
