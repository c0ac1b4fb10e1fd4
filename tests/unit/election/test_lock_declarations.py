"""`RedisLock` and `PostgresLock`: what an operator declares, and the electors made of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from steersman.aio import SystemClock
from steersman.election import ElectionConfigError
from steersman.election.config import ElectionConfig
from steersman.election.postgres import PostgresLock
from steersman.election.redis import RedisLock

URLS: dict[Any, str] = {
    RedisLock: "redis://me:s3cr3t@localhost:6379/1",
    PostgresLock: "postgresql://me:s3cr3t@localhost:5432/db",
}
NO_CLIENT: Any = None

both = pytest.mark.parametrize("kind", URLS)


@both
def test_an_elector_is_made_as_declared(kind: Any) -> None:
    config: ElectionConfig = kind(URLS[kind], name="my-operator", identity="me")
    elector = config.elector(NO_CLIENT, SystemClock())
    assert (elector.name, elector.identity) == ("my-operator", "me")
    assert (elector.is_leader, elector.term, elector.leader, elector.check()) == (False, 0, "", "")


@both
def test_without_an_identity_every_elector_has_its_own(kind: Any) -> None:
    lock = kind(URLS[kind], "my-operator")
    first, second = (lock.elector(NO_CLIENT, SystemClock()) for _ in range(2))
    assert first.identity != second.identity


@both
def test_a_lock_needs_a_name(kind: Any) -> None:
    with pytest.raises(ElectionConfigError, match="a lock needs a name"):
        kind(URLS[kind], "").elector(NO_CLIENT, SystemClock())


@both
def test_no_password_is_in_what_is_shown(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCK_PASSWORD", "s3cr3t")
    lock = kind(URLS[kind], "my-operator").password_env("LOCK_PASSWORD")
    assert "s3cr3t" not in f"{lock!r} {lock.elector(NO_CLIENT, SystemClock())!r}"
    assert "my-operator" in repr(lock)


@both
def test_passwords_are_read_when_they_are_needed(
    kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = kind(URLS[kind], "my-operator")
    lock = plain.password_file(tmp_path / "password")
    (tmp_path / "password").write_text("one\n")
    assert lock.password() == "one"
    (tmp_path / "password").write_text("two\n")
    assert lock.password() == "two"
    with pytest.raises(ElectionConfigError, match="LOCK_PASSWORD is not set"):
        plain.password_env("LOCK_PASSWORD")
    monkeypatch.setenv("LOCK_PASSWORD", "three")
    assert plain.password_env("LOCK_PASSWORD").password() == "three"


@both
def test_times_are_declared_and_checked(kind: Any) -> None:
    lock = kind(URLS[kind], "my-operator")
    quick = lock.timing(duration_s=3, renew_deadline_s=2, retry_period_s=0.5)
    assert (quick.settings.duration_s, lock.settings.duration_s) == (3, 15)
    with pytest.raises(ElectionConfigError, match="duration_s > renew_deadline_s"):
        lock.timing(duration_s=2, renew_deadline_s=2, retry_period_s=0.5)


@pytest.mark.parametrize(
    ("kind", "package", "extra"), [(RedisLock, "redis", "redis"), (PostgresLock, "asyncpg", "postgres")]
)
def test_without_the_package_it_is_said_which_extra_to_install(
    kind: Any, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [name for name in sys.modules if name.startswith(f"steersman.election.{extra}.")]:
        monkeypatch.delitem(sys.modules, module)
    for module in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ElectionConfigError, match=rf"steersman\[{extra}\]"):
        kind(URLS[kind], "my-operator").elector(NO_CLIENT, SystemClock())


def test_a_table_has_a_name() -> None:
    with pytest.raises(ElectionConfigError, match="NAME or SCHEMA"):
        PostgresLock(URLS[PostgresLock], "lock", table="schema.").elector(NO_CLIENT, SystemClock())
