"""The lock in PostgreSQL: sends the statements, over one connection that is made anew when it breaks.

Time limits are the elector's: it cancels what takes too long. The database gives a statement up after as
long, so that none waits there for a row that somebody else has locked.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import unquote, urlsplit

import asyncpg  # type: ignore[import-untyped]

from steersman.election.lock.contest import LockState, StoreUnavailable
from steersman.election.postgres.statements import Statements

__all__ = ["PostgresStore"]


class PostgresStore:
    """The lock that is kept in the row `name`."""

    def __init__(
        self,
        url: str,
        name: str,
        statements: Statements,
        *,
        request_timeout_s: float,
        password: Callable[[], str] | None = None,
    ) -> None:
        """`password` is asked for every connection; without it, the URL's counts."""
        self._url = url
        self._secret = unquote(urlsplit(url).password or "")
        self._name = name
        self._statements = statements
        self._request_timeout_s = request_timeout_s
        self._password = password
        self._connection: Any = None

    async def observe(self) -> LockState:
        return _state(await self._execute(self._statements.observe))

    async def acquire(self, holder: str, token: str, floor: int, duration_s: float) -> LockState:
        duration = timedelta(seconds=duration_s)
        return _state(await self._execute(self._statements.acquire, holder, token, floor, duration))

    async def renew(self, token: str, term: int, duration_s: float) -> bool:
        duration = timedelta(seconds=duration_s)
        return await self._execute(self._statements.renew, token, term, duration) is not None

    async def release(self, token: str) -> None:
        await self._execute(self._statements.release, token)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            await connection.close()
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            raise self._unavailable(error) from error
        finally:
            connection.terminate()

    async def _execute(self, statement: str, *arguments: Any) -> Any:
        """The first row of the answer, or None. Whatever goes wrong ends the connection: the next one may
        reach another server, the new primary."""
        try:
            connection = await self._connected()
            try:
                return await connection.fetchrow(statement, self._name, *arguments)
            except asyncpg.UndefinedTableError:
                await connection.execute(self._statements.create)
                return await connection.fetchrow(statement, self._name, *arguments)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError) as error:
            self._drop()
            raise self._unavailable(error) from error
        except ValueError:
            self._drop()
            # What asyncpg makes of a URL it cannot read may quote a part of the password.
            raise StoreUnavailable("the URL of the database cannot be used") from None
        except BaseException:
            self._drop()
            raise

    async def _connected(self) -> Any:
        if self._connection is None or self._connection.is_closed():
            milliseconds = str(round(self._request_timeout_s * 1000))
            self._connection = await asyncpg.connect(
                self._url,
                password=self._password,
                timeout=self._request_timeout_s,
                # Statements that the server remembers do not survive a pooler or a change of the table.
                statement_cache_size=0,
                # A standby shows the past, and cannot be written to.
                target_session_attrs="read-write",
                server_settings={
                    "application_name": "steersman election",
                    "statement_timeout": milliseconds,
                    "default_transaction_isolation": "read committed",
                    # A term that was answered must not be forgotten by a crash.
                    "synchronous_commit": "on",
                },
            )
        return self._connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()

    def _unavailable(self, error: BaseException) -> StoreUnavailable:
        text = str(error) or type(error).__name__
        return StoreUnavailable(text.replace(self._secret, "***") if self._secret else text)


def _state(row: Any) -> LockState:
    return (
        LockState()
        if row is None
        else LockState(row["holder"], row["token"], row["epoch"], row["remaining_s"])
    )
