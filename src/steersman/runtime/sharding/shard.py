"""One process's share of the objects: sends what `core` asks for and hands running work over.

A manager runs it around everything that works on objects. `Worker`s (controllers, daemons) ask `owns` before
they start anything, are told to `release` what goes to another member and to `take` what has come. What has
come is taken only when all caches have what the API had after the last owner stopped, so nobody repeats what
another has just done.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from steersman.aio import Clock, Scope, first_of
from steersman.client import Client, ClientError, Conflict, NotFound
from steersman.election import LeadershipLost, default_identity
from steersman.election.lease.exchange import Exchange, ask
from steersman.election.lease.requests import Read, Write
from steersman.objects.resources import LEASES
from steersman.objects.times import format_micro_time
from steersman.runtime.changes import Change
from steersman.runtime.informer import Informer
from steersman.runtime.informers import Informers
from steersman.runtime.keys import Key
from steersman.runtime.sharding.core import (
    Answer,
    Command,
    Drain,
    Drained,
    Event,
    Leave,
    Record,
    Remove,
    Seen,
    ShardCore,
    ShardSettings,
    Stop,
)
from steersman.runtime.sharding.records import GROUP, emptied, object_of, record_of
from steersman.runtime.sharding.views import View, owner

__all__ = ["Shard", "Worker"]

_log = logging.getLogger(__name__)

Unit = Literal["object", "namespace"]

#: Others get a turn after this many objects were looked at.
_PIECE = 1000
#: A drain that takes longer than this beyond its time holds objects that others should have.
_STUCK_AFTER_S = 10.0


class Worker(Protocol):
    """What works on objects, and only on those that its shard owns."""

    def objects(self) -> Iterable[Key]:
        """All objects there are, whoever owns them."""
        ...

    def take(self, key: Key) -> None:
        """The object has come: begin."""
        ...

    async def release(self, keep: Callable[[Key], bool], grace_s: float) -> None:
        """Return when nothing is done any more for objects that are not to be kept.

        What is under way may go on for `grace_s`; then it is cancelled."""
        ...


class Shard:
    """A member of the group `name`. Its Lease is in `namespace`, the client's own if none is given."""

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str | None = None,
        *,
        informers: Informers,
        clock: Clock,
        settings: ShardSettings | None = None,
        unit: Unit = "object",
    ) -> None:
        """`unit` namespace: all objects of a namespace are with the same member."""
        self.name = name
        self.namespace = namespace or client.namespace
        self.member = f"{name}-{secrets.token_hex(5)}"
        self.settings = settings or ShardSettings()
        #: How many objects have come from other members.
        self.moves = 0
        self._client = client
        self._informers = informers
        self._clock = clock
        self._unit = unit
        self._holder = default_identity()
        self._workers: list[Worker] = []
        self._leases: Informer = informers.get(LEASES, namespace=self.namespace, labels=f"{GROUP}={name}")
        self._core = ShardCore(self.member, self.settings)
        #: What may be worked on here: never more than the core allows.
        self._view = View(self.member)
        self._events: deque[Event] = deque()
        self._happened = asyncio.Event()
        self._scope: Scope | None = None
        self._exchange: Exchange[Record] | None = None
        self._draining: asyncio.Task[None] | None = None
        self._draining_since: float | None = None
        self._taking: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None

    def add_worker(self, worker: Worker) -> None:
        self._workers.append(worker)

    # what others ask

    def owns(self, key: Key) -> bool:
        """Whether this process may begin to work on an object, at this moment."""
        return self._core.valid(self._clock.monotonic()) and self._view.owns(self._unit_of(key))

    def check(self) -> None:
        """Raise `LeadershipLost` if others may work on our objects by now: right before each write."""
        if not self._core.valid(self._clock.monotonic()):
            raise LeadershipLost(f"{self.member} could not renew its lease in time")

    def health(self) -> str:
        """Empty, or what is wrong: work that does not end though its object is another member's."""
        since = self._draining_since
        if since is None:
            return ""
        late_s = self._clock.monotonic() - since
        if late_s < self.settings.handover_s + _STUCK_AFTER_S:
            return ""
        return f"work that should have ended goes on for {late_s:.0f} s"

    @property
    def members(self) -> int:
        return len(self._core.members)

    @property
    def owned(self) -> int:
        """How many objects this member looks after."""
        return sum(self.owns(key) for key in self._all_keys())

    def _unit_of(self, key: Key) -> str:
        return key.namespace if self._unit == "namespace" and key.namespace else str(key)

    def _all_keys(self) -> set[Key]:
        return {key for worker in self._workers for key in worker.objects()}

    # running

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Be a member while `work` runs; go when it has ended. Being cancelled cancels the work first."""
        if self._scope is not None:
            raise RuntimeError(f"{self.member} is running already")
        try:
            async with Scope() as self._scope:
                self._exchange = Exchange(
                    self.member, self._scope, self._clock, self._answer, self._report, self._warn_late
                )
                self._leases.add_handler(self._on_change)
                worker = self._scope.start(self._do(work), name=f"shard {self.name}")
                worker.add_done_callback(lambda _: self._report(Leave()))
                self._report(Seen(self._records()))
                cancelled = await self._loop(worker)
        finally:
            self._leases.remove_handler(self._on_change)
            self._scope = self._exchange = None
            self._view = View(self.member)
        await self._go()
        if cancelled is not None:
            raise cancelled
        if self._failure is not None:
            raise self._failure

    async def _do(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 (raised by `run`)
            self._failure = error

    async def _go(self) -> None:
        """Leave nothing behind; what the API does not hear of, the others remove."""
        await first_of(self._remove(self.member, None), self._clock.sleep(self.settings.request_timeout_s))

    async def _loop(self, worker: asyncio.Task[None]) -> asyncio.CancelledError | None:
        assert self._exchange is not None
        cancelled: asyncio.CancelledError | None = None
        while not self._core.stopped:
            while not self._events:
                self._happened.clear()
                try:
                    await self._happened.wait()
                except asyncio.CancelledError as error:
                    if cancelled is not None:
                        raise
                    cancelled = error
                    worker.cancel()
            known = self._core.members
            for command in self._core.step(self._events.popleft(), self._clock.monotonic()):
                self._execute(command)
            if self._core.members != known:
                _log.info(
                    "%s: the members are %s", self.member, ", ".join(sorted(self._core.members)) or "none"
                )
            self._adopt()
            self._exchange.wake_at(self._core.wake_at)
        return cancelled

    def _execute(self, command: Command) -> None:
        assert self._scope is not None
        assert self._exchange is not None
        match command:
            case Read() | Write():
                self._exchange.send(command)
            case Remove(member, version):
                _log.warning("%s has not renewed its lease for %g s", member, self.settings.duration_s)
                self._scope.start(self._take_away(member, version), name=f"removing {member}")
            case Drain():
                if self._draining is not None:
                    self._draining.cancel()
                self._draining_since = self._clock.monotonic()
                self._draining = self._scope.start(self._drain(command), name=f"{self.member} drain")
            case Stop():
                self._exchange.drop()

    def _report(self, event: Event) -> None:
        self._events.append(event)
        self._happened.set()

    def _on_change(self, change: Change) -> None:
        if self._events and isinstance(self._events[-1], Seen):
            self._events.pop()
        self._report(Seen(self._records()))

    def _records(self) -> tuple[Record, ...]:
        return tuple(record_of(cached.object()) for cached in self._leases.cache)

    # requests

    async def _answer(self, command: Read | Write[Record]) -> Answer:
        return await ask(
            self._client,
            command,
            self.member,
            self.namespace,
            lease_of=record_of,
            object_of=self._object_of,
            on_error=self._warn,
        )

    def _object_of(self, record: Record) -> dict[str, Any]:
        return object_of(
            record,
            group=self.name,
            namespace=self.namespace,
            holder=self._holder,
            duration_s=self.settings.duration_s,
            now=format_micro_time(datetime.fromtimestamp(self._clock.wall(), UTC)),
        )

    def _warn(self, error: ClientError) -> None:
        _log.warning("sharding %s/%s: %s", self.namespace, self.name, error)

    def _warn_late(self) -> None:
        _log.warning("sharding %s: no answer in time", self.name)

    async def _take_away(self, member: str, version: str) -> None:
        """First the claim, so that nobody has to guess why the Lease went; then the Lease."""
        cached = self._leases.cache.get(Key(self.namespace, member))
        if cached is None or cached.version != version:
            return
        try:
            body = emptied(cached.object())
            stored = await self._client.replace(body, kind=LEASES, namespace=self.namespace)
        except (Conflict, NotFound):
            return  # it lives, or somebody else was quicker
        except ClientError as error:
            self._warn(error)
            return
        await self._remove(member, stored["metadata"]["resourceVersion"])

    async def _remove(self, member: str, version: str | None) -> None:
        try:
            await self._client.delete(LEASES, member, self.namespace, resource_version=version)
        except (Conflict, NotFound):
            pass  # it lives, or is gone already
        except ClientError as error:
            self._warn(error)

    # objects that go and come

    async def _drain(self, drain: Drain) -> None:
        def keep(key: Key) -> bool:
            return owner(self._unit_of(key), drain.claim) == self.member

        grace_s = 0.0 if drain.at_once else self.settings.handover_s
        async with Scope() as scope:
            for worker in self._workers:
                scope.start(worker.release(keep, grace_s), name=f"{self.member} release")
            await scope.join()
        self._draining = None
        self._draining_since = None
        self._report(Drained(drain.generation))

    def _adopt(self) -> None:
        """Have the core's view count here: what it takes away at once, what it gives when caches are up."""
        new = self._core.view
        if new == self._view:
            return
        self._view = new.and_also(self._view)
        if new != self._view and self._taking is None and self._scope is not None:
            self._taking = self._scope.start(self._take_over(new), name=f"{self.member} taking over")

    async def _take_over(self, new: View) -> None:
        began = self._clock.monotonic()
        kept = self._view
        come = 0
        for number, key in enumerate(self._all_keys()):
            come += self._comes(key, new, kept)
            if number % _PIECE == _PIECE - 1:
                await asyncio.sleep(0)
        if come:
            await self._informers.refresh()
        # The core may have changed its mind meanwhile; what it has given since then needs a look of its own.
        kept = self._view
        self._view = new.and_also(self._core.view)
        self._taking = None
        gained = [(worker, key) for worker in self._workers for key in list(worker.objects())]
        gained = [(worker, key) for worker, key in gained if self._comes(key, self._view, kept)]
        for worker, key in gained:
            worker.take(key)
        count = len({key for _, key in gained})
        self.moves += count
        if count:
            took_s = self._clock.monotonic() - began
            _log.info(
                "%s: took over %d objects from %d members in %.1f s", self.member, count, self.members, took_s
            )
        self._adopt()

    def _comes(self, key: Key, new: View, kept: View) -> bool:
        unit = self._unit_of(key)
        return new.owns(unit) and not kept.owns(unit)
