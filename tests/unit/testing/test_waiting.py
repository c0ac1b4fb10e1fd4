"""`eventually`: what counts as not yet, and what a test is told in the end."""

from __future__ import annotations

import asyncio

import pytest

from steersman.client import Unreachable
from steersman.testing import NotYet, eventually, virtual_time


@virtual_time
async def test_the_first_true_value_is_returned() -> None:
    values = iter([None, 0, "", "there"])
    assert await eventually(lambda: next(values)) == "there"


@virtual_time
async def test_a_coroutine_is_awaited() -> None:
    loop = asyncio.get_running_loop()

    async def late() -> str | None:
        await asyncio.sleep(0.5)
        return "there" if loop.time() > 5 else None

    assert await eventually(late) == "there"
    assert 5 < loop.time() < 6


@pytest.mark.parametrize("error", [AssertionError("not equal"), Unreachable("no answer")])
def test_failed_assertions_and_errors_of_the_api_are_not_yet(error: Exception) -> None:
    errors = [error, error]

    def predicate() -> bool:
        if errors:
            raise errors.pop()
        return True

    assert asyncio.run(eventually(predicate))


@virtual_time
async def test_other_errors_are_raised_at_once() -> None:
    with pytest.raises(ZeroDivisionError):
        await eventually(lambda: 1 / 0)
    assert asyncio.get_running_loop().time() == 0


@virtual_time
async def test_in_the_end_it_says_what_was_last_seen() -> None:
    with pytest.raises(NotYet, match=r"^that it is there is not true after 3 s; the last time it is \[\]$"):
        await eventually(list, 3, what="that it is there")
    assert asyncio.get_running_loop().time() == pytest.approx(3)


@virtual_time
async def test_in_the_end_it_says_what_went_wrong() -> None:
    def equal() -> None:
        assert [1] == [2], "one is not two"

    with pytest.raises(
        NotYet, match="equal is not true after 1 s; the last time AssertionError: one is not two"
    ) as e:
        await eventually(equal, 1)
    assert isinstance(e.value.__cause__, AssertionError)


@virtual_time
async def test_what_is_true_at_the_deadline_counts() -> None:
    loop = asyncio.get_running_loop()
    await eventually(lambda: loop.time() >= 2, 2)
