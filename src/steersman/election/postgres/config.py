"""`PostgresLock(url, "my-operator")`: leader election by a row in PostgreSQL, as an operator declares it.

    PostgresLock("postgresql://me@db-0,db-1/operators?sslmode=verify-full", "my-operator")

Importing this needs nothing but Steersman; making the elector needs `steersman[postgres]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from steersman.aio import Clock
from steersman.client import Client
from steersman.election.errors import ElectionConfigError
from steersman.election.lock.declaration import LockDeclaration

if TYPE_CHECKING:
    from steersman.election.postgres.engine import PostgresElector

__all__ = ["PostgresLock"]


@dataclass(frozen=True, slots=True)
class PostgresLock(LockDeclaration):
    """A lock in the database at `url`, a URL as libpq knows them: one host or several, sslmode, …"""

    table: str = "steersman_locks"
    """Made when it is missing; may be qualified by a schema."""

    def elector(self, client: Client, clock: Clock) -> PostgresElector:
        try:
            from steersman.election.postgres.engine import PostgresElector
        except ModuleNotFoundError as error:
            raise ElectionConfigError(
                "a lock in PostgreSQL needs `pip install 'steersman[postgres]'`"
            ) from error
        return PostgresElector(
            self.url,
            self.name,
            table=self.table,
            identity=self.identity,
            settings=self.settings,
            password=self.password,
            clock=clock,
        )
