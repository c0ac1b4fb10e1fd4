"""TLS and passwords on the way to Redis and PostgreSQL, and that no password is ever shown."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from steersman.aio import SystemClock
from steersman.cluster.auth.pki import StoredAuthority
from steersman.election import ElectionConfigError
from steersman.election.lock.contest import StoreUnavailable as PostgresUnavailable
from steersman.election.lock.contest import StoreUnavailable as RedisUnavailable
from steersman.election.postgres import PostgresLock
from steersman.election.postgres.engine import PostgresElector
from steersman.election.redis import RedisLock
from steersman.election.redis.engine import RedisElector
from tests.integration.election.backends import RedisBackend, new_name
from tests.support.ports import free_port
from tests.support.postgres_server import PostgresServer, postgres_server
from tests.support.redis_server import RedisServer, redis_server
from tests.support.servers import private_folder

pytestmark = pytest.mark.slow

NO_CLIENT: Any = None


def leads(elector: Any) -> bool:
    """It is elected, and done."""

    async def main() -> None:
        async with asyncio.timeout(30):
            await elector.run(lambda _: asyncio.sleep(0))

    asyncio.run(main())
    return True


def refusal(elector: Any) -> str:
    """What is said, and logged, when the store cannot be used."""
    with pytest.raises((RedisUnavailable, PostgresUnavailable)) as caught:
        asyncio.run(elector.observe())
    return str(caught.value)


@pytest.fixture(scope="module")
def guarded_postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        for user, password in (("steersman", "first"), ("other", "second")):
            server.sql(f"CREATE ROLE {user} LOGIN PASSWORD '{password}'")
        server.sql("GRANT CREATE ON SCHEMA public TO steersman")
        access = server.data / "pg_hba.conf"
        access.write_text("local all postgres trust\nlocal all all scram-sha-256\n")
        server.sql("SELECT pg_reload_conf()")
        yield server


def test_redis_passwords_come_from_the_url_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "password"
    file.write_text("s3cr3t/&\n")
    monkeypatch.setenv("LOCK_PASSWORD", "s3cr3t/&")
    with redis_server("--requirepass", "s3cr3t/&") as server:
        plain = RedisLock(f"unix://{server.socket}", new_name())
        wrong = RedisLock(f"unix://:wr0ng@{server.socket}", new_name())
        for lock in (
            RedisLock(f"unix://:s3cr3t%2F%26@{server.socket}", new_name()),
            plain.password_file(file),
            plain.password_env("LOCK_PASSWORD"),
            wrong.password_file(file),
        ):
            assert leads(lock.elector(NO_CLIENT, SystemClock()))
        assert caplog.text == ""
        with caplog.at_level(logging.DEBUG):
            said = refusal(wrong.elector(NO_CLIENT, SystemClock()))
            assert "Authentication required" in refusal(plain.elector(NO_CLIENT, SystemClock()))
        assert "invalid username-password" in said
        for secret in ("s3cr3t", "wr0ng"):
            assert secret not in said + caplog.text + repr(wrong) + repr(plain.password_file(file))


def test_postgres_passwords_come_from_the_url_a_file_or_the_environment(
    guarded_postgres: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    file = tmp_path / "password"
    file.write_text("first\n")
    monkeypatch.setenv("LOCK_PASSWORD", "first")
    url = f"postgresql:///postgres?host={guarded_postgres.folder}&user=steersman"
    plain = PostgresLock(url, new_name())
    wrong = PostgresLock(f"{url}&password=wr0ng", new_name())
    for lock in (
        PostgresLock(f"{url}&password=first", new_name()),
        plain.password_file(file),
        plain.password_env("LOCK_PASSWORD"),
        wrong.password_file(file),
    ):
        assert leads(lock.elector(NO_CLIENT, SystemClock()))
    assert caplog.text == ""
    with caplog.at_level(logging.DEBUG):
        said = refusal(wrong.elector(NO_CLIENT, SystemClock()))
    assert "password authentication failed" in said
    assert "wr0ng" not in said + caplog.text + repr(wrong)


def test_a_password_that_was_changed_is_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("old")
    with redis_server("--requirepass", "old") as server:
        elector = RedisLock(server.url, new_name()).password_file(file).elector(NO_CLIENT, SystemClock())
        assert leads(elector)
        server.cli("-a", "old", "CONFIG", "SET", "requirepass", "new")
        file.write_text("new")
        assert leads(elector)
        assert elector.term == 2


def test_who_may_not_create_tables_uses_one_that_is_there(guarded_postgres: PostgresServer) -> None:
    server = guarded_postgres
    url = f"postgresql:///postgres?host={server.folder}&user=other&password=second"
    server.sql("CREATE SCHEMA operators")
    server.sql("GRANT USAGE ON SCHEMA operators TO other")
    lock = PostgresLock(url, new_name(), table="operators.Locks")
    assert refusal(lock.elector(NO_CLIENT, SystemClock())) == "permission denied for schema operators"
    server.sql(
        'CREATE TABLE operators."Locks" (name text PRIMARY KEY, epoch bigint NOT NULL, holder text NOT NULL,'
        " token text NOT NULL, duration interval NOT NULL, expires timestamptz NOT NULL)"
    )
    server.sql('GRANT SELECT, INSERT, UPDATE ON operators."Locks" TO other')
    assert leads(lock.elector(NO_CLIENT, SystemClock()))


@contextmanager
def certified() -> Iterator[tuple[Path, Path]]:
    """Folders with ca.crt, tls.crt and tls.key: a server's, which may be read by it, and a client's."""
    authority = StoredAuthority.make()
    with private_folder() as server, private_folder() as client:
        for folder, pair in (
            (server, authority.issue("server", names=["127.0.0.1"], server=True)),
            (client, authority.issue("steersman")),
        ):
            (folder / "ca.crt").write_bytes(authority.pem)
            (folder / "tls.crt").write_bytes(pair.certificate)
            (folder / "tls.key").write_bytes(pair.key)
        (server / "tls.key").chmod(0o644)
        yield server, client


def test_redis_by_tls_proves_who_it_is_and_is_told_who_asks() -> None:
    with certified() as (theirs, ours):
        port = free_port()
        with redis_server(
            *("--tls-port", str(port), "--bind", "127.0.0.1", "--tls-ca-cert-file", str(theirs / "ca.crt")),
            *("--tls-cert-file", str(theirs / "tls.crt"), "--tls-key-file", str(theirs / "tls.key")),
        ):
            url = f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={ours}/ca.crt"
            certificate = f"&ssl_certfile={ours}/tls.crt&ssl_keyfile={ours}/tls.key"
            assert leads(RedisElector(url + certificate, new_name()))
            assert refusal(RedisElector(url, new_name())), "it wants a certificate"
            stranger = RedisElector(f"rediss://127.0.0.1:{port}/0", new_name())
            assert "certificate verify failed" in refusal(stranger)
            assert refusal(RedisElector(f"redis://127.0.0.1:{port}/0", new_name())), "it wants TLS"


def test_an_observer_is_told_what_the_store_says(redis: RedisServer) -> None:
    backend, name = RedisBackend(redis), new_name()

    async def main() -> None:
        store = backend.store(name)
        await store.acquire("leader", "token", 4, 30)
        await store.close()
        lock = await backend.elector(name, "observer").observe()
        assert (lock.holder, lock.term) == ("leader", 5)

    asyncio.run(main())


@pytest.mark.parametrize(
    "url",
    ["", "localhost:6379", "http://host", "redis://h:s3cr3t", "redis+sentinel://h", "redis+sentinel://h:x/s"],
)
def test_what_is_no_redis_url_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ElectionConfigError, match="the Redis URL is none") as caught:
        RedisElector(url, "lock")
    assert "s3cr3t" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("url", ["", "host/db", "mysql://host/db", "postgresql://u:s3cr3t/x@host/db"])
def test_what_is_no_postgres_url_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ElectionConfigError, match="the PostgreSQL URL is none") as caught:
        PostgresElector(url, "lock")
    assert "s3cr3t" not in str(caught.value)
