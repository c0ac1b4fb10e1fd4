"""Locks whose server is replaced by its replica: PostgreSQL's standby, and Redis by Sentinel."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from steersman.election.lock.contest import LockSettings as PostgresSettings
from steersman.election.lock.contest import LockSettings as RedisSettings
from steersman.election.lock.contest import StoreUnavailable
from steersman.election.postgres.engine import PostgresElector
from steersman.election.redis.engine import RedisElector
from tests.integration.election.backends import TIMES, new_name
from tests.integration.election.workers import contending, terms, until
from tests.support.ports import free_port
from tests.support.postgres_server import PostgresServer, postgres_server, standby_of
from tests.support.redis_server import RedisServer
from tests.support.servers import Server, needed, private_folder

pytestmark = pytest.mark.slow


def test_a_standby_is_not_asked_and_leads_on_as_the_new_primary() -> None:
    with postgres_server(wal_level="replica") as primary, standby_of(primary) as standby:
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.sql("SELECT pg_reload_conf()")
        asyncio.run(fail_over(primary, standby))


async def fail_over(primary: PostgresServer, standby: PostgresServer) -> None:
    name, settings = new_name(), PostgresSettings(**TIMES)
    with pytest.raises(StoreUnavailable, match=r"read.write"):
        await PostgresElector(standby.url, name).observe()
    hosts = f"host={standby.folder},{primary.folder}&port=5432,5432"
    url = f"postgresql:///postgres?{hosts}&user=postgres"
    electors = [PostgresElector(url, name, identity=one, settings=settings) for one in ("a", "b")]
    async with contending(*electors) as workers:
        primary.stop(signal.SIGKILL)
        await until(lambda: not workers[0].working)
        standby.promote()
        await until(lambda: any(worker.working for worker in workers))
        assert terms(workers) == [1, 2]
        assert standby.sql(f"SELECT epoch FROM steersman_locks WHERE name = '{name}'") == "2"


@contextmanager
def sentinel(primary_port: int) -> Iterator[int]:
    """One that alone decides when the primary is down, after the leader has given up; its port."""
    port = free_port()
    with private_folder() as folder:
        config = folder / "sentinel.conf"
        config.write_text(
            f"port {port}\nbind 127.0.0.1\ndir {folder}\n"
            f"sentinel monitor main 127.0.0.1 {primary_port} 1\n"
            "sentinel down-after-milliseconds main 3000\n"
            "sentinel failover-timeout main 3000\n"
        )
        config.chmod(0o666)  # Sentinel keeps its state in it
        command = [needed("redis-server"), str(config), "--sentinel"]
        server = Server(command, folder, lambda: "main" in (folder / "log").read_text())
        with server.running():
            yield port


@contextmanager
def redis_on_port(*options: str) -> Iterator[tuple[RedisServer, int]]:
    port = free_port()
    with private_folder() as folder:
        server = RedisServer(folder, "--port", str(port), "--bind", "127.0.0.1", *options)
        with server.running():
            yield server, port


def test_sentinel_is_asked_where_redis_is_and_again_after_a_failover() -> None:
    with redis_on_port() as (primary, primary_port):
        follow = ("--replicaof", "127.0.0.1", str(primary_port), "--repl-diskless-sync-delay", "0")
        with redis_on_port(*follow) as (replica, _), sentinel(primary_port) as port:
            asyncio.run(fail_over_by_sentinel(primary, replica, port))


async def fail_over_by_sentinel(primary: RedisServer, replica: RedisServer, port: int) -> None:
    name, settings = new_name(), RedisSettings(**TIMES)
    # Nobody listens on the first: the others are asked as well.
    url = f"redis+sentinel://127.0.0.1:{free_port()},127.0.0.1:{port}/main/0"
    electors = [RedisElector(url, name, identity=one, settings=settings) for one in ("a", "b")]
    async with contending(*electors) as workers:
        key = f"steersman:lock:{name}"
        await until(lambda: replica.cli("HGET", key, "epoch") == "1")
        primary.stop(signal.SIGKILL)
        await until(lambda: not workers[0].working)
        await until(lambda: any(worker.working for worker in workers))
        assert terms(workers) == [1, 2]
        assert replica.cli("HGET", key, "epoch") == "2"


def test_a_replica_cannot_be_led_by(redis: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    async def main(url: str) -> None:
        elector = RedisElector(url, new_name(), settings=RedisSettings(**TIMES))
        run = asyncio.ensure_future(elector.run(lambda _: asyncio.sleep(0)))
        await until(lambda: "READONLY" in caplog.text or "read only" in caplog.text)
        run.cancel()
        await asyncio.wait((run,))
        assert elector.term == 0

    with redis_on_port() as (_, port), redis_on_port("--replicaof", "127.0.0.1", str(port)) as (replica, _):
        asyncio.run(main(replica.url))
