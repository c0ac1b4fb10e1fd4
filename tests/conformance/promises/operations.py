"""The public tests named "… should support … API operations", which go the same way for every resource."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.conformance.promises.keeping import NAMESPACE, Collection, Object, newer
from tests.support.api import ApiClient, Events

__all__ = ["Operations", "discoverable", "run_operations"]

#: Selects the objects of a test.
_LABEL = "special-label"
_SELECTOR = f"{_LABEL}=mine"


@dataclass(frozen=True, slots=True)
class Operations:
    """A resource, and what the public test does to it."""

    promise: str
    version: str
    plural: str
    #: The object without its metadata.
    template: Mapping[str, Any]
    namespaced: bool = False
    #: Merged into the object, besides an annotation.
    patch: Mapping[str, Any] = field(default_factory=dict)
    #: The same by replacing it.
    update: Mapping[str, Any] = field(default_factory=dict)
    #: Merged into the object at /status, and the same by replacing; none for resources without it.
    status_patch: Mapping[str, Any] | None = None
    status_update: Mapping[str, Any] | None = None


async def discoverable(client: ApiClient, version: str, *resources: str) -> None:
    """The group, its version and the resources are in the discovery documents."""
    group, _, number = version.partition("/")
    groups = {each["name"]: each for each in (await client.ok("GET", "/apis"))["groups"]}
    assert version in [each["groupVersion"] for each in groups[group]["versions"]]
    document = await client.ok("GET", f"/apis/{group}")
    assert document["name"] == group
    assert number in [each["version"] for each in document["versions"]]
    listed = await client.ok("GET", f"/apis/{version}")
    assert listed["groupVersion"] == version
    assert set(resources) <= {each["name"] for each in listed["resources"]}


async def run_operations(client: ApiClient, case: Operations) -> None:
    parts = ["", "/status"] if case.status_patch is not None else [""]
    await discoverable(client, case.version, *(case.plural + part for part in parts))
    objects = Collection(client, case.version, case.plural, NAMESPACE if case.namespaced else "")
    metadata = {"generateName": "e2e-example-", "labels": {_LABEL: "mine"}}
    made = [await objects.create({"metadata": metadata, **case.template}) for _ in range(3)]
    assert len({obj["metadata"]["name"] for obj in made}) == 3
    created = made[-1]
    name = created["metadata"]["name"]
    assert (await objects.get(name))["metadata"]["uid"] == created["metadata"]["uid"]
    listed = await client.ok("GET", objects.many(_SELECTOR))
    assert len(listed["items"]) == 3
    since = listed["metadata"]["resourceVersion"]
    async with (
        objects.watch(_SELECTOR, resourceVersion=since) as events,
        objects.everywhere.watch(_SELECTOR, resourceVersion=since) as all_events,
    ):
        assert len(await objects.everywhere.list(_SELECTOR)) == 3
        await _change(objects, case, created)
        for stream in (events, all_events):
            await _sees_the_patch(stream)
    if case.status_patch is not None:
        await _change_status(objects, case, created)
    await objects.delete(name)
    assert await objects.gone(name)
    assert name not in await objects.names(_SELECTOR)
    assert len(await objects.list(_SELECTOR)) == 2
    await objects.delete_all(_SELECTOR)
    assert await objects.list(_SELECTOR) == []


async def _change(objects: Collection, case: Operations, created: Object) -> None:
    name = created["metadata"]["name"]
    patch = {"metadata": {"annotations": {"patched": "true"}}, **case.patch}
    patched = await objects.patch(name, patch)
    assert patched["metadata"]["annotations"] == {"patched": "true"}
    assert _within(case.patch, patched)
    assert newer(patched, created)
    changes = {"metadata": {"annotations": {"updated": "true"}}, **case.update}
    updated = await objects.change(name, lambda obj: _merged(obj, changes))
    assert updated["metadata"]["annotations"] == {"patched": "true", "updated": "true"}
    assert _within(case.update, updated)
    assert newer(updated, patched)


async def _sees_the_patch(events: Events) -> None:
    while True:
        event = await events.next()
        assert event["type"] == "MODIFIED"
        if event["object"]["metadata"].get("annotations", {}).get("patched") == "true":
            return


async def _change_status(objects: Collection, case: Operations, created: Object) -> None:
    name = created["metadata"]["name"]
    assert case.status_patch is not None
    assert case.status_update is not None
    shown = await objects.get(name, "status")
    assert (shown["apiVersion"], shown["metadata"]["uid"]) == (case.version, created["metadata"]["uid"])
    patched = await objects.patch(name, case.status_patch, part="status")
    assert _within(case.status_patch, patched)
    changes = case.status_update
    updated = await objects.change(name, lambda obj: _merged(obj, changes), "status")
    assert _within(case.status_update, updated)
    assert updated["spec"] == patched["spec"]


def _merged(obj: Object, changes: Mapping[str, Any]) -> Object:
    """The object with changes; conditions are added to those that are there."""
    result = copy.deepcopy(obj)
    for name, value in changes.items():
        before = result.get(name)
        if isinstance(value, Mapping):
            result[name] = _merged(before or {}, value)
        elif name == "conditions":
            result[name] = [*(before or []), *value]
        else:
            result[name] = value
    return result


def _within(wanted: Any, given: Any) -> bool:
    """Whether everything wanted is there; a list needs to have the items."""
    if isinstance(wanted, Mapping):
        return all(name in given and _within(value, given[name]) for name, value in wanted.items())
    if isinstance(wanted, list):
        return all(any(_within(item, other) for other in given) for item in wanted)
    return bool(wanted == given)
