"""A model of the API as an informer sees it: objects with versions, lists in pages, watches, and faults.

Watches end when they said and bookmarks come each minute, so it is for virtual time; requests are counted, so
that hot loops are noticed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson

from steersman.aio import Scope
from steersman.client import Page, Unreachable, WatchEvent
from steersman.client.errors import status_error
from steersman.objects.resource_type import ResourceType
from steersman.runtime.keys import Key

__all__ = ["CONFIG_MAPS", "ModelApi"]

CONFIG_MAPS = ResourceType("", "v1", "ConfigMap", "configmaps")
_BOOKMARK_S = 60.0

Object = dict[str, Any]
_Entry = tuple[int, str, Object]


class _Watcher:
    """An open watch. What it is sent waits in `lines`; None ends it, an exception breaks it."""

    def __init__(self, namespace: str | None) -> None:
        self.namespace = namespace
        self.lines: asyncio.Queue[WatchEvent | Exception | None] = asyncio.Queue()
        self.frozen = False

    def send(self, kind: str, obj: Object) -> None:
        if not self.frozen and self.namespace in (None, obj["metadata"].get("namespace", self.namespace)):
            self.lines.put_nowait(WatchEvent(kind, orjson.dumps(obj)))

    async def __aiter__(self) -> AsyncIterator[WatchEvent]:
        while (line := await self.lines.get()) is not None:
            if isinstance(line, Exception):
                raise line
            yield line


class ModelApi:
    """ConfigMaps of a server that can be broken in every way a real one breaks."""

    def __init__(self, *, streams: bool = True, bookmarks: bool = True) -> None:
        self._streams = streams
        self._bookmarks = bookmarks
        self.revision = 100
        self.compacted = 0
        self.objects: dict[Key, Object] = {}
        self._history: list[_Entry] = []
        self.watchers: list[_Watcher] = []
        #: How many requests of which kind came.
        self.requests: Counter[str] = Counter()
        #: What the next requests are refused with: codes, 0 for no answer.
        self.refusals: list[int] = []
        #: What every request is refused with, if at all.
        self.refuse_all: int | None = None
        #: While True, changes wait before they reach the watchers.
        self.delayed = False
        self._waiting: list[tuple[str, Object]] = []

    # --- what users do

    def put(self, name: str, namespace: str = "x", **data: str) -> Object:
        """Create or change; returns the answer."""
        self.revision += 1
        key = Key(namespace, name)
        before = self.objects.get(key)
        uid = before["metadata"]["uid"] if before else f"uid-{self.revision}"
        obj = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": uid,
                "resourceVersion": str(self.revision),
            },
            "data": data,
        }
        self.objects[key] = obj
        self._happened("MODIFIED" if before else "ADDED", obj)
        return obj

    def delete(self, name: str, namespace: str = "x") -> None:
        self.revision += 1
        obj = self.objects.pop(Key(namespace, name))
        gone = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.revision)}}
        self._happened("DELETED", gone)

    def _happened(self, kind: str, obj: Object) -> None:
        self._history.append((self.revision, kind, obj))
        if self.delayed:
            self._waiting.append((kind, obj))
        else:
            self._send(kind, obj)

    def _send(self, kind: str, obj: Object) -> None:
        for watcher in self.watchers:
            watcher.send(kind, obj)

    def deliver_delayed(self) -> None:
        self.delayed = False
        waiting, self._waiting = self._waiting, []
        for kind, obj in waiting:
            self._send(kind, obj)

    # --- what goes wrong

    def drop_watches(self) -> None:
        """The connections break."""
        for watcher in self.watchers:
            watcher.lines.put_nowait(Unreachable("connection reset"))

    def end_watches(self) -> None:
        """The server ends them in order, as when it shuts down."""
        for watcher in self.watchers:
            watcher.lines.put_nowait(None)

    def freeze_watches(self) -> None:
        """The connections are dead and nobody says so."""
        for watcher in self.watchers:
            watcher.frozen = True

    def send_error(self, code: int) -> None:
        for watcher in self.watchers:
            watcher.lines.put_nowait(WatchEvent("ERROR", orjson.dumps(_status(code))))

    def repeat_events(self, count: int) -> None:
        """Old events come again."""
        for _, kind, obj in self._history[-count:]:
            self._send(kind, obj)

    def compact(self) -> None:
        """Only the present can be watched from."""
        self.compacted = self.revision

    def restore(self, backup: tuple[int, dict[Key, Object]]) -> None:
        """The server is another: what happened since the backup never did."""
        self.drop_watches()
        self.revision, self.objects = backup[0], dict(backup[1])
        self._history = [entry for entry in self._history if entry[0] <= self.revision]

    def backup(self) -> tuple[int, dict[Key, Object]]:
        return self.revision, dict(self.objects)

    # --- what informers ask

    async def list_page(
        self,
        resource: ResourceType,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        limit: int = 0,
        continue_token: str = "",
        metadata_only: bool = False,
    ) -> Page:
        self.requests["list"] += 1
        await asyncio.sleep(0)
        self._refuse()
        revision, _, start = (continue_token or f"{self.revision}:0").partition(":")
        if int(revision) < self.compacted:
            raise status_error(_status(410))
        found = [obj for key, obj in sorted(self.objects.items()) if namespace in (None, key.namespace)]
        end = int(start) + limit if limit else len(found)
        token = f"{revision}:{end}" if end < len(found) else ""
        return Page([orjson.dumps(obj) for obj in found[int(start) : end]], revision, token)

    @asynccontextmanager
    async def watch(
        self,
        kind: ResourceType,
        namespace: str | None = None,
        *,
        resource_version: str = "",
        labels: str = "",
        fields: str = "",
        timeout_s: int | None = None,
        bookmarks: bool = True,
        initial_events: bool = False,
        metadata_only: bool = False,
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        self.requests["stream" if initial_events else "watch"] += 1
        await asyncio.sleep(0)
        self._refuse()
        if initial_events and not self._streams:
            raise status_error(_status(422))
        watcher = _Watcher(namespace)
        if initial_events:
            for obj in list(self.objects.values()):
                watcher.send("ADDED", obj)
            self._bookmark(watcher, end=True)
        elif int(resource_version) < self.compacted:
            watcher.lines.put_nowait(WatchEvent("ERROR", orjson.dumps(_status(410))))
        else:
            for revision, change, obj in self._history:
                if revision > int(resource_version):
                    watcher.send(change, obj)
        self.watchers.append(watcher)
        assert timeout_s is not None
        async with Scope() as scope:
            scope.start(self._live(watcher, timeout_s, bookmarks=bookmarks and self._bookmarks))
            try:
                yield aiter(watcher)
            finally:
                self.watchers.remove(watcher)

    async def _live(self, watcher: _Watcher, timeout_s: int, *, bookmarks: bool) -> None:
        left = float(timeout_s)
        while left > _BOOKMARK_S:
            await asyncio.sleep(_BOOKMARK_S)
            left -= _BOOKMARK_S
            if bookmarks:
                self._bookmark(watcher)
        await asyncio.sleep(left)
        if not watcher.frozen:
            watcher.lines.put_nowait(None)

    def _bookmark(self, watcher: _Watcher, *, end: bool = False) -> None:
        annotations = {"annotations": {"k8s.io/initial-events-end": "true"}} if end else {}
        watcher.send("BOOKMARK", {"metadata": {"resourceVersion": str(self.revision), **annotations}})

    def _refuse(self) -> None:
        code = self.refuse_all if self.refuse_all is not None else None
        if code is None and self.refusals:
            code = self.refusals.pop(0)
        if code == 0:
            raise Unreachable("connection refused")
        if code:
            raise status_error(_status(code))


def _status(code: int) -> Object:
    return {"kind": "Status", "code": code, "message": f"refused with {code}"}
