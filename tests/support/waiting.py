"""Waiting in real time: for a condition with a deadline, or for a stated reason.

Tests do not sleep to wait: a fixed sleep is too short on a busy machine and too long on a quiet one.
`steersman.testing` has the virtual clock and `eventually`; here is what asks in real time at fixed intervals,
and the two calls for time that has to pass by itself. tests/unit/house checks that no other call lets real
time pass.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["pass_time", "pass_time_blocking", "soon", "until"]

T = TypeVar("T")


def soon(
    check: Callable[[], T],
    within_s: float,
    what: str | Callable[[T], str] = "",
    *,
    every_s: float = 0.05,
) -> T:
    """What `check` returns as soon as that is true; fails after `within_s` seconds.

    `what` says what was waited for, or makes the message of what was returned last.
    """
    deadline = time.monotonic() + within_s
    while not (found := check()):
        if time.monotonic() >= deadline:
            message = what(found) if callable(what) else f"{what or 'it'} is still {found!r}"
            raise AssertionError(f"not within {within_s:g} s: {message}")
        time.sleep(every_s)
    return found


async def until(
    condition: Callable[[], Any], within_s: float = 10.0, what: str = "", *, every_s: float = 0.01
) -> Any:
    """What `condition` returns, or is awaited to return, as soon as that is true; fails after `within_s`.

    Unlike `eventually` it asks at fixed intervals, and an error of the condition is one of the test.
    """
    try:
        async with asyncio.timeout(within_s):
            while True:
                found = condition()
                if inspect.isawaitable(found):
                    found = await found
                if found:
                    return found
                await asyncio.sleep(every_s)
    except TimeoutError:
        raise AssertionError(f"not within {within_s:g} s: {what or 'the condition'}") from None


async def pass_time(seconds: float, why: str) -> None:
    """Real time that passes for a reason other than waiting: a load's pace, a slow program, a fault's length."""
    assert why
    await asyncio.sleep(seconds)


def pass_time_blocking(seconds: float, why: str) -> None:
    """`pass_time` for plain tests, and for code that is meant to block its event loop."""
    assert why
    time.sleep(seconds)
