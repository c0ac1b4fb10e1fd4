"""The public tests named "CRUD Tests …": every verb, every kind of patch, and what watchers see of it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from tests.conformance.promises.keeping import NAMESPACE, Collection, Object, newer
from tests.support.api import ApiClient, Events

__all__ = ["Crud", "run_crud"]

_LABEL = "e2e-test.kubernetes.io"
_SELECTOR = f"{_LABEL}=mine"
#: The form of a patch for each media type; an apply is forced and has a manager of its own.
_DOCUMENTS = ("strategic", "apply", "merge")
_APPLYING = {"fieldManager": "test-apply", "force": "true"}


@dataclass(frozen=True, slots=True)
class Crud:
    """A resource, and what the public test does to it."""

    promise: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    initial: Object
    #: Changes an object as the update does.
    update: Callable[[Object], None]
    #: The update as a merge, and as a JSON patch; "" for resources that are patched by merges only.
    patch: Object
    json_patch: list[Object] | None = None
    status: Object | None = None
    patches: tuple[str, ...] = _DOCUMENTS


@dataclass
class _Watchers:
    """Streams of the whole cluster and of the namespace. They must see the same."""

    streams: list[Events]
    last: int = 0

    async def see(self, *kinds: str, uid: str) -> None:
        for number, events in enumerate(self.streams):
            versions = []
            for kind in kinds:
                event = await events.next()
                metadata = event["object"]["metadata"]
                assert (event["type"], metadata["uid"]) == (kind, uid)
                versions.append(int(metadata["resourceVersion"]))
            assert versions == sorted(versions)
            assert versions[0] >= self.last
            if number == len(self.streams) - 1:
                self.last = versions[-1]


async def _watching(stack: AsyncExitStack, objects: Collection, *, namespaced: bool) -> _Watchers:
    """Streams that begin as an informer's do: what there is, then a bookmark, then the news."""
    streams = []
    for each in (objects.everywhere, objects) if namespaced else (objects,):
        asked = {
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
        }
        events = await stack.enter_async_context(each.watch(_SELECTOR, **asked))
        first = await events.next()
        assert first["type"] == "BOOKMARK"
        assert first["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        streams.append(events)
    return _Watchers(streams)


@dataclass
class _Run:
    case: Crud
    objects: Collection
    watchers: _Watchers

    @property
    def name(self) -> str:
        return "test" if self.case.namespaced else f"test-{NAMESPACE}"

    async def create(self) -> Object:
        obj = copy.deepcopy(self.case.initial)
        obj |= {"apiVersion": self.case.version, "kind": self.case.kind}
        obj["metadata"] = {"name": self.name, "labels": {_LABEL: "mine"}}
        made = await self.objects.create(obj, fieldValidation="Strict")
        assert made["metadata"]["name"] == self.name
        await self.watchers.see("ADDED", uid=made["metadata"]["uid"])
        return made

    async def delete(self, obj: Object) -> None:
        await self.objects.delete(self.name)
        assert await self.objects.gone(self.name)
        await self.watchers.see("DELETED", uid=obj["metadata"]["uid"])

    async def changed(self, before: Object, after: Object) -> Object:
        assert newer(after, before)
        await self.watchers.see("MODIFIED", uid=before["metadata"]["uid"])
        return after

    async def update(self, obj: Object) -> Object:
        wanted = copy.deepcopy(obj)
        self.case.update(wanted)
        return await self.changed(obj, await self.objects.replace(wanted))

    async def patch(self, obj: Object, kind: str, part: str, body: Any) -> Object:
        if kind != "json":
            identity = {
                key: obj["metadata"][key] for key in ("name", "namespace", "uid") if key in obj["metadata"]
            }
            head = {"apiVersion": self.case.version, "kind": self.case.kind}
            body = {**body, **head, "metadata": {**body.get("metadata", {}), **identity}}
        query = {"fieldValidation": "Strict", **(_APPLYING if kind == "apply" else {})}
        return await self.changed(obj, await self.objects.patch(self.name, body, kind, part, **query))


async def run_crud(client: ApiClient, case: Crud) -> None:
    listed = await client.ok("GET", f"/apis/{case.version}")
    assert case.plural in [each["name"] for each in listed["resources"]]
    objects = Collection(client, case.version, case.plural, NAMESPACE if case.namespaced else "")
    async with AsyncExitStack() as stack:
        watchers = await _watching(stack, objects, namespaced=case.namespaced)
        run = _Run(case, objects, watchers)
        obj = await run.create()
        assert await objects.get(run.name) == obj
        obj = await run.update(obj)
        wanted = _content(obj)
        if case.status is not None:
            obj = await run.changed(obj, await objects.replace({**obj, "status": case.status}, "status"))
            assert obj["status"] == case.status
            assert await objects.get(run.name, "status") == obj
        for kind in case.patches if case.json_patch is None else (*case.patches, "json"):
            await run.delete(obj)
            body = case.json_patch if kind == "json" else case.patch
            obj = await run.patch(await run.create(), kind, "", body)
            assert _content(obj) == wanted
        if case.status is not None:
            obj = await _patch_status(run, obj, case.status)
        assert await objects.list(_SELECTOR) == [_item(obj)]
        assert await objects.everywhere.list(_SELECTOR) == [_item(obj)]
        await objects.delete_all(_SELECTOR)
        assert await objects.gone(run.name)
        await watchers.see("DELETED", uid=obj["metadata"]["uid"])


async def _patch_status(run: _Run, obj: Object, status: Object) -> Object:
    by_path = [{"op": "add", "path": f"/status/{name}", "value": value} for name, value in status.items()]
    for kind in run.case.patches if run.case.json_patch is None else (*run.case.patches, "json"):
        await run.delete(obj)
        obj = await run.update(await run.create())
        obj = await run.patch(obj, kind, "status", by_path if kind == "json" else {"status": status})
        assert obj["status"] == status
    return obj


def _content(obj: Object) -> Object:
    """What is the user's of an object, without its status."""
    metadata = {key: obj["metadata"].get(key) for key in ("name", "namespace", "labels")}
    return {"metadata": metadata, "spec": obj["spec"]}


def _item(obj: Object) -> Object:
    """As in a list."""
    return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}
