"""Waiting for what will be true: by asking again and again, up to a deadline.

Time is the running loop's, so under `virtual_time` a wait takes none.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

from steersman.client import ClientError
from steersman.testing.errors import NotYet

__all__ = ["eventually"]

T = TypeVar("T")

#: Waits grow from the first to a part of the time limit, so that what is quick is noticed soon and what is
#: slow is not asked for too often.
_FIRST_S = 0.005
_LAST_PART = 0.01


@overload
async def eventually(
    predicate: Callable[[], Awaitable[T | None]], timeout_s: float = ..., *, what: str = ...
) -> T: ...


@overload
async def eventually(predicate: Callable[[], T | None], timeout_s: float = ..., *, what: str = ...) -> T: ...


async def eventually(predicate: Callable[[], Any], timeout_s: float = 10.0, *, what: str = "") -> Any:
    """Return what `predicate` returns as soon as that is true; it may be `async`.

        app = await eventually(lambda: client.find(WebApp, "a"))

    A failed assertion in it, or an error of the API, counts as not yet. Raises `NotYet`.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    wait_s = _FIRST_S
    while True:
        value = None
        trouble: Exception | None = None
        try:
            value = predicate()
            if inspect.isawaitable(value):
                value = await value
        except (AssertionError, ClientError) as error:
            value, trouble = None, error
        if value:
            return value
        if loop.time() >= deadline:
            raise NotYet(_message(predicate, timeout_s, what, value, trouble)) from trouble
        await asyncio.sleep(min(wait_s, max(deadline - loop.time(), 0.0)))
        wait_s = min(wait_s * 2, max(timeout_s * _LAST_PART, _FIRST_S))


def _message(
    predicate: Callable[..., object], timeout_s: float, what: str, value: object, trouble: Exception | None
) -> str:
    name = what or getattr(predicate, "__name__", "it").replace("<lambda>", "the condition")
    last = f"{type(trouble).__name__}: {trouble}" if trouble is not None else f"it is {value!r}"
    return f"{name} is not true after {timeout_s:g} s; the last time {last}"
