"""A cluster for tests: started in milliseconds, gone without a trace, in this loop or in a thread.

    async with Cluster() as cluster:              in the running loop; in virtual time if that is
        client = cluster.client()
        await client.create(...)

    with Cluster() as cluster:                    in a thread of its own, for code that is not async
        client = cluster.client()
        cluster.run(client.create(...))

Whatever talks to the API is awaited; `run` does that where nothing can be awaited. With a thread, clients
and methods work in every loop: the requests themselves are made in the cluster's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from steersman.aio import Clock, Scope, SystemClock
from steersman.client import Client
from steersman.client.credentials import Credentials, FixedFields, bearer
from steersman.client.transport import Transport
from steersman.cluster.local import MEMORY, ClusterConfig, LocalCluster
from steersman.objects.kinds import Object
from steersman.operator import Chain, Settings, WebhookSettings
from steersman.testing.bridge import Bridge, run_at
from steersman.testing.faults import Faults
from steersman.testing.faulty import FaultyTransport
from steersman.testing.kubectl import run_kubectl
from steersman.testing.link import Link
from steersman.testing.loops import LoopThread, close, run_in
from steersman.testing.manifests import Manifest, apply_all
from steersman.testing.operators import RunningOperator
from steersman.testing.virtual import VirtualClock, VirtualLoop
from steersman.testing.writes import Requests, Seen, check_no_writes, follow

__all__ = ["Cluster"]

T = TypeVar("T")

_log = logging.getLogger(__name__)

#: Nothing listens but webhooks, and nobody waits long for a reconcile that hangs.
_SETTINGS = Settings(address=None, grace_s=5.0, webhooks=WebhookSettings(address=":0"))


#: In a day of virtual time, renewing leases would be most of the work. Nodes that fall silent are noticed as
#: soon as in real time.
_VIRTUAL_HEARTBEAT_S = 600.0


class Cluster:
    """One cluster; `options` are those of `steersman.cluster.local.ClusterConfig`.

    `seed` decides what `faults` leave to chance.
    """

    def __init__(self, *, seed: int = 0, **options: Any) -> None:
        self._config = ClusterConfig(**options)
        self._server: LocalCluster | None = None
        self._home: asyncio.AbstractEventLoop | None = None
        self._thread: LoopThread | None = None
        self._scope = Scope(on_error=_report)
        self._clock: Clock = SystemClock()
        self._requests = Requests()
        #: What goes wrong for operators and for clients made with `faulty=True`.
        self.faults = Faults(seed)

    # --- life

    async def __aenter__(self) -> Self:
        await self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()

    def __enter__(self) -> Self:
        self._thread = LoopThread("cluster")
        self._thread.start()
        try:
            self._thread.run(self._start())
        except BaseException:
            self._thread.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._thread is not None
        try:
            self._thread.run(self._stop())
        finally:
            self._thread.stop()

    async def _start(self) -> None:
        if self._home is not None:
            raise RuntimeError("a cluster is started once: make another")
        self._home = asyncio.get_running_loop()
        if isinstance(self._home, VirtualLoop):
            if self._config.data != MEMORY:
                raise ValueError("a disk needs real time: under virtual_time a cluster keeps nothing")
            self._clock = VirtualClock()
            if self._config.heartbeat_s is None:
                self._config = replace(self._config, heartbeat_s=_VIRTUAL_HEARTBEAT_S)
        await self._start_server(self._config)

    async def _start_server(self, config: ClusterConfig) -> None:
        server = LocalCluster(config, self._clock)
        await server.start()
        self._server = server

    async def _stop_server(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.stop()

    async def _stop(self) -> None:
        await self._scope.close()
        await self._stop_server()

    async def restart(self, *, down_s: float = 0.0) -> None:
        """Stop the API server and start it again, at the same address and with the same data."""
        if self._config.data == MEMORY:
            raise ValueError("a cluster that keeps nothing cannot be restarted: give it a folder, `data=…`")

        async def restart() -> None:
            config = replace(self._config, port=self.server.port)
            await self._stop_server()
            await asyncio.sleep(down_s)
            await self._start_server(config)

        await self._at_home(restart)

    # --- what it is

    @property
    def server(self) -> LocalCluster:
        """The cluster itself. Raises RuntimeError while it does not run."""
        if self._server is None:
            raise RuntimeError("the cluster is not running")
        return self._server

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def kubeconfig(self) -> Path:
        """A file for kubectl and other programs."""
        return self.server.kubeconfig

    @property
    def clock(self) -> VirtualClock:
        """The clock to move under `virtual_time`. Raises RuntimeError where time is real."""
        if not isinstance(self._clock, VirtualClock):
            raise RuntimeError("time is not virtual here: decorate the test with @virtual_time")
        return self._clock

    # --- talking to it

    def client(
        self,
        *,
        namespace: str = "default",
        token: str | None = None,
        credentials: Credentials | None = None,
        user_agent: str = "steersman-testing",
        faulty: bool = False,
    ) -> Client:
        """A client: the admin's, unless a token or other credentials are given. There is no need to close it.

        With `faulty` it suffers what `faults` say.
        """
        transport: Transport = self._link(user_agent)
        if faulty:
            transport = FaultyTransport(transport, self.faults)
        return self._client(transport, namespace, token, credentials)

    def _link(self, user_agent: str) -> Link:
        return Link(lambda: self._server, self._requests.record, user_agent)

    def _client(
        self, transport: Transport, namespace: str, token: str | None, credentials: Credentials | None
    ) -> Client:
        assert self._home is not None, "the cluster is not running"
        transport = Bridge(transport, self._home)
        if credentials is None:
            credentials = FixedFields(bearer(self.server.token if token is None else token))
        host = self.url.removeprefix("https://")
        return Client(transport, namespace=namespace, credentials=credentials, clock=self._clock, host=host)

    def run(self, awaitable: Awaitable[T], timeout_s: float | None = None) -> T:
        """Await something in the cluster's thread, from outside of it."""
        if self._home is None or self._is_home() or not self._home.is_running():
            close(awaitable)
            raise RuntimeError("`run` is for a cluster in a thread, and for those outside of it: await this")
        return run_in(self._home, awaitable, timeout_s)

    async def apply(self, *manifests: Manifest, namespace: str = "default") -> list[Object]:
        """Apply YAML text, files (as `Path`) or objects, in this order. The objects as they then are.

        A kind that a CustomResourceDefinition brings can be used by what follows it.
        """
        client = self.client(namespace=namespace)
        return await self._at_home(lambda: apply_all(client, manifests))

    async def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """What `kubectl ARGUMENTS` prints. Raises `KubectlFailed`, and FileNotFoundError without kubectl."""
        if isinstance(self._clock, VirtualClock):
            raise RuntimeError("kubectl needs real time: use a client under virtual_time")
        return await self._at_home(lambda: run_kubectl(self.kubeconfig, *arguments, stdin=stdin))

    # --- operators

    def run_operator(
        self,
        *operators: Chain[Any],
        settings: Settings | None = None,
        install: bool = True,
        credentials: Credentials | None = None,
    ) -> RunningOperator:
        """Run operators in the background, with the definitions of their kinds if `install`; the webhooks of
        those are forgotten when they are stopped.

        `await` the result, or enter it, to have them ready; outside of the cluster's loop they are when this
        returns. What is left running ends with the cluster.
        """
        assert self._home is not None, "the cluster is not running"
        transport = FaultyTransport(self._link("steersman"), self.faults)
        client = self._client(transport, "default", None, credentials)
        running = RunningOperator(
            operators, client, transport, self._clock, settings or _SETTINGS, self._home
        )
        if self._is_home():
            running.start(self._scope, self.client(), install=install)
        else:
            self.run(self._start_operator(running, install))
        return running

    async def _start_operator(self, running: RunningOperator, install: bool) -> None:
        running.start(self._scope, self.client(), install=install)
        await running

    # --- looking on

    @contextmanager
    def record(self) -> Iterator[Seen]:
        """What happens in the meantime: requests of the kit's clients and operators, changes by anyone."""
        with self._requests.looking() as seen:
            subscription = self._do_at_home(lambda: follow(self.server.store, seen))
            try:
                yield seen
            finally:
                self._do_at_home(subscription.cancel)

    @contextmanager
    def assert_no_writes(
        self, *, ignore: Collection[str] = ("leases",), by_anyone: bool = False
    ) -> Iterator[Seen]:
        """No operator or client of the kit writes in the meantime, or the test fails and lists the writes.

        Dry runs are no writes, and resources to `ignore` do not count. With `by_anyone`, changes in
        namespaces count that somebody else makes: a program of its own, or a controller of the cluster.
        """
        with self.record() as seen:
            yield seen
        check_no_writes(seen, ignore, by_anyone=by_anyone)

    # --- the cluster's loop

    def _is_home(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._home
        except RuntimeError:
            return False

    async def _at_home(self, act: Callable[[], Awaitable[T]]) -> T:
        assert self._home is not None, "the cluster is not running"
        return await run_at(self._home, act)

    def _do_at_home(self, act: Callable[[], T]) -> T:
        if self._is_home():
            return act()

        async def there() -> T:
            return act()

        return self.run(there())


def _report(error: BaseException) -> None:
    _log.error("an operator under test failed", exc_info=error)
