"""A server, or whoever pretends to be one, that ends every connection: the store is unavailable, nothing else."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest
import uvloop

from steersman.election.lock.contest import LockStore, StoreUnavailable
from steersman.election.postgres.statements import Statements
from steersman.election.postgres.store import PostgresStore
from steersman.election.redis.address import RedisAddress
from steersman.election.redis.store import RedisStore

ATTEMPTS, AT_ONCE = 20, 20


@pytest.fixture
def port() -> Iterator[int]:
    """Of somebody who resets every connection, as soon as it is made."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:

        def serve() -> None:
            while True:
                connection, _ = listener.accept()
                with connection:
                    # No lingering: the other side is told that the connection was reset.
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if over.is_set():
                    return

        over = threading.Event()
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        address: int = listener.getsockname()[1]
        yield address
        over.set()
        with socket.socket() as last:
            last.connect_ex(("127.0.0.1", address))
        thread.join()


def _redis(port: int) -> LockStore:
    return RedisStore(RedisAddress.parse(f"redis://127.0.0.1:{port}/0"), "lock", request_timeout_s=5)


def _postgres(port: int) -> LockStore:
    url = f"postgresql://me@127.0.0.1:{port}/db?sslmode=disable"
    return PostgresStore(url, "lock", Statements.on("locks"), request_timeout_s=5)


@pytest.mark.parametrize("made", [_redis, _postgres], ids=["redis", "postgres"])
def test_whatever_goes_wrong_is_that_the_store_is_unavailable(
    port: int, made: Callable[[int], LockStore]
) -> None:
    async def once() -> None:
        store = made(port)
        with pytest.raises(StoreUnavailable):
            await store.observe()
        await store.close()

    async def often() -> None:
        for _ in range(ATTEMPTS):
            await asyncio.gather(*(once() for _ in range(AT_ONCE)))

    uvloop.run(often())
