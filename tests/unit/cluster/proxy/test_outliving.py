"""A forwarder that outlives its proxy: found by the next one, and gone when nobody needs it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import pytest

from steersman.aio import Scope
from steersman.cluster.proxy import process
from steersman.cluster.proxy.frontends import Backend, Frontend, FrontendRoute
from steersman.cluster.proxy.process import ForwarderFiles, ForwarderProcess
from steersman.testing import eventually
from tests.support.ports import free_port
from tests.support.processes import has_ended

HOST = "127.0.0.1"
PATIENCE_S = 60.0


class Echo:
    """Sends back what comes, and says who it is."""

    def __init__(self, name: bytes) -> None:
        self._name = name
        self._listener = socket.create_server((HOST, 0))
        self.route = FrontendRoute((Backend(*self._listener.getsockname()),))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=self._listener.accept()[:1], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            while data := client.recv(1000):
                client.sendall(self._name + data)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def echoes() -> Iterator[Callable[[bytes], Echo]]:
    made: list[Echo] = []

    def make(name: bytes) -> Echo:
        made.append(Echo(name))
        return made[-1]

    yield make
    for one in made:
        one.close()


def connect(frontend: Frontend) -> socket.socket:
    sock = socket.create_connection(frontend[1:], timeout=PATIENCE_S)
    sock.settimeout(PATIENCE_S)
    return sock


async def ask(sock: socket.socket) -> bytes:
    def exchange() -> bytes:
        sock.sendall(b"!")
        return sock.recv(1000)

    return await asyncio.to_thread(exchange)


async def asked(frontend: Frontend) -> bytes:
    with connect(frontend) as sock:
        return await ask(sock)


def refuses(frontend: Frontend) -> bool:
    try:
        socket.create_connection(frontend[1:], timeout=PATIENCE_S).close()
    except ConnectionRefusedError:
        return True
    return False


class Place:
    """A folder with a forwarder, and somebody it works for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stays = True
        self.lock = folder / "lock"
        self.home = ForwarderFiles(folder, "test", (folder / "none", self.lock), lambda: self.stays)

    @contextmanager
    def needed(self) -> Iterator[None]:
        """Somebody else needs the forwarder, and nobody any more after this."""
        descriptor = os.open(self.lock, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            os.close(descriptor)

    @asynccontextmanager
    async def proxy(self) -> AsyncIterator[ForwarderProcess]:
        """A proxy, ended in order."""
        forwarder = ForwarderProcess(home=self.home)
        async with Scope() as scope:
            running = scope.start(forwarder.run())
            await eventually(lambda: forwarder.pid, PATIENCE_S)
            try:
                yield forwarder
            finally:
                running.cancel()


def test_connections_go_on_without_a_proxy_and_with_the_next(
    tmp_path: Path, echoes: Callable[[bytes], Echo]
) -> None:
    place, (a, b) = Place(tmp_path), (echoes(b"a"), echoes(b"b"))
    kept, dropped = (Frontend("TCP", HOST, free_port()) for _ in range(2))

    async def test() -> int:
        with place.needed():
            async with place.proxy() as first:
                await first.apply({kept: a.route, dropped: a.route})
                pid = first.pid
                old = connect(kept)
                assert await ask(old) == b"a!"
            with old:
                assert await ask(old) == b"a!"
                assert await asked(kept) == b"a!"
                async with place.proxy() as second:
                    assert second.pid == pid
                    await second.apply({kept: b.route})
                    assert await asked(kept) == b"b!"
                    assert await asked(dropped) == b"a!"
                    await second.close_others()
                    assert refuses(dropped)
                    assert await ask(old) == b"a!"
                    await second.apply({}, [kept])
                    await second.apply({kept: a.route})
                assert await asked(kept) == b"a!"
                async with place.proxy() as third:
                    # One that wants nothing.
                    await third.close_others()
                    assert refuses(kept)
        assert pid is not None
        return pid

    pid = asyncio.run(test())
    asyncio.run(eventually(lambda: has_ended(pid), PATIENCE_S))


def test_a_forwarder_ends_in_order_when_nothing_lives_on(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.stays = False

    async def test() -> int:
        with place.needed():
            async with place.proxy() as proxy:
                await proxy.apply({Frontend("TCP", HOST, free_port()): FrontendRoute((Backend(HOST, 9),))})
                pid = proxy.pid
        assert pid is not None
        await eventually(lambda: has_ended(pid), PATIENCE_S)
        return pid

    first = asyncio.run(test())
    assert asyncio.run(test()) != first


def test_a_forwarder_of_another_version_is_replaced(
    tmp_path: Path, echoes: Callable[[bytes], Echo], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, echo = Place(tmp_path), echoes(b"a")
    frontend = Frontend("TCP", HOST, free_port())

    async def test() -> None:
        with place.needed():
            async with place.proxy() as first:
                await first.apply({frontend: echo.route})
                pid = first.pid
            forwarder = ForwarderProcess(home=place.home)
            with monkeypatch.context() as patched:
                patched.setattr(process, "VERSION", -1)
                sock = place.home.connect()
                assert sock is not None
                assert not await forwarder._meet(sock)
            assert pid is not None
            await eventually(lambda: has_ended(pid), PATIENCE_S)
            async with place.proxy() as second:
                await second.apply({frontend: echo.route})
                assert await asked(frontend) == b"a!"
                place.stays = False

    asyncio.run(test())


def test_a_forwarder_that_was_killed_is_replaced_and_told_everything(
    tmp_path: Path, echoes: Callable[[bytes], Echo]
) -> None:
    place, echo = Place(tmp_path), echoes(b"a")
    frontend = Frontend("TCP", HOST, free_port())
    place.stays = False

    async def test() -> None:
        with place.needed():
            async with place.proxy() as proxy:
                await proxy.apply({frontend: echo.route})
                pid = proxy.pid
                assert pid is not None
                os.kill(pid, 9)
                await eventually(lambda: proxy.pid not in (None, pid), PATIENCE_S)
                await eventually(lambda: not refuses(frontend), PATIENCE_S)
                assert await asked(frontend) == b"a!"

    asyncio.run(test())
