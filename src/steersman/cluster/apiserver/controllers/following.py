"""What the server itself does about objects of its store: follow a resource, and put back what it changed.

Used by what Kubernetes has in other processes and a server alone should do, too: signing certificates,
gathering roles, checking policies. Only for resources without a namespace.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from steersman.cluster.apiserver.pipeline.call import Api
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.resources.storage_encoding import encode
from steersman.cluster.auth.feed import follow_objects
from steersman.cluster.store import Conflict, NotFound, StoreError

__all__ = ["attend", "put_back"]

_log = logging.getLogger(__name__)

Object = dict[str, Any]


async def attend(
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


async def put_back(api: Api, resource: Resource, obj: Object) -> None:
    """Store another state of an object, unless it has changed meanwhile: that change comes by, too."""
    metadata = obj["metadata"]
    key = resource.key("", metadata["name"])
    try:
        await api.store.put(key, encode(obj), expected=int(metadata["resourceVersion"]))
    except (Conflict, NotFound):
        return
    except StoreError as error:
        _log.warning("%s %s cannot be stored: %s", resource.type.kind, metadata["name"], error)
