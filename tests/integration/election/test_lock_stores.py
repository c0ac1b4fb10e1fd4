"""What a store owes the contenders for its locks, on real servers: each operation, exactly."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.integration.election.backends import Backend, PostgresBackend, new_name
from tests.support.waiting import pass_time, until

pytestmark = pytest.mark.slow

DURATION_S = 30.0


@asynccontextmanager
async def opened(backend: Backend, name: str = "") -> AsyncIterator[Any]:
    store = backend.store(name or new_name())
    try:
        yield store
    finally:
        await store.close()


def with_store(backend: Backend, test: Callable[[Any], Awaitable[None]]) -> None:
    async def main() -> None:
        async with opened(backend) as store:
            await test(store)

    asyncio.run(main())


def test_a_lock_nobody_ever_had_is_free(backend: Backend) -> None:
    async def test(store: Any) -> None:
        lock = await store.observe()
        assert (lock.holder, lock.token, lock.term) == ("", "", 0)
        assert lock.remaining_s <= 0

    with_store(backend, test)


def test_a_free_lock_is_taken_and_a_held_one_is_not(backend: Backend) -> None:
    async def test(store: Any) -> None:
        taken = await store.acquire("a", "token-a", 0, DURATION_S)
        assert (taken.holder, taken.token, taken.term) == ("a", "token-a", 1)
        assert DURATION_S - 5 < taken.remaining_s <= DURATION_S
        refused = await store.acquire("b", "token-b", 0, DURATION_S)
        assert (refused.holder, refused.token, refused.term) == ("a", "token-a", 1)
        seen = await store.observe()
        assert (seen.holder, seen.token, seen.term) == ("a", "token-a", 1)

    with_store(backend, test)


def test_one_of_many_at_once_gets_it(backend: Backend) -> None:
    async def main() -> None:
        name = new_name()
        stores = [backend.store(name) for _ in range(8)]
        answers = await asyncio.gather(
            *(store.acquire(f"c{n}", f"token-{n}", 0, DURATION_S) for n, store in enumerate(stores))
        )
        assert len({(lock.holder, lock.token, lock.term) for lock in answers}) == 1
        assert answers[0].term == 1
        for store in stores:
            await store.close()

    asyncio.run(main())


def test_acquiring_twice_by_the_same_token_is_acquiring_once(backend: Backend) -> None:
    async def test(store: Any) -> None:
        await store.acquire("a", "token-a", 0, DURATION_S)
        again = await store.acquire("a", "token-a", 0, 2 * DURATION_S)
        assert (again.token, again.term) == ("token-a", 1)
        assert again.remaining_s > DURATION_S

    with_store(backend, test)


def test_a_lock_expires_on_the_stores_clock_and_the_next_term_is_higher(backend: Backend) -> None:
    async def test(store: Any) -> None:
        await store.acquire("a", "token-a", 0, 0.2)
        began = time.monotonic()

        async def freed() -> Any:
            taken = await store.acquire("b", "token-b", 0, DURATION_S)
            return taken if taken.holder != "a" else None

        taken = await until(freed)
        assert time.monotonic() > began + 0.1
        assert (taken.token, taken.term) == ("token-b", 2)
        assert not await store.renew("token-a", 1, DURATION_S)

    with_store(backend, test)


def test_renewing_prolongs_it_for_its_holder_in_its_term_only(backend: Backend) -> None:
    async def test(store: Any) -> None:
        await store.acquire("a", "token-a", 0, 5)
        assert await store.renew("token-a", 1, DURATION_S)
        assert (await store.observe()).remaining_s > 5
        assert not await store.renew("token-b", 1, 100 * DURATION_S)
        assert not await store.renew("token-a", 2, 100 * DURATION_S)
        assert (await store.observe()).remaining_s <= DURATION_S

    with_store(backend, test)


def test_a_lock_that_does_not_exist_is_not_renewed(backend: Backend) -> None:
    async def test(store: Any) -> None:
        assert not await store.renew("token-a", 1, DURATION_S)

    with_store(backend, test)


def test_releasing_frees_it_for_its_holder_only_and_keeps_the_term(backend: Backend) -> None:
    """A late release of the last leader does not free the lock of the next."""

    async def test(store: Any) -> None:
        await store.acquire("a", "token-a", 0, DURATION_S)
        await store.release("token-a")
        free = await store.observe()
        assert (free.holder, free.term) == ("", 1)
        assert free.remaining_s <= 0
        await store.acquire("b", "token-b", 0, DURATION_S)
        await store.release("token-a")
        assert (await store.observe()).holder == "b"
        assert (await store.observe()).term == 2

    with_store(backend, test)


def test_terms_go_on_from_the_highest_that_anybody_knows(backend: Backend) -> None:
    async def test(store: Any) -> None:
        assert (await store.acquire("a", "token-a", 40, DURATION_S)).term == 41
        # Somebody else remembers a later one: whoever leads now must not go on in the old term.
        refused = await store.acquire("b", "token-b", 70, DURATION_S)
        assert (refused.holder, refused.term) == ("a", 70)
        assert not await store.renew("token-a", 41, DURATION_S)
        await store.release("token-a")
        assert (await store.acquire("a", "token-c", 0, DURATION_S)).term == 71

    with_store(backend, test)


def test_a_lock_that_ends_too_late_is_cut_to_its_duration(backend: Backend) -> None:
    """As when the store's clock was set back."""

    async def main() -> None:
        name = new_name()
        async with opened(backend, name) as store:
            await store.acquire("dead", "token-dead", 0, DURATION_S)
            backend.postpone(name, days=3)
            assert (await store.observe()).remaining_s > 86_400
            refused = await store.acquire("b", "token-b", 0, 5)
            assert refused.holder == "dead"
            assert DURATION_S - 5 < refused.remaining_s <= DURATION_S

    asyncio.run(main())


