"""The proxy while things around it end: the API server, its own forwarder, its own process."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

from steersman.testing import eventually
from tests.integration.proxy.world import World, ask, proxied
from tests.support.ports import free_port
from tests.support.processes import has_ended


async def _answer(address: str, port: int) -> str:
    try:
        return await ask(address, port)
    except OSError:
        return ""


def test_services_answer_without_an_api_server() -> None:
    async def body() -> None:
        async with proxied() as world:
            a, b = await world.tcp("a", "b")
            port = free_port()
            address = await world.service("web", port=port)
            await world.endpoints("web", a, b)
            await world.cluster.stop()
            assert {await ask(address, port) for _ in range(4)} == {"a hi", "b hi"}
            b.close()
            assert {await ask(address, port) for _ in range(4)} == {"a hi"}
            pid = world.proxy.forwarder.pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            assert await eventually(lambda: _answer(address, port)) == "a hi"
            world.close_servers()

    asyncio.run(body())


def test_no_connection_is_lost_while_endpoints_change() -> None:
    async def keep_asking(address: str, port: int, answers: list[str], over: asyncio.Event) -> None:
        while not over.is_set():
            answers.append(await ask(address, port))

    async def body() -> list[str]:
        async with proxied() as world:
            a, b, c = await world.tcp("a", "b", "c")
            port = free_port()
            address = await world.service("web", port=port)
            await world.endpoints("web", a)
            answers: list[str] = []
            over = asyncio.Event()
            clients = [asyncio.ensure_future(keep_asking(address, port, answers, over)) for _ in range(4)]
            for _ in range(5):
                for servers in ((a, b), (b,), (b, c), (c,), (c, a), (a,)):
                    await world.endpoints("web", *servers)
            over.set()
            await asyncio.gather(*clients)
            world.close_servers()
            return answers

    answers = asyncio.run(body())
    assert set(answers) == {"a hi", "b hi", "c hi"}


_PARENT = """
import asyncio
from steersman.aio import Scope
from steersman.cluster.proxy.frontends import Backend, Frontend, FrontendRoute
from steersman.cluster.proxy.process import ForwarderProcess
async def main():
    forwarder = ForwarderProcess()
    async with Scope() as scope:
        scope.start(forwarder.run())
        await forwarder.apply({Frontend("TCP", "127.0.0.1", 0): FrontendRoute((Backend("127.0.0.1", 9),))})
        print(forwarder.pid, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


def test_forwarder_ends_with_its_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert not has_ended(child)
        parent.kill()
    asyncio.run(eventually(lambda: has_ended(child)))


def test_nothing_is_left_open() -> None:
    def open_descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    async def body() -> tuple[int, int]:
        port = free_port()  # it is claimed with a descriptor
        before = open_descriptors()
        async with proxied() as world:
            await _use(world, port)
        await eventually(lambda: open_descriptors() <= before)
        return before, open_descriptors()

    before, after = asyncio.run(body())
    assert after <= before


async def _use(world: World, port: int) -> None:
    (a,) = await world.tcp("a")
    address = await world.service("web", port=port, type="NodePort")
    await world.endpoints("web", a)
    for _ in range(50):
        assert await ask(address, port) == "a hi"
    pid = world.proxy.forwarder.pid
    await eventually(lambda: len(os.listdir(f"/proc/{pid}/fd")) < 30)
    world.close_servers()
