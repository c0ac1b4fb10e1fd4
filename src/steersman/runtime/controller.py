"""A controller: changes of objects in, calls of one reconcile function out.

Owns the work queue, the workers and their time limit. Sources (informers) put keys into the queue; every
key that is ready gets a task of its own, at most `concurrency` at once and never two for the same key.
Whatever a reconcile does, it ends as one of these and the controller lives on:

| the reconcile             | counted as      | the key                              |
|---------------------------|-----------------|--------------------------------------|
| returns                   | success         | is forgotten                         |
| asks for a time           | requeue_after   | is forgotten and comes back then     |
| asks for no special time  | requeue         | comes back after its backoff         |
| raises `TerminalError`    | error, terminal | is forgotten                         |
| takes too long            | error, timeout  | comes back after its backoff         |
| raises an `Exception`     | error           | comes back after its backoff         |
| raises anything else      | error, panic    | comes back after its backoff         |

A manager runs it, once per leadership: each run begins with everything the sources hold.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator
from typing import Protocol

from steersman.aio import Clock, Scope, SystemClock, wait_for_tasks
from steersman.client import ClientError
from steersman.objects.resource_type import ResourceType
from steersman.runtime import logs, tracing
from steersman.runtime.cache import Cache
from steersman.runtime.changes import Change, Handler
from steersman.runtime.errors import ReconcileTimeout, Requeue, TerminalError
from steersman.runtime.journal import Journal
from steersman.runtime.keys import Key
from steersman.runtime.metrics import ControllerMetrics
from steersman.runtime.queue import WorkQueue
from steersman.runtime.queue_core import LOW_PRIORITY, Work
from steersman.runtime.requests import Outcome, Request, Result
from steersman.runtime.retry import RetryPolicy
from steersman.runtime.sharding import Shard

__all__ = ["MOVED", "Controller", "Mapper", "Reconcile", "Source"]

_log = logging.getLogger(__name__)

Reconcile = Callable[[Request], Awaitable[Result | None]]
Mapper = Callable[[Change], Iterable[Key]]
Test = Callable[[Change], bool]

#: Why an object is looked at that another member has looked after until now.
MOVED = "moved"

#: How long a reconcile that was cut off may take to end before it counts as stuck.
_STUCK_AFTER_S = 10.0


class Source(Protocol):
    """What a controller needs of an informer."""

    @property
    def resource(self) -> ResourceType: ...

    @property
    def cache(self) -> Cache: ...

    def add_handler(self, handler: Handler, *, writer: Hashable = None) -> None: ...

    def remove_handler(self, handler: Handler) -> None: ...


class Controller:
    """Keeps calling `reconcile` until the objects of its sources are as they should be."""

    def __init__(
        self,
        name: str,
        reconcile: Reconcile,
        *,
        clock: Clock | None = None,
        concurrency: int = 8,
        timeout_s: float | None = None,
        retry: RetryPolicy | None = None,
        min_interval_s: float = 0.0,
        debounce_s: float = 0.0,
        max_length: int = 1_000_000,
        before: Callable[[Request], None] | None = None,
        after: Callable[[Request, Outcome], None] | None = None,
        shard: Shard | None = None,
        journal: Journal | None = None,
    ) -> None:
        """`before` and `after` are called around every reconcile, inside its task.

        `max_length` bounds the queue. What is refused when it is full is made up for when it is half
        empty again: every object of the primary sources is then looked at.

        With a `shard`, only objects that are this process's are worked on. What was done is remembered in
        the `journal`, if there is one.
        """
        if concurrency < 1:
            raise ValueError("a controller needs at least one worker")
        if timeout_s is not None and timeout_s <= 0:
            raise ValueError("timeout_s must be positive")
        self.name = name
        self.concurrency = concurrency
        self.timeout_s = timeout_s
        self.metrics = ControllerMetrics(name, concurrency)
        self.journal = journal
        self._reconcile = reconcile
        self._clock = clock or SystemClock()
        self._retry = retry or RetryPolicy()
        self._min_interval_s = min_interval_s
        self._debounce_s = debounce_s
        self._max_length = max_length
        self._before = before
        self._after = after
        self._shard = shard
        if shard is not None:
            shard.add_worker(self)
        self._sources: list[tuple[Source, Handler]] = []
        self._primary: list[Source] = []
        self._ids = itertools.count(1)
        self._id_prefix = secrets.token_hex(4)
        # Of the present run:
        self._queue: WorkQueue[Key] | None = None
        self._running: dict[Key, _Running] = {}
        self._freed = asyncio.Event()
        self._stop = asyncio.Event()
        self._grace_s = 0.0
        #: Whether the queue refused something, and what is still to be looked at because it did.
        self._overflowed = False
        self._backlog: Iterator[Key] | None = None

    @property
    def resources(self) -> list[ResourceType]:
        """Whose objects are reconciled."""
        return [source.resource for source in self._primary]

    # --- what to look at

    def primary(self, source: Source, predicate: Test | None = None) -> Controller:
        """Reconcile the objects of `source` themselves."""
        self._primary.append(source)
        return self._listen(source, lambda change: (change.key,), predicate, own=True)

    def owns(
        self, source: Source, owner: ResourceType, predicate: Test | None = None, *, any_owner: bool = False
    ) -> Controller:
        """Reconcile the `owner` of each object of `source`: the one that controls it, or any."""
        return self._listen(source, _owners(owner, any_owner), predicate)

    def watches(
        self, source: Source, mapper: Mapper, predicate: Test | None = None, *, reason: str = ""
    ) -> Controller:
        """Reconcile the keys that `mapper` makes of each change, which shows the object before and after."""
        return self._listen(source, mapper, predicate, reason=reason)

    def _listen(
        self, source: Source, mapper: Mapper, predicate: Test | None, *, reason: str = "", own: bool = False
    ) -> Controller:
        kind = source.resource.kind

        def handle(change: Change) -> None:
            if predicate is not None and not predicate(change):
                return
            late = change.initial or change.resync
            what = "initial" if change.initial else "resync" if change.resync else change.type
            why = what if own else reason or f"{kind} {change.key} {what}"
            for key in mapper(change):
                self.enqueue(key, why, priority=LOW_PRIORITY if late else 0)

        self._sources.append((source, handle))
        if self._queue is not None:
            source.add_handler(handle, writer=self.name)
        return self

    def enqueue(self, key: Key, reason: str, *, after_s: float = 0.0, priority: int = 0) -> None:
        """Have `key` reconciled. Without effect while the controller does not run: each run begins with
        everything."""
        queue = self._queue
        if queue is None or not self._may_work(key):
            return
        if queue.add(key, priority=priority, after_s=after_s, reason=reason):
            return
        if not self._overflowed:
            self._overflowed = True
            _log.error("the queue of %s is full (%d keys)", self.name, len(queue))

    # --- sharing objects with other members

    def _may_work(self, key: Key) -> bool:
        return self._shard is None or self._shard.owns(key)

    def objects(self) -> Iterable[Key]:
        return (cached.key for source in self._primary for cached in source.cache)

    def take(self, key: Key) -> None:
        self.enqueue(key, MOVED, priority=LOW_PRIORITY)

    async def release(self, keep: Callable[[Key], bool], grace_s: float) -> None:
        """Return when no reconcile of an object that is not to be kept runs; late ones are cancelled."""
        await asyncio.sleep(0)  # a task that has not begun yet could not clean up
        going = {
            entry.task: entry
            for key, entry in self._running.items()
            if entry.task is not None and not keep(key)
        }
        if grace_s:
            going = {task: going[task] for task in await wait_for_tasks(going, self._clock, grace_s)}
        for task, entry in going.items():
            entry.released = True
            task.cancel()
        if going:
            await asyncio.wait(going)

    # --- running

    async def run(self, *, may_act: Callable[[], bool] | None = None) -> None:
        """Work until `stop` is called, or cancelled: then reconciles are cancelled at once.

        Before each reconcile `may_act` is asked; once it says no, nothing is started any more.
        """
        if self._queue is not None:
            raise RuntimeError(f"controller {self.name} is running already")
        queue = self._queue = WorkQueue(
            self._clock,
            name=self.name,
            retry=self._retry,
            min_interval_s=self._min_interval_s,
            debounce_s=self._debounce_s,
            max_length=self._max_length,
            metrics=self.metrics.queue,
        )
        try:
            async with Scope() as scope:
                for source, handler in list(self._sources):
                    source.add_handler(handler, writer=self.name)
                dispatcher = scope.start(
                    self._dispatch(queue, scope, may_act or _always), name=f"{self.name} dispatcher"
                )
                if self.timeout_s is not None:
                    scope.start(self._watch_time(self.timeout_s), name=f"{self.name} time limit")
                await self._stop.wait()
                dispatcher.cancel()
                await self._drain(scope)
        finally:
            for source, handler in self._sources:
                source.remove_handler(handler)
            self._running.clear()
            self._stop.clear()
            self._queue = None
            self._overflowed = False
            self._backlog = None
            self.metrics.queue.detach()
            await queue.close()

    def stop(self, grace_s: float = 30.0) -> None:
        """Start nothing more; `run` returns when the reconciles have ended, or cuts them off in the end.

        A run that is about to begin ends at once.
        """
        self._grace_s = grace_s
        self._stop.set()

    def check(self) -> str:
        """Empty, or what is wrong: a reconcile that does not end though it was cut off."""
        if self.timeout_s is None:
            return ""
        oldest_allowed = self._clock.monotonic() - self.timeout_s - _STUCK_AFTER_S
        stuck = [key for key, running in self._running.items() if running.started < oldest_allowed]
        if not stuck:
            return ""
        return f"{len(stuck)} reconciles of {self.name} are stuck, the first is {stuck[0]}"

    async def _dispatch(self, queue: WorkQueue[Key], scope: Scope, may_act: Callable[[], bool]) -> None:
        running = self._running
        while True:
            while len(running) >= self.concurrency:
                self._freed.clear()
                await self._freed.wait()
            work = await queue.get()
            if not may_act():
                _log.warning("%s starts no further reconciles: leadership is lost", self.name)
                return
            if not self._may_work(work.key):
                queue.done(work.key)
                continue
            entry = running[work.key] = _Running(self._clock.monotonic())
            entry.task = scope.start(self._work(queue, work, entry), name=self.name)

    async def _work(self, queue: WorkQueue[Key], work: Work[Key], entry: _Running) -> None:
        key = work.key
        metrics = self.metrics
        metrics.active += 1
        request = Request(key, work.reasons, work.attempt, f"{self._id_prefix}-{next(self._ids):x}")
        logs.bind(
            {
                "controller": self.name,
                "object": key,
                "reconcile_id": request.reconcile_id,
                "reasons": work.reasons,
                "attempt": work.attempt,
            }
        )
        journal = self.journal
        notes = journal.begin(self._clock.wall()) if journal is not None else None
        try:
            if self._before is not None:
                self._call(self._before, request)
            with tracing.span(f"reconcile {self.name}", _traced(request)) as span:
                result, error = await self._call_reconcile(request, entry)
                if error is not None:
                    span.failed(error)
            if entry.released:
                queue.done(key)
                return
            outcome = self._settle(queue, key, result, error, self._clock.monotonic() - entry.started)
            if journal is not None and notes is not None:
                journal.record(notes, request, outcome)
            if self._after is not None:
                self._call(self._after, request, outcome)
        finally:
            metrics.active -= 1
            del self._running[key]
            self._freed.set()
        if (self._overflowed or self._backlog is not None) and len(queue) <= self._max_length // 2:
            self._make_up(queue)

    async def _call_reconcile(
        self, request: Request, entry: _Running
    ) -> tuple[Result | None, BaseException | None]:
        try:
            return await self._reconcile(request), None
        except Requeue as asked:
            return Result.requeue(asked.after_s), None
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            assert task is not None
            if entry.released and task.uncancel() == 0:
                return None, None
            if entry.cut_off and task.uncancel() == 0:
                return None, ReconcileTimeout(f"not done after {self.timeout_s:g} s")
            if task.cancelling():
                raise
            return None, error  # something it waited for was cancelled, not the reconcile
        except BaseException as error:  # noqa: BLE001 - nothing a reconcile does may end the controller
            return None, error

    def _settle(
        self,
        queue: WorkQueue[Key],
        key: Key,
        result: Result | None,
        error: BaseException | None,
        seconds: float,
    ) -> Outcome:
        metrics = self.metrics
        metrics.durations.observe(seconds)
        if error is not None:
            metrics.results["error"] += 1
            again_after_s = self._settle_error(queue, key, error)
            return Outcome("error", error, seconds, again_after_s)
        if result is None or (result.after_s is None and not result.backoff):
            metrics.results["success"] += 1
            queue.done(key)
            return Outcome("success", None, seconds, None)
        if result.backoff:
            metrics.results["requeue"] += 1
            return Outcome("requeue", None, seconds, queue.failed(key))
        metrics.results["requeue_after"] += 1
        queue.done(key, again_after_s=result.after_s)
        return Outcome("requeue_after", None, seconds, result.after_s)

    def _settle_error(self, queue: WorkQueue[Key], key: Key, error: BaseException) -> float | None:
        metrics = self.metrics
        if isinstance(error, TerminalError):
            metrics.terminal_errors += 1
            queue.done(key)
            _log.error("failed for good: %s", error)
            return None
        wait_s = queue.failed(key)
        if isinstance(error, ReconcileTimeout):
            metrics.timeouts += 1
            _log.error("%s; trying again in %.3g s", error, wait_s)
        elif isinstance(error, ClientError):
            # What the API said is all there is to know; the stack would only hide it.
            _log.warning("%s: %s; trying again in %.3g s", type(error).__name__, error, wait_s)
        else:
            metrics.panics += not isinstance(error, Exception)
            _log.error("failed; trying again in %.3g s", wait_s, exc_info=error)
        return wait_s

    def _call(self, hook: Callable[..., None], *arguments: object) -> None:
        try:
            hook(*arguments)
        except Exception:  # noqa: BLE001 - a hook looks on, it does not decide
            _log.exception("a hook of %s failed", self.name)

    def _make_up(self, queue: WorkQueue[Key]) -> None:
        """After an overflow: look at everything, piece by piece, since it is not known what was refused."""
        if self._backlog is None:
            self._overflowed = False
            self._backlog = iter([key for key in self.objects() if self._may_work(key)])
        while len(queue) < self._max_length:
            key = next(self._backlog, None)
            if key is None:
                self._backlog = None
                return
            queue.add(key, priority=LOW_PRIORITY, reason="overflow")

    async def _watch_time(self, timeout_s: float) -> None:
        while True:
            now = self._clock.monotonic()
            wait_s = timeout_s
            for running in self._running.values():  # oldest first
                if running.cut_off:
                    continue
                wait_s = running.started + timeout_s - now
                if wait_s > 0:
                    break
                running.cut_off = True
                if running.task is not None:
                    running.task.cancel()
            await self._clock.sleep(wait_s if wait_s > 0 else timeout_s)

    async def _drain(self, scope: Scope) -> None:
        """Wait for the running reconciles, not longer than the grace given."""
        late = scope.start(self._clock.sleep(self._grace_s), name=f"{self.name} grace")
        late.add_done_callback(lambda _: self._freed.set())
        while self._running and not late.done():
            self._freed.clear()
            await self._freed.wait()
        if self._running:
            _log.warning("%s: %d reconciles were not done in time", self.name, len(self._running))


class _Running:
    """A reconcile under way."""

    __slots__ = ("cut_off", "released", "started", "task")

    def __init__(self, started: float) -> None:
        self.started = started
        #: Cancelled because it took too long, or because the object goes to another member.
        self.cut_off = False
        self.released = False
        self.task: asyncio.Task[None] | None = None


def _traced(request: Request) -> dict[str, str | int]:
    return {
        "k8s.namespace.name": request.key.namespace,
        "k8s.object.name": request.key.name,
        "reconcile_id": request.reconcile_id,
        "reasons": ", ".join(request.reasons),
        "attempt": request.attempt,
    }


def _always() -> bool:
    return True


def _owners(owner: ResourceType, any_owner: bool) -> Mapper:
    """The keys of an object's owners of one kind, before and after the change."""

    def mapper(change: Change) -> set[Key]:
        keys = set()
        for cached in (change.old, change.new):
            if cached is None:
                continue
            for reference in cached.metadata().get("ownerReferences") or ():
                # Versions of a group are views of the same objects, so the group is compared.
                group = reference["apiVersion"].rpartition("/")[0]
                if group != owner.group or reference["kind"] != owner.kind:
                    continue
                if any_owner or reference.get("controller"):
                    keys.add(Key(cached.key.namespace if owner.namespaced else "", reference["name"]))
        return keys

    return mapper
