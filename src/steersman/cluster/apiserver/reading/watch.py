"""watch: every change of a resource, encoded once for all watchers that see the same.

Theory of operation. A `WatchHub` per stored resource holds the one store subscription. Watchers that see
the same (same filter, version and form) form an `Audience`; an event is filtered and encoded once per
audience and the same bytes are written to each of its streams. All of it happens synchronously in the
store's commit callback, so every watcher sees the same order. Only where objects are converted by a
webhook, commits wait in a queue of their audience, in order, until it answered.

Under load, events for a large audience are gathered for a moment and written together, since a write
costs more than what is written: the first event goes out at once, what follows within 10 ms waits for
their end. Before a watcher joins, what waits is written, so it gets nothing from before it came.

A watcher's life:

    starting   its initial state (or backlog) is written in pieces, waiting for the client to take them
    live       member of its audience
    ended      timed out, drained, too slow (its buffer outgrew the limit), or its client left

Between starting and live no event can be lost or doubled: the last catch-up and joining the audience are
one synchronous step.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Sequence

import orjson
from msgspec.structs import replace

from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.options import ListOptions
from steersman.cluster.apiserver.reading.filters import Filter
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.resources.storage_encoding import restamp
from steersman.cluster.apiserver.responses.render import read_shown, shape_object, table
from steersman.cluster.apiserver.responses.warning_headers import warning_headers
from steersman.cluster.codec.errors import NotAcceptable
from steersman.cluster.codec.negotiate import STREAMED
from steersman.cluster.store import Compacted, Event, Record, Store, Subscription
from steersman.http import Stream
from steersman.objects.kinds import Object
from steersman.objects.status import StatusError, bad_request, expired

__all__ = ["WatchHubs", "watch"]

#: A client this far behind is cut off; it will list and watch again.
_BUFFER_LIMIT = 16 << 20
#: Initial state goes out in pieces of this size, each taken by the client before the next is made.
_PIECE = 256 << 10
_BOOKMARK_EVERY_S = 60.0
#: The one Table that names its columns in every event.
_REPEATS_COLUMNS = "apiservices"
#: Events that wait for a conversion webhook; with more the watches end.
_CONVERSION_QUEUE = 10_000
#: From this many watchers on, events are gathered for this long: 6.8 → 4.6 µs of CPU per delivery
#: at 1,000 watchers.
_LARGE_AUDIENCE = 32
_GATHER_S = 0.010
#: Without timeoutSeconds a watch lives this long, times 1 to 2.
_DEFAULT_LIFE_S = 1800.0

_HEADERS = ((b"Cache-Control", b"no-cache, private"), (b"Content-Type", b"application/json"))


class Audience:
    """Watchers that see the same bytes."""

    def __init__(self, api: Api, call: Call, chosen: Filter) -> None:
        self._api = api
        self._call = call
        self._resource = call.resource
        self._filter = chosen
        self.watchers: set[Watcher] = set()
        #: Lines not yet written, and the revision of the last of them.
        self._waiting: list[bytes] = []
        self._newest = 0
        self._timer: asyncio.TimerHandle | None = None
        #: The column definitions, where objects are shown as tables.
        self.headers = self._headers()

    #: Whether events wait that no watcher has got yet, beyond those that `flush` writes.
    behind = False

    def receive(self, events: Sequence[Event]) -> None:
        """One commit's events."""
        if lines := self.encode(events):
            self.deliver(lines, events[-1].revision)

    async def shown(self, values: Sequence[bytes]) -> Sequence[bytes]:
        """Stored bytes as this audience's version needs them."""
        pending = self._resource.shown(values)
        return values if pending is None else await pending

    async def shown_events(self, events: Sequence[Event]) -> Sequence[Event]:
        if self._resource.conversion is None:
            return events
        values = [event.value for event in events]
        before = [event.previous.value for event in events if event.previous is not None]
        shown = iter(await self.shown([*values, *before]))
        current = [next(shown) for _ in events]
        made = []
        for event, value in zip(events, current, strict=True):
            previous = event.previous
            if previous is not None:
                previous = replace(previous, value=next(shown))
            made.append(replace(event, value=value, previous=previous))
        return made

    def deliver(self, lines: list[bytes], revision: int) -> None:
        """Write lines to every watcher, at once or together with what follows soon."""
        self._waiting += lines
        self._newest = revision
        if self._timer is not None:
            return
        self._write()
        if len(self.watchers) >= _LARGE_AUDIENCE:
            self._timer = asyncio.get_running_loop().call_later(_GATHER_S, self.flush)

    def flush(self) -> None:
        """Write what waits; after a moment without events the next one goes out at once again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting:
            self._write()
            if len(self.watchers) >= _LARGE_AUDIENCE:
                self._timer = asyncio.get_running_loop().call_later(_GATHER_S, self.flush)

    def _write(self) -> None:
        lines, self._waiting = self._waiting, []
        data = lines[0] if len(lines) == 1 else b"".join(lines)
        for watcher in tuple(self.watchers):
            if watcher.since < self._newest:
                watcher.send(data)

    def encode(self, events: Iterable[Event]) -> list[bytes]:
        """The lines this audience gets for some events."""
        lines = []
        scope = self._filter.scope
        for event in events:
            if event.key.startswith(scope) and (line := self._line(event)):
                lines.append(line)
        return lines

    def _line(self, event: Event) -> bytes | None:
        """How one change looks from here: entering the filter is ADDED, leaving it is DELETED."""
        chosen, previous = self._filter, event.previous
        before = previous is not None and (chosen.everything or chosen.matches(previous.value))
        after = not event.deleted and (chosen.everything or chosen.matches(event.value))
        if after:
            return self.frame(b"MODIFIED" if before else b"ADDED", event.value)
        if not before:
            return None
        assert previous is not None
        value = event.value if event.deleted else restamp(previous.value, event.revision)
        return self.frame(b"DELETED", value)

    def frame(self, kind: bytes, value: bytes) -> bytes:
        resource = self._resource
        if self._call.form.plain:
            if resource.framed:
                return b'{"type":"%b","object":%b%b}\n' % (kind, resource.head, value[1:])
            return b'{"type":"%b","object":%b}\n' % (kind, resource.whole(value))
        if self._call.form.shape == "metadata list":
            return self._framed(kind, resource.read(value))
        return self._framed(kind, read_shown(self._call, value))

    def _framed(self, kind: bytes, obj: Object) -> bytes:
        # Who asks for lists of metadata gets objects: there is no list in a watch.
        if self._call.form.shape != "metadata list":
            obj = shape_object(self._api, self._call, obj)
            if "columnDefinitions" in obj and self._resource.plural != _REPEATS_COLUMNS:
                obj["columnDefinitions"] = None  # the watcher puts them into what it sends first
        return b'{"type":"%b","object":%b}\n' % (kind, orjson.dumps(obj))

    def _headers(self) -> bytes:
        if self._call.form.shape != "table":
            return b""
        definitions = table(self._api, self._call, (), {})["columnDefinitions"]
        return b'"columnDefinitions":%b' % orjson.dumps(definitions)

    def bookmark(self, revision: int, *, initial_events_end: bool = False) -> bytes:
        """An object without any fields but its revision."""
        kind = self._resource.type
        metadata: Object = {"resourceVersion": str(revision)}
        if initial_events_end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        head: Object = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
        return self._framed(b"BOOKMARK", head | (self._resource.kind.empty or {}) | head)


class ConvertingAudience(Audience):
    """Watchers of a resource whose objects a webhook converts: commits wait in order until it answered."""

    def __init__(self, api: Api, call: Call, chosen: Filter) -> None:
        super().__init__(api, call, chosen)
        self._commits: list[Sequence[Event]] = []
        self._queued = 0
        self._converting = False

    @property
    def behind(self) -> bool:  # type: ignore[override]
        return self._converting

    def receive(self, events: Sequence[Event]) -> None:
        scope = self._filter.scope
        events = [event for event in events if event.key.startswith(scope)]
        if not events:
            return
        self._commits.append(events)
        self._queued += len(events)
        if self._queued > _CONVERSION_QUEUE:
            self._end(expired("the conversion webhook is too slow for this watch"))
        elif not self._converting:
            self._converting = True
            self._api.scope.start(self._convert(), name="converted watch events")

    async def _convert(self) -> None:
        try:
            while commits := self._take():
                shown = await self.shown_events([event for events in commits for event in events])
                for events in commits:
                    self._send(shown[: len(events)])
                    shown = shown[len(events) :]
        except StatusError as error:
            self._end(error)
        finally:
            self._converting = False

    def _take(self) -> list[Sequence[Event]]:
        commits, self._commits, self._queued = self._commits, [], 0
        return commits

    def _send(self, events: Sequence[Event]) -> None:
        """Watchers that joined meanwhile have seen what was committed before they came."""
        if lines := self.encode(events):
            self._waiting, self._newest = lines, events[-1].revision
            self._write()

    def _end(self, error: StatusError) -> None:
        self._take()
        for watcher in tuple(self.watchers):
            watcher.fail(error)


class Watcher:
    """One client's open watch."""

    __slots__ = ("_headers", "audience", "bookmarks", "since", "stream")

    def __init__(self, stream: Stream, audience: Audience, since: int, bookmarks: bool) -> None:
        self.stream = stream
        self.audience = audience
        #: Events up to here are not shown (a resource version from the future, say).
        self.since = since
        self.bookmarks = bookmarks
        self._headers = audience.headers

    def send(self, data: bytes) -> None:
        """Hand over bytes; a client that does not take them is cut off."""
        stream = self.stream
        if stream.closed:
            return
        if self._headers:
            data = data.replace(b'"columnDefinitions":null', self._headers, 1)
            self._headers = b""
        stream.write(data)
        if stream.buffered > _BUFFER_LIMIT:
            stream.abort()

    def fail(self, error: StatusError) -> None:
        """End with an error as the last event."""
        if not self.stream.closed:
            self.stream.write(_error_line(error))
            self.stream.end()


