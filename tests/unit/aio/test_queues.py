"""Queues: bounds, closing, and order by due time."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.aio import BoundedQueue, DelayQueue, QueueClosed, QueueFull, Scope


def test_bounded_queue_refuses_more_than_its_capacity() -> None:
    queue: BoundedQueue[int] = BoundedQueue(2)
    queue.put_nowait(1)
    queue.put_nowait(2)
    with pytest.raises(QueueFull):
        queue.put_nowait(3)
    assert len(queue) == 2


def test_bounded_queue_makes_writers_wait_for_readers() -> None:
    async def main() -> list[int]:
        queue: BoundedQueue[int] = BoundedQueue(1)
        async with Scope() as scope:

            async def write() -> None:
                for number in range(10):
                    await queue.put(number)
                queue.close()

            scope.start(write())
            taken = []
            for _ in range(10):
                taken.append(await queue.get())
                assert len(queue) <= 1
            with pytest.raises(QueueClosed):
                await queue.get()
        return taken

    assert asyncio.run(main()) == list(range(10))


def test_closing_wakes_readers_and_writers() -> None:
    async def main() -> None:
        empty: BoundedQueue[int] = BoundedQueue(1)
        full: BoundedQueue[int] = BoundedQueue(1)
        full.put_nowait(1)
        async with Scope(on_error=lambda error: None) as scope:
            waiting = [scope.start(empty.get()), scope.start(empty.get()), scope.start(full.put(2))]
            await asyncio.sleep(0)
            empty.close()
            full.close()
            await asyncio.wait(waiting)
            assert [type(task.exception()) for task in waiting] == [QueueClosed] * 3
        assert await full.get() == 1

    asyncio.run(main())


def test_cancelled_reader_passes_its_turn_on() -> None:
    async def main() -> int:
        queue: BoundedQueue[int] = BoundedQueue(1)
        async with Scope() as scope:
            first, second = scope.start(queue.get()), scope.start(queue.get())
            await asyncio.sleep(0)
            queue.put_nowait(7)
            first.cancel()
            return await second

    assert asyncio.run(main()) == 7


def test_delay_queue_gives_keys_when_they_are_due() -> None:
    queue: DelayQueue[str] = DelayQueue()
    queue.add("late", 5)
    queue.add("early", 1)
    assert queue.next_due() == 1
    assert queue.pop_due(0.5) == []
    assert queue.pop_due(5) == ["early", "late"]
    assert queue.next_due() is None


def test_delay_queue_keeps_the_earliest_time_of_a_key() -> None:
    queue: DelayQueue[str] = DelayQueue()
    queue.add("a", 5)
    queue.add("a", 9)
    assert queue.next_due() == 5
    queue.add("a", 2)
    assert queue.pop_due(3) == ["a"]
    assert queue.pop_due(100) == []
    assert len(queue) == 0


def test_delay_queue_forgets_discarded_keys() -> None:
    queue: DelayQueue[str] = DelayQueue()
    queue.add("a", 1)
    queue.discard("a")
    assert "a" not in queue
    assert queue.next_due() is None
    queue.add("a", 1)
    assert queue.pop_due(1) == ["a"]
    assert queue.pop_due(1) == []


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 50) | st.none())))
def test_delay_queue_agrees_with_a_plain_dict(steps: list[tuple[int, int | None]]) -> None:
    queue: DelayQueue[int] = DelayQueue()
    model: dict[int, float] = {}
    for key, due in steps:
        if due is None:
            queue.discard(key)
            model.pop(key, None)
        else:
            queue.add(key, due)
            model[key] = min(due, model.get(key, due))
        assert queue.next_due() == min(model.values(), default=None)
    taken = queue.pop_due(25)
    assert sorted(taken) == sorted(key for key, due in model.items() if due <= 25)
    assert [model[key] for key in taken] == sorted(model[key] for key in taken)
    assert len(queue) == len(model) - len(taken)
