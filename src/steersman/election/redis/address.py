"""Redis URLs: what they may say, read without ever repeating a password.

    redis://[user:password@]host[:6379][/db][?option=value]
    rediss://…                                                  the same with TLS
    unix://[user:password@]/path/to/socket[?db=0]
    redis+sentinel://[user:password@]host[:26379],host…/service[/db]
    rediss+sentinel://…                                         the same with TLS

Options are those of redis-py, such as ssl_ca_certs, ssl_certfile and ssl_keyfile; those of the sentinels
themselves are sentinel_username and sentinel_password.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from redis.asyncio.connection import SSLConnection, parse_url

from steersman.election.errors import ElectionConfigError

__all__ = ["RedisAddress"]

_SENTINEL_PORT = 26379
#: Taken apart here: for urlsplit a URL has one host, and what it says to `a,[::1]` differs between Pythons.
_of_sentinels = re.compile(r"(rediss?)\+sentinel://([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL).fullmatch


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """Where Redis is, and how to connect to it."""

    options: Mapping[str, Any] = field(repr=False)
    """Arguments of redis-py's connections."""
    tls: bool = False
    sentinels: tuple[tuple[str, int], ...] = ()
    service: str = ""
    sentinel_options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, url: str) -> RedisAddress:
        try:
            if found := _of_sentinels(url.strip()):
                return _parse_sentinel(*found.groups())
            return cls(dict(parse_url(url)), tls=urlsplit(url).scheme == "rediss")
        except ValueError:
            # The cause quotes the URL, which may contain a password.
            raise ElectionConfigError(
                "the Redis URL is none: expected redis://HOST:PORT/DB, rediss://…, unix:///PATH or "
                "redis+sentinel://HOST:PORT,…/SERVICE/DB"
            ) from None


def _parse_sentinel(scheme: str, authority: str, rest: str) -> RedisAddress:
    user, _, hosts = authority.rpartition("@")
    parts = urlsplit(f"//{rest}")
    service, _, db = parts.path.strip("/").partition("/")
    if not service or not hosts or (db and not db.isdecimal()):
        raise ValueError("no hosts, no service or no database number")
    # Everything but the hosts is as in an ordinary URL.
    options: dict[str, Any] = dict(parse_url(f"{scheme.lower()}://{user}@/{db}?{parts.query}"))
    tls = options.pop("connection_class", None) is SSLConnection
    for_sentinels = {name: value for name, value in options.items() if name.startswith("ssl_")}
    for name in ("username", "password"):
        if value := options.pop(f"sentinel_{name}", ""):
            for_sentinels[name] = value
    return RedisAddress(
        options, tls, tuple(_host_and_port(host) for host in hosts.split(",")), service, for_sentinels
    )


def _host_and_port(text: str) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError("a host is missing")
    return parts.hostname, parts.port or _SENTINEL_PORT
