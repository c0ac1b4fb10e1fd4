"""Real servers, one of each for all tests here, and backends to test in turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.election.backends import Backend, PostgresBackend, RedisBackend
from tests.support.postgres_server import PostgresServer, postgres_server
from tests.support.redis_server import RedisServer, redis_server


@pytest.fixture(scope="session")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["redis", "postgres"])
def backend(request: pytest.FixtureRequest) -> Backend:
    server = request.getfixturevalue(request.param)
    return RedisBackend(server) if request.param == "redis" else PostgresBackend(server)
