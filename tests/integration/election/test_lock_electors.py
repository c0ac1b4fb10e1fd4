"""Contenders for locks in Redis and PostgreSQL when servers hang, die and lag behind."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import Any

import pytest

from steersman.aio import Scope, SystemClock
from tests.integration.election.backends import TIMES, Backend, RedisBackend, new_name
from tests.integration.election.workers import contending, terms, until
from tests.support.faulty_proxy import FaultyProxy
from tests.support.postgres_server import PostgresServer
from tests.support.redis_server import RedisServer
from tests.support.waiting import pass_time

pytestmark = pytest.mark.slow


#: For tests in which nobody is to lose the lock, however busy the machine.
LASTING = {**TIMES, "duration_s": 30.0, "renew_deadline_s": 20.0}


async def renewed(store: Any) -> None:
    """Return when whoever has the lock has prolonged it once more."""
    remaining_s = (await store.observe()).remaining_s

    async def longer() -> bool:
        nonlocal remaining_s
        before_s, remaining_s = remaining_s, (await store.observe()).remaining_s
        return bool(remaining_s > before_s)

    await until(longer)


class NoWallClock(SystemClock):
    """Whatever the time of day does, nobody notices."""

    def wall(self) -> float:
        raise AssertionError("the time of day decides nothing")


def test_a_server_that_hangs_makes_the_leader_stop_in_time(backend: Backend) -> None:
    async def main() -> None:
        async with contending(backend.elector(new_name(), "a", clock=NoWallClock())) as (worker,):
            with backend.server.frozen():
                frozen = time.monotonic()
                await until(lambda: not worker.working)
                assert time.monotonic() - frozen < TIMES["duration_s"]
                assert not worker.leaderships[0].valid
            await until(lambda: worker.working)
            assert worker.terms == [1, 2]

    asyncio.run(main())


def test_a_server_that_is_restarted_soon_costs_no_leadership(backend: Backend) -> None:
    async def main() -> None:
        name = new_name()
        electors = [backend.elector(name, identity, times=LASTING) for identity in ("a", "b")]
        store = backend.store(name)
        async with contending(*electors) as workers:
            backend.server.stop(signal.SIGKILL)
            backend.server.start()
            await renewed(store)
            workers[0].leaderships[0].check()
            assert terms(workers) == [1]
        await store.close()

    asyncio.run(main())


def test_a_server_that_stays_away_is_waited_for(backend: Backend) -> None:
    async def main() -> None:
        async with contending(backend.elector(new_name(), "a")) as (worker,):
            backend.server.stop(signal.SIGKILL)
            try:
                await until(lambda: not worker.working)
            finally:
                backend.server.start()
            await until(lambda: worker.working)
            assert worker.terms == [1, 2]

    asyncio.run(main())


def test_broken_connections_cost_no_leadership(backend: Backend) -> None:
    async def main() -> None:
        name = new_name()
        store = backend.store(name)
        async with Scope() as scope:
            proxy = FaultyProxy(backend.socket, scope)
            elector = backend.elector(name, "a", port=proxy.port, times=LASTING)
            async with contending(elector) as (worker,):
                for _ in range(8):
                    connections = proxy.connections
                    proxy.break_connections()
                    await until(lambda connections=connections: proxy.connections > connections)
                    await renewed(store)
                worker.leaderships[0].check()
                assert worker.terms == [1]
        await store.close()

    asyncio.run(main())


def test_on_a_slow_network_one_leads_and_leads_on(backend: Backend) -> None:
    async def main() -> None:
        name = new_name()
        store = backend.store(name)
        async with Scope() as scope:
            proxies = [FaultyProxy(backend.socket, scope) for _ in range(2)]
            for proxy in proxies:
                proxy.delay_s = 0.05
            electors = [
                backend.elector(name, proxy.target.name, port=proxy.port, times=LASTING) for proxy in proxies
            ]
            async with contending(*electors) as workers:
                for _ in range(8):
                    await renewed(store)
                assert terms(workers) == [1]
        await store.close()

    asyncio.run(main())


def test_what_was_sent_before_the_line_was_cut_and_arrives_late_does_no_harm(backend: Backend) -> None:
    async def main() -> None:
        name = new_name()
        async with Scope() as scope:
            proxy = FaultyProxy(backend.socket, scope)
            cut, other = backend.elector(name, "cut", port=proxy.port), backend.elector(name, "other")
            async with contending(cut, other) as (first, second):
                proxy.hold()
                await until(lambda: second.working)
                assert not first.working
                proxy.flow()
                await until(lambda: first.elector.leader == "other")
                await pass_time(TIMES["duration_s"], "the lock would have run out if nobody renewed it")
                second.leaderships[0].check()
                assert terms((first, second)) == [1, 2]

    asyncio.run(main())


def test_two_contenders_of_one_identity_exclude_each_other(backend: Backend) -> None:
    async def main() -> None:
        name = new_name()
        store = backend.store(name)
        twins = [backend.elector(name, "twin", times=LASTING) for _ in range(2)]
        async with contending(*twins) as workers:
            await until(lambda: workers[1].elector.leader == "twin")
            for _ in range(8):
                await renewed(store)
            assert terms(workers) == [1]
            workers[0].end.set()
            await until(lambda: workers[1].working)
            assert terms(workers) == [1, 2]
        await store.close()

    asyncio.run(main())


def test_a_lock_that_is_given_up_is_taken_long_before_it_would_expire(backend: Backend) -> None:
    async def main() -> None:
        name = new_name()
        async with contending(backend.elector(name, "a"), backend.elector(name, "b")) as (leader, follower):
            await until(lambda: follower.elector.leader == leader.elector.identity)
            ended = time.monotonic()
            leader.end.set()
            await until(lambda: follower.working)
            assert time.monotonic() - ended < TIMES["duration_s"] / 2

    asyncio.run(main())


def test_a_redis_that_forgot_everything_ends_the_leadership_but_terms_grow_on(
    redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        backend, name = RedisBackend(redis), new_name()
        store = backend.store(name)
        await store.acquire("past", "token", 99, 0.001)
        await store.close()
        async with contending(backend.elector(name, "a")) as (worker,):
            redis.cli("FLUSHALL")
            await until(lambda: len(worker.leaderships) == 2)
            assert worker.terms == [101, 102]

    asyncio.run(main())
    assert "the term went back from 101 to 0: the store has lost data" in caplog.text


def test_a_row_that_somebody_locked_makes_the_leader_stop_and_leaves_no_statement_behind(
    postgres: PostgresServer,
) -> None:
    import asyncpg

    from tests.integration.election.backends import PostgresBackend

    async def waiting(session: Any) -> int:
        count: int = await session.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'steersman election'"
            " AND state = 'active'"
        )
        return count

    async def main() -> None:
        name = new_name()
        async with contending(PostgresBackend(postgres).elector(name, "a")) as (worker,):
            session, watcher = await asyncpg.connect(postgres.url), await asyncpg.connect(postgres.url)
            async with session.transaction():
                await session.execute("SELECT FROM steersman_locks WHERE name = $1 FOR UPDATE", name)
                await until(lambda: not worker.working)
            await until(lambda: worker.working)
            assert worker.terms == [1, 2]

            async def only_one_waits() -> bool:
                return await waiting(watcher) <= 1

            await until(only_one_waits)
            await session.close()
            await watcher.close()

    asyncio.run(main())
