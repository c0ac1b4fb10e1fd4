"""SIGTERM and SIGINT for a program: the first ends it gracefully, the second at once.

For the top of a program (`Operator.run`, the commands of `steer`); nothing below takes signals. What was in
force before is in force again afterwards, without a moment between in which a signal would be an exception
somewhere in the middle (as after a loop's own `remove_signal_handler`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

__all__ = ["STOPPING", "Interrupted", "exit_code", "interruptible", "stopping_on_signals"]

T = TypeVar("T")

_log = logging.getLogger(__name__)

#: Those that ask a program to end.
STOPPING: Final = (signal.SIGTERM, signal.SIGINT)


class Interrupted(Exception):
    """A signal has ended what was being done, and everything that was begun is taken back."""

    def __init__(self, number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.number = number


def exit_code(number: int) -> int:
    """As shells report a process that was ended by a signal."""
    return 128 + number


@contextmanager
def stopping_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Inside, the first signal calls `stop`; a second one ends the process without further ado."""

    def first(number: signal.Signals) -> None:
        _log.info("%s: stopping; once more ends at once", number.name)
        stop()

    with _received(first):
        yield


async def interruptible(main: Coroutine[object, object, T]) -> T:
    """Await `main`, which a signal cancels: `Interrupted` is raised when it has cleaned up. A second signal
    ends the process at once."""
    task = asyncio.current_task()
    assert task is not None
    numbers: list[int] = []

    def first(number: signal.Signals) -> None:
        numbers.append(number)
        task.cancel()

    try:
        with _received(first):
            return await main
    except asyncio.CancelledError:
        if not numbers:
            raise
        raise Interrupted(numbers[0]) from None


@contextmanager
def _received(first: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Inside, the first signal calls `first`, in the loop."""
    loop = asyncio.get_running_loop()
    asked = False

    def handle(number: int, _: object) -> None:
        nonlocal asked
        if asked:
            os._exit(exit_code(number))
        asked = True
        loop.call_soon_threadsafe(first, signal.Signals(number))

    # Signals are the main thread's.
    numbers = STOPPING if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
