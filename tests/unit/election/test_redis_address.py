"""Redis URLs and what is read from them."""

from __future__ import annotations

from typing import Any

import pytest
from redis.asyncio.connection import SSLConnection, UnixDomainSocketConnection

from steersman.election.redis.address import RedisAddress


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("redis://host", {"host": "host"}),
        ("redis://host:7000/3", {"host": "host", "port": 7000, "db": 3}),
        ("redis://:pass%40word@host", {"host": "host", "password": "pass@word"}),
        ("redis://me:p@[::1]:7000", {"host": "::1", "port": 7000, "username": "me", "password": "p"}),
        ("rediss://host", {"host": "host", "connection_class": SSLConnection}),
        (
            "unix:///run/redis.sock",
            {"path": "/run/redis.sock", "connection_class": UnixDomainSocketConnection},
        ),
    ],
)
def test_one_server(url: str, options: dict[str, Any]) -> None:
    address = RedisAddress.parse(url)
    assert address.options == options
    assert address.sentinels == ()
    assert address.tls == url.startswith("rediss:")


@pytest.mark.parametrize(
    ("url", "sentinels", "service", "options"),
    [
        ("redis+sentinel://a/main", (("a", 26379),), "main", {}),
        ("redis+sentinel://a:1,b:2,[::1]:3/main/4", (("a", 1), ("b", 2), ("::1", 3)), "main", {"db": 4}),
        (
            "redis+sentinel://me:p%2F@a,b/main",
            (("a", 26379), ("b", 26379)),
            "main",
            {"username": "me", "password": "p/"},
        ),
    ],
)
def test_a_server_that_sentinels_know(
    url: str, sentinels: tuple[tuple[str, int], ...], service: str, options: dict[str, Any]
) -> None:
    address = RedisAddress.parse(url)
    assert (address.sentinels, address.service, address.options) == (sentinels, service, options)
    assert not address.tls
    assert address.sentinel_options == {}


def test_sentinels_are_reached_by_tls_and_with_a_password_of_their_own() -> None:
    address = RedisAddress.parse(
        "rediss+sentinel://:data@a/main?ssl_ca_certs=/ca.crt&sentinel_password=theirs&sentinel_username=us"
    )
    assert address.tls
    assert address.options == {"password": "data", "ssl_ca_certs": "/ca.crt"}
    assert address.sentinel_options == {"ssl_ca_certs": "/ca.crt", "username": "us", "password": "theirs"}
    assert "data" not in repr(address)
    assert "theirs" not in repr(address)
