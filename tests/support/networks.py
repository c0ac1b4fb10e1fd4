"""Faulty proxies for tests that are not asynchronous: they run in a thread of their own.

with network() as wires:
    wire = wires.wire(("127.0.0.1", port))
    wire.hold()
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from steersman.aio import Scope
from tests.support.faulty_proxy import FaultyProxy

__all__ = ["Network", "Wire", "network"]

T = TypeVar("T")

#: Nothing takes this long; what does hangs.
_DEADLINE_S = 30.0


class Wire:
    """One proxy: whoever connects to `port` reaches what is behind it, as long as the wire is whole."""

    def __init__(self, wires: Network, proxy: FaultyProxy) -> None:
        self._network = wires
        self._proxy = proxy
        self.port = proxy.port

    def hold(self) -> None:
        """Nothing gets through, and nobody is told."""
        self._network.call(self._proxy.hold)

    def refuse(self) -> None:
        """Connections break, new ones too."""
        self._network.call(self._proxy.refuse)

    def mend(self) -> None:
        """Everything gets through again, and what was held back gets through late."""
        self._network.call(self._proxy.flow)


class Network:
    """Where wires are made; the loop is another thread's."""

    def __init__(self, loop: asyncio.AbstractEventLoop, scope: Scope) -> None:
        self._loop = loop
        self._scope = scope

    def wire(self, target: Path | tuple[str, int]) -> Wire:
        """A new one to a socket's path, or a host and a port."""
        return Wire(self, self.call(lambda: FaultyProxy(target, self._scope)))

    def call(self, function: Callable[[], T]) -> T:
        """Have the loop's thread call it."""

        async def called() -> T:
            return function()

        return asyncio.run_coroutine_threadsafe(called(), self._loop).result(_DEADLINE_S)


@contextmanager
def network() -> Iterator[Network]:
    started = threading.Event()
    made: list[Network] = []
    over = asyncio.Event()

    async def live() -> None:
        async with Scope() as scope:
            made.append(Network(asyncio.get_running_loop(), scope))
            started.set()
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(live(),), name="network", daemon=True)
    thread.start()
    assert started.wait(_DEADLINE_S)
    try:
        yield made[0]
    finally:
        made[0].call(over.set)
        thread.join(_DEADLINE_S)
        assert not thread.is_alive()
