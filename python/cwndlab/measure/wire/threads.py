"""Run long tasks outside the event loop, each in its own thread."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")


async def in_own_thread(work: Callable[[], _T]) -> _T:
    """Run `work` in a separate thread; return its result or raise its error.

    If the wait is cancelled, the thread continues until `work` ends.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()

    def settle(value: _T | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(value)  # type: ignore[arg-type]  # without an error, a value exists

    def run() -> None:
        value, error = None, None
        try:
            value = work()
        except BaseException as raised:  # noqa: BLE001  passed to the waiting task
            error = raised
        with contextlib.suppress(RuntimeError):  # the event loop has ended meanwhile
            loop.call_soon_threadsafe(settle, value, error)

    start_thread(run)
    return await done


def start_thread(work: Callable[[], object]) -> None:
    """Run `work` in a separate thread, without waiting for its result."""
    threading.Thread(target=work, name="cwndlab", daemon=True).start()
