"""Waiting in real time: for a condition with a deadline, or for a stated reason.

Tests do not sleep to wait: a fixed sleep is too short on a busy machine and too long on a quiet one.
`steersman.testing`
has `eventually` for async tests and the virtual clock; here is what plain tests ask with, and the two calls for time
that has to pass by itself. tests/unit/house checks that no other call lets real time pass.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["pass_time", "pass_time_blocking", "soon"]

T = TypeVar("T")


def soon(
    check: Callable[[], T],
    within_s: float,
    what: str | Callable[[T], str] = "",
    *,
    every_s: float = 0.05,
    until: Callable[[T], object] = bool,
) -> T:
    """What `check` returns as soon as that is true, or `until` says so of it; fails after `within_s` seconds.

    `what` says what was waited for, or makes the message of what was returned last.
    """
    deadline = time.monotonic() + within_s
    while not until(found := check()):
        if time.monotonic() >= deadline:
            message = what(found) if callable(what) else f"{what or 'it'} is still {found!r}"
            raise AssertionError(f"not within {within_s:g} s: {message}")
        time.sleep(every_s)
    return found


async def pass_time(seconds: float, why: str) -> None:
    """Real time that passes for a reason other than waiting: a load's pace, a slow program, a fault's length."""
    assert why
    await asyncio.sleep(seconds)


def pass_time_blocking(seconds: float, why: str) -> None:
    """`pass_time` for plain tests, and for code that is meant to block its event loop."""
    assert why
    time.sleep(seconds)
