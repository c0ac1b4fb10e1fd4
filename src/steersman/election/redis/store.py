"""The lock in Redis: sends the scripts, over one connection that is made anew when it breaks.

Time limits are the elector's: it cancels what takes too long, and redis-py then drops that connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from redis.asyncio import Redis
from redis.asyncio.connection import ConnectionPool
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff
from redis.credentials import CredentialProvider
from redis.exceptions import RedisError

from steersman.election.lock.contest import LockState, StoreUnavailable
from steersman.election.redis.address import RedisAddress
from steersman.election.redis.scripts import ACQUIRE, OBSERVE, RELEASE, RENEW

__all__ = ["RedisStore"]


class RedisStore:
    """The lock that is kept at `key`."""

    def __init__(
        self,
        address: RedisAddress,
        key: str,
        *,
        request_timeout_s: float,
        password: Callable[[], str] | None = None,
    ) -> None:
        """`password` is asked for every connection; without it, the URL's counts."""
        self._address = address
        self._key = key
        self._request_timeout_s = request_timeout_s
        self._password = password
        self._redis: Redis | None = None
        self._sentinel: Sentinel | None = None

    async def observe(self) -> LockState:
        return _state(await self._execute(OBSERVE))

    async def acquire(self, holder: str, token: str, floor: int, duration_s: float) -> LockState:
        return _state(await self._execute(ACQUIRE, holder, token, floor, _milliseconds(duration_s)))

    async def renew(self, token: str, term: int, duration_s: float) -> bool:
        return bool(await self._execute(RENEW, token, term, _milliseconds(duration_s)))

    async def release(self, token: str) -> None:
        await self._execute(RELEASE, token)

    async def close(self) -> None:
        redis, self._redis = self._redis, None
        sentinel, self._sentinel = self._sentinel, None
        clients = [*(sentinel.sentinels if sentinel is not None else ()), *([redis] if redis else ())]
        try:
            await asyncio.gather(*(client.aclose() for client in clients))
        except (RedisError, OSError) as error:
            raise StoreUnavailable(str(error)) from error

    async def _execute(self, script: str, *arguments: str | int) -> Any:
        if self._redis is None:
            self._redis = self._connect()
        try:
            return await cast(Any, self._redis.eval(script, 1, self._key, *map(str, arguments)))
        except (RedisError, OSError, RuntimeError) as error:
            # RuntimeError is uvloop's, when a connection breaks between being made and being used.
            raise StoreUnavailable(self._redacted(str(error) or type(error).__name__)) from error

    def _connect(self) -> Redis:
        """A client; connections are made when the first request needs one."""
        address = self._address
        options: dict[str, Any] = {
            # What every Redis, and everything that speaks like one, understands.
            "protocol": 2,
            **address.options,
            "decode_responses": True,
            # A connection that died while idle is replaced at once: every script may run twice.
            "retry": Retry(NoBackoff(), 1),
        }
        if self._password is not None:
            username = options.pop("username", None)
            options.pop("password", None)
            options["credential_provider"] = _Credentials(username, self._password)
        if not address.sentinels:
            return Redis.from_pool(ConnectionPool(**options))
        # One that hangs must leave time to ask the next, and then Redis.
        patience_s = self._request_timeout_s / (2 * len(address.sentinels))
        self._sentinel = Sentinel(  # type: ignore[no-untyped-call]
            list(address.sentinels),
            sentinel_kwargs={
                "protocol": 2,
                **address.sentinel_options,
                "ssl": address.tls,
                "socket_timeout": patience_s,
                "socket_connect_timeout": patience_s,
                "retry": Retry(NoBackoff(), 0),
            },
        )
        return cast(Redis, self._sentinel.master_for(address.service, ssl=address.tls, **options))

    def _redacted(self, text: str) -> str:
        for options in (self._address.options, self._address.sentinel_options):
            if password := options.get("password"):
                text = text.replace(password, "***")
        return text


class _Credentials(CredentialProvider):
    """A password that is read anew for every connection: it may be rotated."""

    def __init__(self, username: str | None, password: Callable[[], str]) -> None:
        self._username = username
        self._password = password

    def get_credentials(self) -> tuple[str] | tuple[str, str]:
        password = self._password()
        return (self._username, password) if self._username else (password,)

    async def get_credentials_async(self) -> tuple[str] | tuple[str, str]:
        return self.get_credentials()


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _state(answer: Any) -> LockState:
    holder, token, epoch, remaining_ms = answer
    return LockState(holder, token, epoch, remaining_ms / 1000)