class WatchHub:
    """The live audiences of one stored resource."""

    def __init__(self, store: Store, prefix: str) -> None:
        self._store = store
        self._prefix = prefix
        self._subscription: Subscription | None = None
        self.audiences: dict[tuple[object, ...], Audience] = {}

    def join(self, key: tuple[object, ...], watcher: Watcher) -> None:
        if self._subscription is None:
            self._subscription = self._store.watch(self._prefix, self._store.revision, self._deliver)
        audience = self.audiences.setdefault(key, watcher.audience)
        audience.flush()
        watcher.audience = audience
        audience.watchers.add(watcher)

    def leave(self, key: tuple[object, ...], watcher: Watcher) -> None:
        audience = self.audiences.get(key)
        if audience is None or watcher not in audience.watchers:
            return
        audience.watchers.discard(watcher)
        if not audience.watchers:
            audience.flush()
            del self.audiences[key]
        if not self.audiences and self._subscription is not None:
            self._subscription.cancel()
            self._subscription = None

    def _deliver(self, events: Sequence[Event]) -> None:
        for audience in tuple(self.audiences.values()):
            audience.receive(events)

    def watchers(self) -> list[Watcher]:
        return [watcher for audience in self.audiences.values() for watcher in audience.watchers]


class WatchHubs:
    """All hubs, by stored prefix, and the watches' common clockwork."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._hubs: dict[str, WatchHub] = {}
        self._streams: set[Stream] = set()
        #: Those that get bookmarks.
        self._marked: set[Stream] = set()

    def hub(self, resource: Resource) -> WatchHub:
        found = self._hubs.get(resource.prefix)
        if found is None:
            found = self._hubs[resource.prefix] = WatchHub(self._store, resource.prefix)
        return found

    def end(self, prefix: str) -> None:
        """A resource is no longer served: its watches end."""
        if (hub := self._hubs.pop(prefix, None)) is not None:
            for watcher in hub.watchers():
                if not watcher.stream.closed:
                    watcher.stream.end()

    @property
    def open_watches(self) -> int:
        return len(self._streams)

    def opened(self, stream: Stream, *, bookmarks: bool) -> None:
        self._streams.add(stream)
        if bookmarks:
            self._marked.add(stream)

    def closed(self, stream: Stream) -> None:
        self._streams.discard(stream)
        self._marked.discard(stream)

    async def bookmark_forever(self) -> None:
        """Send bookmarks to quiet watchers, so that they can resume after a gap."""
        while True:
            await asyncio.sleep(_BOOKMARK_EVERY_S)
            if not self._marked:
                continue
            revision = self._store.revision
            for hub in tuple(self._hubs.values()):
                for audience in tuple(hub.audiences.values()):
                    if audience.behind:
                        continue
                    asked = [watcher for watcher in audience.watchers if watcher.bookmarks]
                    if not asked:
                        continue
                    audience.flush()
                    line = audience.bookmark(revision)
                    for watcher in asked:
                        watcher.send(line)


async def watch(api: Api, call: Call, options: ListOptions) -> None:
    """Serve a watch until it ends. Errors before the first byte are raised, later ones are events."""
    if call.form.yaml:
        raise NotAcceptable(STREAMED)
    fields, name = options.field_selector, call.path.name
    if name and not fields:
        fields = f"metadata.name={name}"
    chosen = Filter(call.resource, call.path.namespace, options.label_selector, fields)
    if name and chosen.name != name:
        raise bad_request("fieldSelector metadata.name doesn't match requested name")
    converts = call.resource.conversion is not None
    audience = (ConvertingAudience if converts else Audience)(api, call, chosen)
    hub = api.hubs.hub(call.resource)
    query = call.query.get("includeObject", ())
    key = (*chosen.key(), call.resource.type.gvk, call.form, *query)
    in_flight = call.in_flight
    headers = (*_HEADERS, *warning_headers(call.warnings)) if call.warnings else _HEADERS
    stream = call.request.stream(200, headers if in_flight is None else (*headers, *in_flight.headers))
    gone = asyncio.Event()
    stream.on_close(gone.set)
    watcher = Watcher(stream, audience, 0, options.allow_bookmarks)
    api.hubs.opened(stream, bookmarks=options.allow_bookmarks)
    try:
        async with asyncio.timeout(_life_s(options)):
            try:
                await _start(api, call.resource, hub, key, watcher, options, chosen)
            except StatusError as error:
                watcher.fail(error)
                return
            if in_flight is not None:
                in_flight.started()
            await gone.wait()
    except TimeoutError:
        pass
    finally:
        hub.leave(key, watcher)
        api.hubs.closed(stream)
        if not stream.closed:
            stream.end()


def _error_line(error: StatusError) -> bytes:
    return b'{"type":"ERROR","object":%b}\n' % orjson.dumps(error.status())


def _life_s(options: ListOptions) -> float:
    if options.timeout_s is not None and options.timeout_s > 0:
        return float(options.timeout_s)
    return _DEFAULT_LIFE_S * (1 + random.random())


async def _start(
    api: Api,
    resource: Resource,
    hub: WatchHub,
    key: tuple[object, ...],
    watcher: Watcher,
    options: ListOptions,
    chosen: Filter,
) -> None:
    """Bring a watcher up to now, then make it live."""
    store = api.store
    since = options.resource_version
    wants_state = options.send_initial_events if options.send_initial_events is not None else not since
    if wants_state:
        found = store.range(chosen.scope)
        await _send_state(watcher, found.records, chosen)
        if options.send_initial_events and options.allow_bookmarks:
            watcher.send(watcher.audience.bookmark(found.revision, initial_events_end=True))
        since = found.revision
    elif since is None:
        since = store.revision
    watcher.since = since
    while since < store.revision:
        backlog = _backlog(store, resource, since)
        since = store.revision
        lines = watcher.audience.encode(await watcher.audience.shown_events(backlog))
        for start in range(0, len(lines), 256):
            watcher.send(b"".join(lines[start : start + 256]))
            await watcher.stream.drain()
    watcher.since = since
    hub.join(key, watcher)


async def _send_state(watcher: Watcher, records: Sequence[Record], chosen: Filter) -> None:
    """What is there, as ADDED events, piece by piece as the client takes them."""
    piece: list[bytes] = []
    size = 0
    for value in await watcher.audience.shown([record.value for record in records]):
        if not chosen.matches(value):
            continue
        line = watcher.audience.frame(b"ADDED", value)
        piece.append(line)
        size += len(line)
        if size >= _PIECE:
            watcher.send(b"".join(piece))
            await watcher.stream.drain()
            piece, size = [], 0
    if piece:
        watcher.send(b"".join(piece))


def _backlog(store: Store, resource: Resource, since: int) -> list[Event]:
    """The events after a revision up to now."""
    backlog: list[Event] = []
    try:
        store.watch(resource.prefix, since, backlog.extend).cancel()
    except Compacted:
        raise expired(f"too old resource version: {since} ({store.compacted})") from None
    return backlog
