"""Let the clients of a server measure one at a time, so that they do not disturb each other."""

from __future__ import annotations

import asyncio


class Turns:
    """A queue of sessions, in the order of their requests; only the first session may measure."""

    def __init__(self) -> None:
        """Create an empty queue of sessions."""
        self._waiting: dict[str, asyncio.Event] = {}

    def has(self, session: str) -> bool:
        """Return whether a session is the first in the queue and may therefore measure."""
        return next(iter(self._waiting), None) == session

    async def wait(self, session: str, for_s: float) -> int:
        """Queue a session, and wait until it is first, but at most `for_s` seconds.

        Return how many sessions are still ahead of it.
        """
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
        """Remove a session; if it was first in the queue, the next session may measure."""
        self._waiting.pop(session, None)
        for is_first in self._waiting.values():
            is_first.set()
            break
