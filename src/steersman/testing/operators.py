"""Operators that run in a cluster's loop while a test goes on.

States: starting → ready → stopping → ended; `error` says why it ended if nobody asked it to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from steersman.aio import Clock, Scope
from steersman.client import Client
from steersman.operator import Chain, Settings, serve, uninstall_webhooks
from steersman.runtime import Manager
from steersman.testing.bridge import run_at
from steersman.testing.errors import OperatorDied
from steersman.testing.manifests import apply_all

if TYPE_CHECKING:
    from steersman.testing.faulty import FaultyTransport

__all__ = ["RunningOperator"]

_READY_S = 30.0


class RunningOperator:
    """Operators that were started together. Await it, or enter it, to have them ready.

    operator = await cluster.run_operator(op)
    async with cluster.run_operator(op) as operator: ...
    """

    def __init__(
        self,
        operators: tuple[Chain[Any], ...],
        client: Client,
        transport: FaultyTransport,
        clock: Clock,
        settings: Settings,
        home: asyncio.AbstractEventLoop,
    ) -> None:
        self._operators = operators
        self._client = client
        self._transport = transport
        self._clock = clock
        self._settings = settings
        self._home = home
        self._stop = asyncio.Event()
        self._stopped = False
        self._task: asyncio.Task[None] | None = None
        self._started = asyncio.Event()
        #: There once the operators are about to run.
        self.manager: Manager | None = None
        #: What ended them, if nobody asked for it.
        self.error: BaseException | None = None

    def __await__(self) -> Generator[Any, None, Self]:
        return self._ready().__await__()

    async def __aenter__(self) -> Self:
        return await self._ready()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
        self.check()

    async def stop(self) -> None:
        """Have them end in order: running reconciles are waited for, the lease is given up."""

        async def stop() -> None:
            self._stopped = True
            self._stop.set()
            await self._ended()

        await run_at(self._home, stop)

    async def kill(self) -> None:
        """End them as a crash does: nothing more of theirs reaches the server, no lease is given up."""

        async def kill() -> None:
            self.kill_nowait()
            await self._ended()

        await run_at(self._home, kill)

    def kill_nowait(self) -> None:
        """`kill` from inside the cluster's loop, as from `faults.call`."""
        self._stopped = True
        self._transport.cut()
        if self._task is not None:
            self._task.cancel()

    def check(self) -> None:
        """Raise `OperatorDied` if they ended by themselves."""
        if self.error is not None:
            error = self.error
            raise OperatorDied(f"the operator ended: {type(error).__name__}: {error}") from error

    # in the cluster's loop

    def start(self, scope: Scope, honest: Client, *, install: bool) -> None:
        self._task = scope.start(self._run(honest, install), name="operator under test")

    async def _run(self, honest: Client, install: bool) -> None:
        try:
            if install:
                definitions = [operator.definition.crd() for operator in self._operators]
                await apply_all(honest, [each for each in definitions if each is not None])
            await serve(
                *self._operators,
                client=self._client,
                clock=self._clock,
                settings=self._settings,
                stop=self._stop,
                started=self._take_manager,
            )
            if install:
                # Nobody answers any more, and a cluster may be used by the next test.
                await uninstall_webhooks(honest, [each.definition for each in self._operators])
            if not self._stopped:
                self.error = RuntimeError("it returned without being stopped")
        except Exception as error:  # noqa: BLE001 - whoever waits for it is told
            if not self._stopped:
                self.error = error
        finally:
            self._started.set()

    def _take_manager(self, manager: Manager) -> None:
        self.manager = manager
        self._started.set()

    async def _ready(self) -> Self:
        await run_at(self._home, self._wait_ready)
        return self

    async def _wait_ready(self) -> None:
        """The caches are filled; a resource the API does not serve is not waited for."""
        await self._started.wait()
        if self.manager is not None and self._task is not None:
            async with Scope() as scope:
                synced = scope.start(self.manager.informers.wait_synced(_READY_S))
                await asyncio.wait((synced, self._task), return_when=asyncio.FIRST_COMPLETED)
        self.check()

    async def _ended(self) -> None:
        if self._task is not None:
            await asyncio.wait((self._task,))
