"""Does what a reflector decides: asks the API, waits, and feeds a cache.

One follower follows one resource in one namespace or in all of them; an informer has one or several that
share a cache. It never ends by itself: what goes wrong is the reflector's to answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

import msgspec

from steersman.aio import Clock, Scope
from steersman.client import ApiError, ClientError, Page, WatchEvent
from steersman.objects.kinds.views.metadata import BookmarkMetadata
from steersman.objects.resource_type import ResourceType
from steersman.runtime.cache import Cache
from steersman.runtime.cached import OPAQUE, Cached, number
from steersman.runtime.contents import Contents
from steersman.runtime.reflector import (
    UNREACHABLE,
    Apply,
    Clear,
    Command,
    Commit,
    Discard,
    Ended,
    Event,
    Failed,
    Hold,
    List,
    Listed,
    Opened,
    Phase,
    Progress,
    Received,
    Reflector,
    Report,
    Request,
    Silent,
    Started,
    Wait,
    Waited,
    Watch,
)

__all__ = ["Api", "Follower", "Selection", "Stats"]

_log = logging.getLogger(__name__)

#: How often a watch is looked at for silence, at least.
_CHECK_S = 30.0
_INITIAL_END = "k8s.io/initial-events-end"
_REQUESTS = (Wait, List, Watch)


class Api(Protocol):
    """What a follower asks; `steersman.client.Client` answers it."""

    def list_page(
        self,
        resource: ResourceType,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        limit: int = 0,
        continue_token: str = "",
        metadata_only: bool = False,
    ) -> Awaitable[Page]: ...

    def watch(
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
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]: ...


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects are followed, and how much of them."""

    resource: ResourceType
    labels: str = ""
    fields: str = ""
    metadata_only: bool = False


@dataclass(slots=True)
class Stats:
    """What following a resource took. Times are the clock's `monotonic`; None: never."""

    lists: int = 0
    """Pages asked for."""
    watches: int = 0
    events: int = 0
    relists: int = 0
    """How often everything was fetched again."""
    failures: int = 0
    last_event_at: float | None = None
    """When the API last showed a sign of life: a page, an event or a bookmark."""
    last_sync_at: float | None = None
    """When everything was last fetched."""
    watch_opened_at: float | None = None


