"""Queue the clients of a server: one measures at a time, so that none disturbs another."""

from __future__ import annotations

import asyncio


class Turns:
    """A queue of sessions in the order of their requests; only the first session may measure."""

    def __init__(self) -> None:
        """Start with an empty queue."""
        self._waiting: dict[str, asyncio.Event] = {}

    def has(self, session: str) -> bool:
        """Return whether a session has the turn, so that it may measure."""
        return next(iter(self._waiting), None) == session

    async def wait(self, session: str, for_s: float) -> int:
        """Queue a session, wait for its turn up to `for_s`, and return the number ahead of it."""
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
        """Remove a session; if the session had the turn, the next session receives the turn."""
        self._waiting.pop(session, None)
        for is_first in self._waiting.values():
            is_first.set()
            break
