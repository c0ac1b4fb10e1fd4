"""Following of a resource in the store, and writing of its objects, for the server's own control loops.

Why they are no controllers of `steersman.runtime` is said in this package's docstring. Only for resources
without a namespace.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from steersman.cluster.apiserver.pipeline.call import Api
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.resources.storage_encoding import encode
from steersman.cluster.store import Conflict, NotFound, Store, StoreError, Subscription
from steersman.cluster.store_changes import follow_objects
from steersman.objects.kinds import Object

__all__ = ["follow_each", "replace_unchanged", "when_first"]

_log = logging.getLogger(__name__)


async def follow_each(
    api: Api,
    resource: Resource,
    concerns: Callable[[Object], bool],
    do: Callable[[Object], Awaitable[None]],
) -> None:
    """Until cancelled: call `do` for objects of concern, those there are and those to come, one at a time,
    each in its latest state."""
    waiting: dict[str, Object] = {}
    arrived = asyncio.Event()

    def change(namespace: str, name: str, obj: Object | None) -> None:
        waiting.pop(name, None)
        if obj is not None and concerns(obj):
            waiting[name] = obj
            arrived.set()

    subscription = follow_objects(api.store, resource.prefix, change)
    try:
        while True:
            await arrived.wait()
            arrived.clear()
            while waiting:
                await do(waiting.pop(next(iter(waiting))))
    finally:
        subscription.cancel()


async def replace_unchanged(api: Api, resource: Resource, obj: Object) -> None:
    """Store another state of an object, unless it has changed meanwhile: that change is followed, too."""
    metadata = obj["metadata"]
    key = resource.key("", metadata["name"])
    try:
        await api.store.put(key, encode(obj), expected=int(metadata["resourceVersion"]))
    except (Conflict, NotFound):
        return
    except StoreError as error:
        _log.warning("%s %s cannot be stored: %s", resource.type.kind, metadata["name"], error)


def when_first(store: Store, prefixes: Sequence[str], start: Callable[[], None]) -> Callable[[], None]:
    """Call `start` once, now or with the first object under one of the prefixes. Returns what cancels
    that."""
    if any(store.count(prefix) for prefix in prefixes):
        start()
        return lambda: None
    waiting: list[Subscription] = []

    def cancel() -> None:
        while waiting:
            waiting.pop().cancel()

    def on_first(_: object) -> None:
        if waiting:
            cancel()
            start()

    revision = store.revision
    waiting += [store.watch(prefix, revision, on_first) for prefix in prefixes]
    return cancel
