"""Turns of clients: one measures at a time, so that none changes another's figures."""

from __future__ import annotations

import asyncio


class Turns:
    """Sessions in the order in which they asked for a turn; the first has it until it leaves."""

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self._waiting: dict[str, asyncio.Event] = {}

    def has(self, session: str) -> bool:
        """Whether it is the turn of a session."""
        return next(iter(self._waiting), None) == session

    async def wait(self, session: str, for_s: float) -> int:
        """Ask for a turn, or go on waiting for it; how many sessions are ahead after that time."""
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
        """Give the turn, or the place in the queue, to the next."""
        self._waiting.pop(session, None)
        for is_first in self._waiting.values():
            is_first.set()
            break
