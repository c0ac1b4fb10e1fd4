"""Leads by a row in PostgreSQL (12 or newer).

The table is created when it is missing. Who may not create tables needs one that somebody else has created
(the statement is in `statements`) and the right to select, insert and update.

With replicas: a commit that only the failed primary had is unknown to the new one unless replication is
synchronous. The old leader's next renewal is then refused and it steps down; another may lead meanwhile, in a
higher term as long as any contender remembers the last. Standbys are never asked; a URL with several hosts
finds the primary among them.

Through PgBouncer, its `ignore_startup_parameters` must name statement_timeout, synchronous_commit and
default_transaction_isolation.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from urllib.parse import urlsplit

from steersman.aio import Clock
from steersman.election.errors import ElectionConfigError
from steersman.election.lock.contest import LockElector, LockSettings
from steersman.election.postgres.statements import Statements
from steersman.election.postgres.store import PostgresStore

__all__ = ["PostgresElector"]


class PostgresElector(LockElector):
    """A contender for the lock `name` in the database at `url`."""

    def __init__(
        self,
        url: str,
        name: str,
        *,
        table: str = "steersman_locks",
        identity: str | None = None,
        settings: LockSettings | None = None,
        password: Callable[[], str] | None = None,
        clock: Clock | None = None,
        rand: Callable[[], float] = random.random,
    ) -> None:
        """`password` is asked for every connection; without it, what the URL or PGPASSFILE says counts."""
        if not name:
            raise ElectionConfigError("a lock needs a name")
        if not all(table.split(".")):
            raise ElectionConfigError("a lock needs a table: NAME or SCHEMA.NAME")
        _check(url)
        settings = settings or LockSettings()
        store = PostgresStore(
            url,
            name,
            Statements.on(table),
            request_timeout_s=settings.request_timeout_s,
            password=password,
        )
        super().__init__(store, name, identity=identity, settings=settings, clock=clock, rand=rand)


def _check(url: str) -> None:
    """Refuse what is no URL, without repeating it: there may be a password in it."""
    try:
        parts = urlsplit(url)
        ports = [urlsplit(f"//{host}").port for host in parts.netloc.rpartition("@")[2].split(",")]
    except ValueError:
        ports = []
    if not ports or parts.scheme not in ("postgresql", "postgres"):
        raise ElectionConfigError("the PostgreSQL URL is none: expected postgresql://HOST:PORT/DATABASE")