def test_names_are_told_apart_and_may_be_anything(backend: Backend) -> None:
    async def main() -> None:
        first, second = f'{new_name()}\' "{{x}}" ø', new_name()
        async with opened(backend, first) as one, opened(backend, second) as two:
            assert (await one.acquire("a", "token-a", 0, DURATION_S)).holder == "a"
            assert (await two.acquire("b", "token-b", 0, DURATION_S)).holder == "b"

    asyncio.run(main())


def test_a_store_that_was_killed_remembers_the_lock_and_is_connected_to_again(backend: Backend) -> None:
    async def test(store: Any) -> None:
        await store.acquire("a", "token-a", 6, DURATION_S)
        backend.server.stop(signal.SIGKILL)
        with pytest.raises(backend.unavailable):
            await store.observe()
        backend.server.start()
        seen = await store.observe()
        assert (seen.holder, seen.token, seen.term) == ("a", "token-a", 7)
        assert await store.renew("token-a", 7, DURATION_S)

    with_store(backend, test)


def test_a_request_that_is_cancelled_does_not_disturb_the_next(backend: Backend) -> None:
    async def test(store: Any) -> None:
        await store.observe()
        with backend.server.frozen():
            request = asyncio.ensure_future(store.acquire("a", "token-a", 0, DURATION_S))
            await pass_time(0.1, "the request is on its way to a server that does not answer")
            request.cancel()
            await asyncio.wait((request,), timeout=5)
            assert request.cancelled()
        for n in range(3):
            assert (await store.acquire("b", "token-b", n, DURATION_S)).holder in ("a", "b")

    with_store(backend, test)


def test_the_table_is_made_by_many_at_once(postgres: Any) -> None:
    async def main() -> None:
        table = f"Locks of {new_name()}"
        stores = [PostgresBackend(postgres).store("lock", table) for _ in range(8)]
        answers = await asyncio.gather(
            *(store.acquire(f"c{n}", f"token-{n}", 0, DURATION_S) for n, store in enumerate(stores))
        )
        assert len({lock.token for lock in answers}) == 1
        for store in stores:
            await store.close()

    asyncio.run(main())