class Follower:
    """Keeps a cache like the API's content of one namespace, or of all (None)."""

    def __init__(
        self,
        api: Api,
        clock: Clock,
        selection: Selection,
        cache: Cache,
        *,
        namespace: str | None,
        stats: Stats,
        rand: Callable[[], float],
        on_settled: Callable[[], None],
        lasting: bool = False,
    ) -> None:
        """`on_settled` is called whenever `synced` or `absent` may have changed. `lasting`: the connection is
        within the process and does not break unnoticed."""
        self._api = api
        self._clock = clock
        self._selection = selection
        self._cache = cache
        self._namespace = namespace
        self._stats = stats
        self._on_settled = on_settled
        self._core = Reflector(rand, lasting=lasting)
        self._lasting = lasting
        self._held = Contents()
        #: Everything was fetched at least once.
        self.synced = False
        #: The API does not serve the resource.
        self.absent = False
        #: How often all that there is was fetched, or it was found that there is nothing.
        self.fetches = 0

    async def run(self) -> None:
        """Until cancelled. Begins by fetching everything, also when it has run before."""
        request = self._step(Started())
        while True:
            match request:
                case Wait(seconds):
                    await self._clock.sleep(seconds)
                    request = self._step(Waited())
                case List():
                    request = await self._list(request)
                case Watch():
                    request = await self._watch(request)
                case None:
                    raise AssertionError("a request ended and none followed")

    # --- asking

    async def _list(self, command: List) -> Request | None:
        selection, stats = self._selection, self._stats
        stats.lists += 1
        try:
            page = await self._api.list_page(
                selection.resource,
                self._namespace,
                labels=selection.labels,
                fields=selection.fields,
                limit=command.limit,
                continue_token=command.continue_token,
                metadata_only=selection.metadata_only,
            )
            objects = [self._cache.read(item) for item in page.items]
        except (ClientError, msgspec.DecodeError) as error:
            return self._step(self._failure(error))
        stats.last_event_at = self._clock.monotonic()
        return self._step(Listed(page.resource_version, page.continue_token), objects)

    async def _watch(self, command: Watch) -> Request | None:
        """The request that follows the watch."""
        self._stats.watches += 1
        async with Scope() as scope:
            reading = scope.start(self._read(command))
            if not self._lasting:
                scope.start(self._end_when_silent(reading))
            await asyncio.wait((reading,))
        self._stats.watch_opened_at = None
        if reading.cancelled():
            return self._step(Silent())
        return reading.result()

    async def _end_when_silent(self, reading: asyncio.Task[Request | None]) -> None:
        while True:
            now = self._clock.monotonic()
            deadline = self._core.deadline
            if deadline is not None and now >= deadline:
                self._note("sends no more data; reconnecting the watch")
                reading.cancel()
                return
            # Once there are bookmarks, each moves the deadline further away; before, the first one brings it
            # nearer. Opening has a limit of the client's own.
            wait_s = _CHECK_S if deadline is None else deadline - now
            await self._clock.sleep(wait_s if self._core.sends_bookmarks else min(wait_s, _CHECK_S))

    async def _read(self, command: Watch) -> Request | None:
        selection = self._selection
        try:
            async with self._api.watch(
                selection.resource,
                self._namespace,
                resource_version=command.version,
                labels=selection.labels,
                fields=selection.fields,
                timeout_s=command.timeout_s,
                bookmarks=command.bookmarks,
                initial_events=command.initial_events,
                metadata_only=selection.metadata_only,
            ) as events:
                self._stats.watch_opened_at = self._clock.monotonic()
                self._step(Opened())
                async for event in events:
                    if (request := self._received(event)) is not None:
                        return request
        except (ClientError, msgspec.DecodeError) as error:
            return self._step(self._failure(error))
        return self._step(Ended())

    def _received(self, event: WatchEvent) -> Request | None:
        """A request if the watch has no more to say."""
        if event.type == "ERROR":
            return self._step(self._failure(event.error()))
        stats = self._stats
        now = stats.last_event_at = self._clock.monotonic()
        if event.type == "BOOKMARK":
            metadata = _decode_bookmark(event.object).metadata
            end = (metadata.annotations or {}).get(_INITIAL_END) == "true"
            return self._step(Received(metadata.resource_version, bookmark=True, initial_end=end), (), now)
        stats.events += 1
        # Initial events may be of another history, where the same version is another state.
        initial = self._core.phase is Phase.STREAMING
        cached = (self._cache.read if initial else self._cache.read_event)(event.object)
        return self._step(Received(cached.version, deleted=event.type == "DELETED"), (cached,), now)

    def _failure(self, error: Exception) -> Failed:
        self._stats.failures += 1
        self._note("failed: %s", error)
        if isinstance(error, ApiError):
            return Failed(error.code, error.message, error.retry_after_s or 0.0)
        return Failed(UNREACHABLE, str(error))

    # --- doing

    def _step(self, event: Event, objects: Sequence[Cached] = (), now: float | None = None) -> Request | None:
        """Do what follows from `event`, which brought `objects`; returns the next request, if any."""
        request = None
        for command in self._core.step(event, self._clock.monotonic() if now is None else now):
            if isinstance(command, _REQUESTS):
                request = command
            else:
                self._do(command, objects)
        return request

    def _do(self, command: Command, objects: Sequence[Cached]) -> None:
        match command:
            case Apply(deleted):
                for cached in objects:
                    self._cache.receive(cached, deleted=deleted)
            case Hold(deleted):
                for cached in objects:
                    if deleted:
                        self._held.take_out(cached.key)
                    else:
                        self._held.put(cached)
            case Progress(version):
                self._cache.progress(number(version), self._namespace or "")
            case Commit(version, reset):
                self._replace(number(version), reset)
            case Discard():
                self._held = Contents()
            case Clear():
                self._clear()
            case Report(text, trouble):
                where = f" in namespace {self._namespace}" if self._namespace else ""
                _log.log(
                    logging.WARNING if trouble else logging.INFO,
                    "%s%s %s",
                    self._selection.resource,
                    where,
                    text,
                )

    def _replace(self, version: int, reset: bool) -> None:
        held, self._held = self._held, Contents()
        changes = self._cache.replace(
            held, version, namespace=self._namespace, initial=not self.synced, reset=reset
        )
        if self.absent:
            _log.info("the API serves %s now", self._selection.resource)
        self._stats.relists += self.synced
        self._stats.last_sync_at = self._clock.monotonic()
        self._cache.handlers.tell_all(changes)
        self.synced, self.absent = True, False
        self.fetches += 1
        self._on_settled()

    def _clear(self) -> None:
        changes = self._cache.replace(Contents(), OPAQUE, namespace=self._namespace, reset=True)
        self._cache.handlers.tell_all(changes)
        self.absent = True
        self.fetches += 1
        self._on_settled()

    def _note(self, text: str, *args: object) -> None:
        """The ordinary life of a connection, for those who look for it."""
        _log.debug("%s " + text, self._selection.resource, *args)


class _Bookmark(msgspec.Struct):
    metadata: BookmarkMetadata


_decode_bookmark = msgspec.json.Decoder(_Bookmark).decode
