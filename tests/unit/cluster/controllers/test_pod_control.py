"""Batches that start slowly."""

from __future__ import annotations

import asyncio

import pytest

from steersman.client import ClientError
from steersman.cluster.controllers.pod_control import slow_start


@pytest.mark.parametrize(
    ("count", "fails_at", "tried"),
    [
        pytest.param(0, None, 0, id="nothing to do"),
        pytest.param(10, None, 10, id="all succeed"),
        pytest.param(100, 0, 1, id="the first fails"),
        pytest.param(100, 1, 3, id="the rest of a batch is tried"),
        pytest.param(100, 5, 7, id="later batches are larger"),
    ],
)
def test_nothing_is_tried_after_a_batch_with_a_failure(count: int, fails_at: int | None, tried: int) -> None:
    seen: list[int] = []

    async def do(number: int) -> None:
        seen.append(number)
        if number == fails_at:
            raise ClientError("no")

    failed = asyncio.run(slow_start(range(count), do))
    assert len(seen) == tried
    assert (failed is None) == (fails_at is None)


def test_what_is_no_failure_of_the_api_is_raised() -> None:
    async def do(number: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(slow_start([1], do))
