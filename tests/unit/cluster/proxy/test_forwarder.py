"""The forwarder in a process of its own: bytes arrive whole, and running out of descriptors is no end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import resource
import signal
import socket
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.cluster.proxy.frontends import Backend, Frontend, FrontendRoute
from steersman.cluster.proxy.process import ForwarderProcess
from steersman.testing import eventually
from tests.support.ports import free_port
from tests.support.waiting import until

HOST = "127.0.0.1"
PATIENCE_S = 60.0


def with_forwarder(test: Callable[[ForwarderProcess], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        async def body() -> None:
            forwarder = ForwarderProcess()
            async with Scope() as scope:
                running = scope.start(forwarder.run())
                await asyncio.wait_for(test(forwarder), PATIENCE_S)
                running.cancel()

        asyncio.run(body())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


class Peer:
    """One side of a connection: sends what it has in odd pieces, ends, and reads all there is."""

    def __init__(self, sock: socket.socket, data: bytes, seed: int) -> None:
        self.sock = sock
        self.data = data
        self.random = random.Random(seed)
        self.received = bytearray()
        self.threads = [threading.Thread(target=call) for call in (self._send, self._receive)]
        for thread in self.threads:
            thread.start()

    def _send(self) -> None:
        position = 0
        while position < len(self.data):
            size = self.random.choice((1, 100, 5000, 200_000))
            self.sock.sendall(self.data[position : position + size])
            position += size
        self.sock.shutdown(socket.SHUT_WR)

    def _receive(self) -> None:
        while data := self.sock.recv(self.random.choice((1, 1000, 100_000))):
            self.received += data

    def join(self) -> None:
        for thread in self.threads:
            thread.join(PATIENCE_S)
        self.sock.close()


@with_forwarder
async def test_all_bytes_arrive_in_order_both_ways(forwarder: ForwarderProcess) -> None:
    chance = random.Random(20261116)
    frontend = Frontend("TCP", HOST, free_port())
    with socket.create_server((HOST, 0)) as listener:
        await forwarder.apply({frontend: FrontendRoute((Backend(HOST, listener.getsockname()[1]),))})

        def exchange() -> None:
            for seed in range(6):
                sizes = [chance.choice((0, 1, 70_000, 3_000_000)) for _ in range(2)]
                there, back = (chance.randbytes(size) for size in sizes)
                client = socket.create_connection(frontend[1:])
                server, _ = listener.accept()
                ends = Peer(client, there, seed), Peer(server, back, seed + 100)
                for end in ends:
                    end.join()
                assert bytes(ends[1].received) == there
                assert bytes(ends[0].received) == back

        await asyncio.to_thread(exchange)


@with_forwarder
async def test_running_out_of_descriptors_passes(forwarder: ForwarderProcess) -> None:
    frontend = Frontend("TCP", HOST, free_port())
    with socket.create_server((HOST, 0), backlog=256) as listener:
        await forwarder.apply({frontend: FrontendRoute((Backend(HOST, listener.getsockname()[1]),))})
        assert forwarder.pid is not None
        resource.prlimit(forwarder.pid, resource.RLIMIT_NOFILE, (40, 40))
        clients = [socket.create_connection(frontend[1:]) for _ in range(60)]

        def refused() -> bool:
            clients[-1].setblocking(False)
            try:
                return clients[-1].recv(1) == b""
            except BlockingIOError:
                return False
            except ConnectionResetError:
                return True

        await eventually(refused, PATIENCE_S)
        for client in clients:
            client.close()
        listener.setblocking(False)

        def ended() -> bool:
            with contextlib.suppress(BlockingIOError):
                while True:
                    listener.accept()[0].close()
            return len(os.listdir(f"/proc/{forwarder.pid}/fd")) < 20

        await eventually(ended, PATIENCE_S)
        with socket.create_connection(frontend[1:]) as client:
            loop = asyncio.get_running_loop()
            server, _ = await loop.sock_accept(listener)
            with server:
                await loop.sock_sendall(server, b"again")
                client.setblocking(False)
                assert await loop.sock_recv(client, 100) == b"again"


@with_forwarder
async def test_address_of_somebody_else_is_told(forwarder: ForwarderProcess) -> None:
    told: list[tuple[Frontend, int]] = []
    forwarder._on_failure = lambda frontend, code: told.append((frontend, code))
    with socket.create_server((HOST, 0)) as taken:
        frontend = Frontend("TCP", HOST, taken.getsockname()[1])
        elsewhere = Frontend("TCP", "192.0.2.77", 80)
        route = FrontendRoute((Backend(HOST, 9),))
        await forwarder.apply({frontend: route, elsewhere: route})
    assert [(each, os.strerror(code)) for each, code in told] == [
        (frontend, "Address already in use"),
        (elsewhere, "Cannot assign requested address"),
    ]


@pytest.mark.parametrize("kind", ["TCP", "UDP"])
def test_frontend_opens_again_after_it_was_closed(kind: Any) -> None:
    @with_forwarder
    async def body(forwarder: ForwarderProcess) -> None:
        frontend = Frontend(kind, HOST, free_port())
        route = FrontendRoute((Backend(HOST, 9),))
        told: list[int] = []
        forwarder._on_failure = lambda frontend, code: told.append(code)
        for _ in range(3):
            await forwarder.apply({frontend: route})
            await forwarder.apply({frontend: FrontendRoute(())})
            await forwarder.apply({frontend: route})
            await forwarder.apply({}, [frontend])
        assert told == []

    body()


class ShortLived(ForwarderProcess):
    """Its first process is killed as soon as it has said that it is there, and that is seen by the time that
    those who waited for it have their turn."""

    killed = False

    async def _meet(self, sock: socket.socket) -> bool:
        met = await super()._meet(sock)
        if not self.killed:
            self.killed = True
            assert self.pid is not None
            assert self._reader is not None
            os.kill(self.pid, signal.SIGKILL)
            await until(self._reader.at_eof, 60, every_s=0.001)
        return met


def test_a_process_that_ends_as_soon_as_it_is_there_is_told_nothing_and_the_next_all() -> None:
    async def test() -> None:
        frontend, forwarder = Frontend("TCP", HOST, free_port()), ShortLived()
        with socket.create_server((HOST, 0)) as listener:
            route = FrontendRoute((Backend(HOST, listener.getsockname()[1]),))
            async with Scope() as scope, asyncio.timeout(PATIENCE_S):
                telling = scope.start(forwarder.apply({frontend: route}))
                running = scope.start(forwarder.run())
                await telling
                assert forwarder.killed
                await asyncio.to_thread(lambda: socket.create_connection(frontend[1:]).close())
                running.cancel()

    asyncio.run(test())
