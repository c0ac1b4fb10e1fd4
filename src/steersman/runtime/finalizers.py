"""Adding and removing one finalizer of an object, whatever others do to the list meanwhile.

Both are JSON patches that test what they rely on, so they apply to the list they were made for or not at
all; then the object is read again. The answer goes into the cache, so that the next reconcile sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from steersman.client import Conflict, Invalid, NotFound
from steersman.objects.resource_type import ResourceType
from steersman.runtime.keys import Key
from steersman.runtime.writes import Writes, is_gone

__all__ = ["add_finalizer", "remove_finalizer"]

Patch = list[dict[str, Any]]
T = TypeVar("T", bound=Mapping[str, Any])

#: Every further try means that somebody changed the list in that very moment.
_MOST_TRIES = 10


async def add_finalizer(writes: Writes, resource: ResourceType, obj: T, name: str) -> T | None:
    """The object with the finalizer; as it is if it is being deleted; None if it is gone."""
    return await _change(writes, resource, obj, _addition, name)


async def remove_finalizer(writes: Writes, resource: ResourceType, obj: T, name: str) -> T | None:
    """The object without the finalizer; None if it is gone, perhaps because this was the last one."""
    return await _change(writes, resource, obj, _removal, name)


async def _change(
    writes: Writes,
    resource: ResourceType,
    obj: T,
    make_patch: Callable[[Mapping[str, Any], str], Patch | None],
    name: str,
) -> T | None:
    key, uid = Key.of(obj), obj["metadata"]["uid"]
    for tries_left in reversed(range(_MOST_TRIES)):
        patch = make_patch(obj, name)
        if patch is None:
            return obj
        try:
            answer = await writes.patch(resource, key, patch, type="json")
            return None if is_gone(answer) else cast("T", answer)
        except NotFound:
            return None
        except (Invalid, Conflict) as error:
            # A test that does not hold says nothing about fields; anything else is the caller's fault.
            if error.causes or not tries_left:
                raise
        found = await writes.client.find(resource, key.name, key.namespace)
        if found is None or found["metadata"]["uid"] != uid:
            return None
        obj = cast("T", found)
    raise AssertionError("the last try returns or raises")


def _addition(obj: Mapping[str, Any], name: str) -> Patch | None:
    metadata = obj["metadata"]
    present = metadata.get("finalizers") or []
    if name in present or metadata.get("deletionTimestamp"):
        return None
    if present:
        return [
            _test("/metadata/uid", metadata["uid"]),
            _test("/metadata/finalizers", present),
            {"op": "add", "path": "/metadata/finalizers/-", "value": name},
        ]
    # Adding a list would replace one that appeared meanwhile, so nothing may have changed at all.
    return [
        _test("/metadata/resourceVersion", metadata["resourceVersion"]),
        {"op": "add", "path": "/metadata/finalizers", "value": [name]},
    ]


def _removal(obj: Mapping[str, Any], name: str) -> Patch | None:
    metadata = obj["metadata"]
    present = metadata.get("finalizers") or []
    if name not in present:
        return None
    path = f"/metadata/finalizers/{present.index(name)}"
    return [_test("/metadata/uid", metadata["uid"]), _test(path, name), {"op": "remove", "path": path}]


def _test(path: str, value: Any) -> dict[str, Any]:
    return {"op": "test", "path": path, "value": value}
