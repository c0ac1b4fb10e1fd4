"""The informers of a process: each is there once, whoever asks for it.

A manager runs the set; controllers ask for what they need, before or while it runs.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Iterator

from steersman.aio import Clock, Scope, first_of
from steersman.objects.resource_type import ResourceType, Typed
from steersman.runtime.follower import Api, Selection
from steersman.runtime.informer import RESYNC_S, Informer

__all__ = ["SYNC_TIMEOUT_S", "Informers"]

#: How long a program should wait for its caches before it says that something is wrong.
SYNC_TIMEOUT_S = 120.0

_Identity = tuple[Selection, frozenset[str] | None, str]


class Informers:
    """Shared informers for one client."""

    def __init__(
        self,
        client: Api,
        clock: Clock,
        *,
        resync_s: float = RESYNC_S,
        keep_managed_fields_of: Collection[str] = (),
        rand: Callable[[], float] = random.random,
        lasting: bool = False,
    ) -> None:
        """`keep_managed_fields_of` names the field managers whose managedFields caches keep. `lasting`: the
        client's connections are within this process, and cannot break unnoticed."""
        self._client = client
        self._clock = clock
        self._resync_s = resync_s
        self._kept_managers = keep_managed_fields_of
        self._rand = rand
        self._lasting = lasting
        self._informers: dict[_Identity, Informer] = {}
        self._tasks: dict[_Identity, asyncio.Task[None]] = {}
        self._scope: Scope | None = None

    def __iter__(self) -> Iterator[Informer]:
        return iter(list(self._informers.values()))

    def get(
        self,
        resource: ResourceType | type[Typed],
        *,
        namespace: str | Collection[str] | None = None,
        labels: str = "",
        fields: str = "",
        metadata_only: bool = False,
        chosen_by: str = "",
    ) -> Informer:
        """The informer for these objects: the same one for the same arguments. It runs when the set does.

        `namespace` is one, several (each with a watch of its own, behind one cache) or None for all.
        Informers whose namespaces will change are shared by those who choose them in the same way.
        """
        if not isinstance(resource, ResourceType):
            resource = resource.resource_type
        namespaces = _namespaces(resource, namespace)
        selection = Selection(resource, labels, fields, metadata_only)
        identity = (selection, namespaces, chosen_by)
        if identity not in self._informers:
            self._informers[identity] = Informer(
                self._client,
                self._clock,
                selection,
                namespaces=namespaces,
                resync_s=self._resync_s,
                keep_managed_fields_of=self._kept_managers,
                rand=self._rand,
                lasting=self._lasting,
            )
            self._start(identity)
        return self._informers[identity]

    def whole(self, resource: ResourceType) -> Informer | None:
        """The informer of all there is of a resource, if somebody has asked for it."""
        return self._informers.get((Selection(resource), None, ""))

    async def remove(self, informer: Informer) -> None:
        """Stop an informer nobody needs any more and forget it."""
        for identity in [key for key, kept in self._informers.items() if kept is informer]:
            del self._informers[identity]
            if (task := self._tasks.pop(identity, None)) is not None:
                task.cancel()
                await asyncio.wait((task,))

    async def run(self) -> None:
        """Run all of them, and those asked for later, until cancelled."""
        if self._scope is not None:
            raise RuntimeError("the informers run already")
        try:
            async with Scope() as self._scope:
                for identity in self._informers:
                    self._start(identity)
                await asyncio.get_running_loop().create_future()
        finally:
            self._scope = None
            self._tasks = {}

    async def wait_synced(self, timeout_s: float = SYNC_TIMEOUT_S) -> list[str]:
        """Wait for all caches; returns the names of those that are not synced.

        Resources the API does not serve are among them, but not waited for.
        """

        async def settled() -> None:
            for informer in self:
                await informer.wait_settled()

        await first_of(settled(), self._clock.sleep(timeout_s))
        return [str(informer) for informer in self if not informer.synced]

    async def refresh(self) -> None:
        """Until all caches have what the API had when this was called."""
        async with Scope() as scope:
            for informer in self:
                scope.start(informer.refresh(), name=f"refreshing {informer}")
            await scope.join()

    def _start(self, identity: _Identity) -> None:
        if self._scope is not None:
            informer = self._informers[identity]
            self._tasks[identity] = self._scope.start(informer.run(), name=f"informer of {informer}")


def _namespaces(resource: ResourceType, namespace: str | Collection[str] | None) -> frozenset[str] | None:
    if namespace is None or not resource.namespaced:
        return None
    return frozenset((namespace,) if isinstance(namespace, str) else namespace)
