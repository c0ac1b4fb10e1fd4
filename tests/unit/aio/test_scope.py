"""Task scopes: nothing outlives its scope, and failures surface where they should."""

from __future__ import annotations

import asyncio

import pytest

from steersman.aio import Scope


async def forever(started: asyncio.Event, log: list[str] | None = None) -> None:
    started.set()
    try:
        await asyncio.Event().wait()
    finally:
        if log is not None:
            log.append("ended")


async def fail(error: Exception) -> None:
    raise error


def test_leaving_a_scope_cancels_and_awaits_its_children() -> None:
    async def main() -> None:
        log: list[str] = []
        started = asyncio.Event()
        async with Scope() as scope:
            task = scope.start(forever(started, log))
            await started.wait()
        assert task.cancelled()
        assert log == ["ended"]
        assert len(scope) == 0

    asyncio.run(main())


def test_failing_child_interrupts_the_body_and_cancels_its_siblings() -> None:
    async def main() -> None:
        log: list[str] = []

        async def owner() -> None:
            async with Scope() as scope:
                started = asyncio.Event()
                scope.start(forever(started, log))
                await started.wait()
                scope.start(fail(LookupError("boom")))
                await asyncio.Event().wait()

        with pytest.raises(LookupError, match="boom"):
            await owner()
        assert log == ["ended"]
        current = asyncio.current_task()
        assert current is not None
        assert current.cancelling() == 0

    asyncio.run(main())


def test_several_failures_come_as_a_group() -> None:
    async def late_failure(started: asyncio.Event) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise KeyError("late")

    async def main() -> None:
        async def owner() -> None:
            started = asyncio.Event()
            async with Scope() as scope:
                scope.start(late_failure(started))
                await started.wait()
                scope.start(fail(LookupError("boom")))
                await asyncio.Event().wait()

        with pytest.raises(ExceptionGroup) as caught:
            await owner()
        assert {type(error) for error in caught.value.exceptions} == {LookupError, KeyError}

    asyncio.run(main())


def test_error_of_the_body_wins_and_children_are_still_awaited() -> None:
    async def main() -> None:
        log: list[str] = []

        async def owner() -> None:
            started = asyncio.Event()
            async with Scope() as scope:
                scope.start(forever(started, log))
                await started.wait()
                raise ValueError("body")

        with pytest.raises(ValueError, match="body"):
            await owner()
        assert log == ["ended"]

    asyncio.run(main())


def test_cancelling_the_owner_waits_for_slow_children() -> None:
    async def slow_to_stop(started: asyncio.Event, release: asyncio.Event, log: list[str]) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            log.append("cleaned up")
            raise

    async def main() -> None:
        log: list[str] = []
        started, release = asyncio.Event(), asyncio.Event()

        async def owner() -> None:
            async with Scope() as scope:
                scope.start(slow_to_stop(started, release, log))
                await asyncio.Event().wait()

        async with Scope() as outer:
            task = outer.start(owner())
            await started.wait()
            task.cancel()
            for _ in range(5):
                await asyncio.sleep(0)
            assert not task.done()
            task.cancel()
            await asyncio.sleep(0)
            release.set()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert log == ["cleaned up"]

    asyncio.run(main())


def test_reporting_scope_survives_failures() -> None:
    async def main() -> None:
        errors: list[BaseException] = []
        started = asyncio.Event()
        async with Scope(on_error=errors.append) as scope:
            sibling = scope.start(forever(started))
            failing = scope.start(fail(LookupError("boom")))
            await asyncio.wait([failing])
            await started.wait()
            assert not sibling.done()
        assert [str(error) for error in errors] == ["boom"]

    asyncio.run(main())


def test_closed_scope_starts_nothing() -> None:
    async def main() -> None:
        scope = Scope()
        await scope.close()
        with pytest.raises(RuntimeError, match="closed"):
            scope.start(fail(LookupError()))

    asyncio.run(main())


def test_join_waits_for_children_to_end_by_themselves() -> None:
    async def main() -> None:
        done: list[int] = []

        async def work(number: int) -> None:
            await asyncio.sleep(0)
            done.append(number)

        async with Scope() as scope:
            for number in range(3):
                scope.start(work(number))
            await scope.join()
            assert done == [0, 1, 2]

    asyncio.run(main())


def test_close_may_be_called_by_a_child() -> None:
    async def main() -> None:
        scope = Scope()
        started = asyncio.Event()
        other = scope.start(forever(started))
        await started.wait()
        closing = scope.start(scope.close())
        await asyncio.wait([closing])
        assert other.cancelled()
        assert closing.exception() is None

    asyncio.run(main())
