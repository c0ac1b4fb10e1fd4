"""A shared, always current copy of some objects of the API, and whoever wants to hear of their changes.

An informer owns a cache, the followers that keep it current (one for all namespaces, or one for each of
some) and the resync: now and then everything is shown to the handlers again, so that whatever a controller
missed or got wrong is put right. Handlers are called where the change happened and must not block.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Hashable

from steersman.aio import Clock, Scope
from steersman.objects.resource_type import ResourceType
from steersman.runtime.cache import Cache
from steersman.runtime.cached import Intake
from steersman.runtime.changes import Change, Handler
from steersman.runtime.follower import Api, Follower, Selection, Stats

__all__ = ["RESYNC_S", "Informer"]

RESYNC_S = 36_000.0
#: Resyncs of many informers spread over this part of the interval, either way.
_RESYNC_JITTER = 0.1
#: Handlers are shown this many objects before others get a turn.
_RESYNC_PIECE = 500


class Informer:
    """The objects of one resource; made by `Informers.get`."""

    def __init__(
        self,
        api: Api,
        clock: Clock,
        selection: Selection,
        *,
        namespaces: Collection[str] | None = None,
        resync_s: float = RESYNC_S,
        keep_managed_fields_of: Collection[str] = (),
        rand: Callable[[], float] = random.random,
        lasting: bool = False,
    ) -> None:
        """`namespaces` None means all (or a resource without); `resync_s` 0 means never; `lasting` as in
        `Informers`."""
        self._api = api
        self._clock = clock
        self._selection = selection
        self._resync_s = resync_s
        self._rand = rand
        self._lasting = lasting
        intake = Intake(
            selection.resource, kept_managers=keep_managed_fields_of, metadata_only=selection.metadata_only
        )
        self.cache = Cache(intake, labels=selection.labels, fields=selection.fields, namespaces=namespaces)
        self.stats = Stats()
        self._settled = asyncio.Event()
        self._scope: Scope | None = None
        self._followers: dict[str | None, Follower] = {}
        self._tasks: dict[str | None, asyncio.Task[None]] = {}
        for namespace in [None] if namespaces is None else sorted(namespaces):
            self._followers[namespace] = self._follower(namespace)

    @property
    def resource(self) -> ResourceType:
        return self._selection.resource

    @property
    def namespaces(self) -> list[str] | None:
        """Those it looks at; None: all."""
        return None if None in self._followers else [name for name in self._followers if name is not None]

    @property
    def synced(self) -> bool:
        """Whether the cache has everything the API has."""
        return all(follower.synced for follower in self._followers.values())

    @property
    def absent(self) -> bool:
        """Whether the API does not serve the resource; it is looked for until it does."""
        return any(follower.absent for follower in self._followers.values())

    async def wait_synced(self) -> None:
        while not self.synced:
            self._settled.clear()
            await self._settled.wait()

    async def wait_settled(self) -> None:
        """Until it is synced, or known that there is nothing to be synced with."""
        while not (self.synced or self.absent):
            self._settled.clear()
            await self._settled.wait()

    async def refresh(self) -> None:
        """Fetch everything anew; until the cache has all that the API had when this was called.

        A watch may be behind, or its connection be lost and waited for.
        """
        before = {namespace: follower.fetches for namespace, follower in self._followers.items()}
        for namespace in before:
            self._start(namespace)
        while any(
            follower.fetches == before.get(namespace) for namespace, follower in self._followers.items()
        ):
            self._settled.clear()
            await self._settled.wait()

    def add_handler(self, handler: Handler, *, writer: Hashable = None) -> None:
        """Have `handler` hear of every change but those `writer` reports by `cache.wrote`.

        What is there already is told at once, as initial additions.
        """
        tell = self.cache.handlers.add(handler, writer)
        for cached in self.cache:
            tell(Change("added", cached.key, None, cached, initial=True))

    def remove_handler(self, handler: Handler) -> None:
        self.cache.handlers.remove(handler)

    def watch_namespaces(self, namespaces: Collection[str]) -> None:
        """Look at these namespaces from now on: new ones are fetched, objects of others are deleted."""
        if self.namespaces is None:
            raise ValueError(f"the informer of {self} looks at all namespaces")
        self.cache.handlers.tell_all(self.cache.watch_namespaces(namespaces))
        for namespace in [name for name in self._followers if name not in namespaces]:
            del self._followers[namespace]
            if (task := self._tasks.pop(namespace, None)) is not None:
                task.cancel()
        for namespace in sorted(namespaces):
            if namespace not in self._followers:
                self._followers[namespace] = self._follower(namespace)
                self._start(namespace)
        self._settled.set()

    async def run(self) -> None:
        """Keep the cache current until cancelled."""
        if self._scope is not None:
            raise RuntimeError(f"the informer of {self} runs already")
        try:
            async with Scope() as self._scope:
                for namespace in self._followers:
                    self._start(namespace)
                await self._resync()
        finally:
            self._scope = None
            self._tasks = {}

    def _follower(self, namespace: str | None) -> Follower:
        return Follower(
            self._api,
            self._clock,
            self._selection,
            self.cache,
            namespace=namespace,
            stats=self.stats,
            rand=self._rand,
            on_settled=self._settled.set,
            lasting=self._lasting,
        )

    def _start(self, namespace: str | None) -> None:
        """Follow a namespace, from the beginning if it is followed already."""
        if self._scope is not None:
            name = f"informer of {self} in {namespace or 'all namespaces'}"
            following = self._follow(self._followers[namespace], self._tasks.get(namespace))
            self._tasks[namespace] = self._scope.start(following, name=name)

    @staticmethod
    async def _follow(follower: Follower, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            before.cancel()
            await asyncio.wait((before,))
        await follower.run()

    async def _resync(self) -> None:
        while self._resync_s:
            await self._clock.sleep(self._resync_s * (1 + _RESYNC_JITTER * (2 * self._rand() - 1)))
            for shown, cached in enumerate(self.cache):
                self.cache.handlers.tell(Change("modified", cached.key, cached, cached, resync=True))
                if shown % _RESYNC_PIECE == _RESYNC_PIECE - 1:
                    await asyncio.sleep(0)
        await asyncio.get_running_loop().create_future()

    def __str__(self) -> str:
        selection = self._selection
        limits = [text for text in (selection.labels, selection.fields) if text]
        if self.namespaces is not None:
            limits.insert(0, ",".join(self.namespaces))
        if selection.metadata_only:
            limits.append("metadata")
        return f"{self.resource} ({'; '.join(limits)})" if limits else str(self.resource)
