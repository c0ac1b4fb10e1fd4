"""`Fairness`: the clock, futures and timers around the scheduler's decisions.

    answer = fairness.admit(RequestDigest(user, action, query))     # raises StatusError 429
    ticket = answer if isinstance(answer, Ticket) else await answer
    try: …
    finally: ticket.done()

Owns the clock, the futures of waiting requests, one timer for their deadlines, and the classification cache.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from steersman.cluster.apiserver.fairness.configuration import FlowControlConfiguration, FlowSchema, LevelSpec
from steersman.cluster.apiserver.fairness.estimate import ObjectCount, width_of
from steersman.cluster.apiserver.fairness.flows import Flow, Level, Tally
from steersman.cluster.apiserver.fairness.scheduler import Scheduler, Ticket
from steersman.cluster.apiserver.fairness.seats import Seats
from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.users import User
from steersman.cluster.store import Store, Subscription
from steersman.cluster.store_changes import follow_objects
from steersman.objects.kinds import Object
from steersman.objects.status import StatusError, too_many_requests

__all__ = ["DEFAULT_SEATS", "GROUP", "Fairness", "RequestDigest"]

GROUP = "flowcontrol.apiserver.k8s.io"
LEVELS, SCHEMAS = "prioritylevelconfigurations", "flowschemas"
#: As kube-apiserver's: 400 requests in flight and 200 mutating ones.
DEFAULT_SEATS = 600
#: A quarter of a request's minute.
_WAIT_S = 15.0
_REFUSAL = "Too many requests, please try again later."
#: Handler time of a request that also waits (for a commit, for its client) cannot be seen from outside; this
#: is what a create takes.
_WAITING_VERB_S = 0.0002
_READS = frozenset({"get", "list", "head", "options"})
_WIDE = frozenset({"list", "watch"})
#: Connections, not requests: they are not limited here, as in kube-apiserver.
_LONG_RUNNING = frozenset({"attach", "exec", "portforward", "proxy", "log"})
#: Classifications and flows remembered; both are forgotten together.
_REMEMBERED = 8192

#: Metric name → label pairs → value.
Metrics = dict[str, dict[tuple[tuple[str, str], ...], float]]


class RequestDigest(NamedTuple):
    """What fairness looks at of a request."""

    user: User
    action: Action
    #: The parsed query of lists and watches.
    query: Mapping[str, Sequence[str]] = {}


class _Pending:
    """A ticket to wait for. Not a coroutine: the task that was to await it may be cancelled before its first
    step, and then only the end of this object shows it."""

    __slots__ = ("_abandon", "_now", "_taken", "_ticket", "_waiter")

    def __init__(
        self,
        ticket: Ticket,
        waiter: asyncio.Future[None],
        now: Callable[[], float],
        abandon: Callable[[Ticket], None],
    ) -> None:
        self._ticket = ticket
        self._waiter = waiter
        self._now = now
        self._abandon = abandon
        self._taken = False

    def __await__(self) -> Generator[Any, None, Ticket]:
        try:
            yield from self._waiter
        except BaseException:
            self._give_up()
            raise
        self._taken = True
        self._ticket.since = self._now()
        return self._ticket

    def _give_up(self) -> None:
        if not self._taken:
            self._taken = True
            self._abandon(self._ticket)

    def __del__(self) -> None:
        self._give_up()


class Fairness:
    def __init__(
        self,
        total_seats: int = DEFAULT_SEATS,
        *,
        count: ObjectCount = lambda group, plural: 0,
        wait_s: float = _WAIT_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._scheduler = Scheduler(total_seats, wait_s)
        self._count = count
        self._now = now
        self._objects: dict[str, dict[str, Object]] = {LEVELS: {}, SCHEMAS: {}}
        self._changed = True
        self._configuration = FlowControlConfiguration((), ())
        #: (who, what) → flow, and (schema, distinguisher) → the same flows.
        self._classified: dict[tuple[object, ...], Flow] = {}
        self._flows: dict[tuple[str, str], Flow] = {}
        self._unlimited = _unlimited()
        #: Where requests wait; None until one does.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn_planned = False
        self._timer: asyncio.TimerHandle | None = None
        # Bound once: every ticket carries it.
        self._release = self._finish

    def follow(self, store: Store) -> Sequence[Subscription]:
        """Use the stored objects, and what becomes of them."""
        return [
            follow_objects(store, f"/{GROUP}/{plural}/", partial(self._on_change, plural))
            for plural in self._objects
        ]

    def _on_change(self, plural: str, namespace: str, name: str, obj: Object | None) -> None:
        if obj is None:
            self._objects[plural].pop(name, None)
        else:
            self._objects[plural][name] = obj
        self._changed = True

    # The request path

    def admit(self, digest: RequestDigest) -> Ticket | Awaitable[Ticket]:
        """A ticket at once, or one to wait for. Raises StatusError 429."""
        user, action, query = digest
        if self._changed:
            self._configure()
        verb = action.verb
        # Everything that rules can see: not the object's name, which follows the sixth field.
        key = (user.name, tuple(user.groups), action[:6], action.path)
        flow = self._classified.get(key)
        if flow is None:
            flow = self._classify(key, user, action)
        width = 1
        if verb in _WIDE and action.resource:
            width = width_of(action, query, self._count, flow.level.seats.widest)
        now = self._now()
        ticket = Ticket(flow, width, math.inf if verb in _READS else _WAITING_VERB_S, now, self._release)
        if self._scheduler.arrive(ticket, now):
            raise _refusal(flow)
        if ticket.held:
            if self._scheduler.turn_due and not self._turn_planned:
                self._loop = asyncio.get_running_loop()
                self._plan()
            return ticket
        self._loop = asyncio.get_running_loop()
        assert ticket.place is not None
        waiter = ticket.place.waiter = self._loop.create_future()
        self._plan()
        return _Pending(ticket, waiter, self._now, self._abandon)

    def _abandon(self, ticket: Ticket) -> None:
        """This request will not run: it leaves its place, or the seats it just got."""
        assert ticket.place is not None
        if ticket.place.waits:
            self._scheduler.leave(ticket)
        ticket.done()

    def _finish(self, ticket: Ticket) -> None:
        scheduler = self._scheduler
        scheduler.finish(ticket, self._now())
        if scheduler.turn_due:
            self._plan()

    # Classification

    def _configure(self) -> None:
        self._changed = False
        self._configuration = FlowControlConfiguration(
            self._objects[LEVELS].values(), self._objects[SCHEMAS].values()
        )
        self._scheduler.configure(self._configuration.levels)
        self._forget()

    def _forget(self) -> None:
        self._classified.clear()
        self._flows.clear()

    def _classify(self, key: tuple[object, ...], user: User, action: Action) -> Flow:
        if len(self._classified) >= _REMEMBERED:
            self._forget()
        if action.subresource in _LONG_RUNNING:
            self._classified[key] = self._unlimited
            return self._unlimited
        schema = self._configuration.classify(user, action)
        distinguisher = schema.distinguish(user, action)
        flow = self._flows.get((schema.name, distinguisher))
        if flow is None:
            flow = self._flow(schema, distinguisher)
            self._flows[(schema.name, distinguisher)] = flow
        self._classified[key] = flow
        return flow

    def _flow(self, schema: FlowSchema, distinguisher: str) -> Flow:
        uid = self._configuration.levels[schema.level].uid
        return self._scheduler.flow(schema, uid, distinguisher)

    # Those who wait

    def _plan(self) -> None:
        """One turn on the loop's next pass, and a timer for the first deadline."""
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        if not self._turn_planned:
            self._turn_planned = True
            loop.call_soon(self._turn)
        if self._timer is None and (deadline := self._scheduler.deadline()) is not None:
            self._timer = loop.call_later(max(0.0, deadline - self._now()), self._expire)

    def _turn(self) -> None:
        self._turn_planned = False
        for ticket in self._scheduler.turn(self._now()):
            _answer(ticket, None)
        if self._scheduler.turn_due:
            self._plan()

    def _expire(self) -> None:
        self._timer = None
        for ticket in self._scheduler.expire(self._now()):
            _answer(ticket, _refusal(ticket.flow))
        if self._scheduler.waiting:
            self._plan()

    def close(self) -> None:
        """Nothing of this runs any more; requests that still wait are cancelled with their connections."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # Numbers

    def metrics(self) -> Metrics:
        """Counters and gauges under Kubernetes' names."""
        if self._changed:
            self._configure()
        found: Metrics = {}

        def put(name: str, value: float, **labels: str) -> None:
            found.setdefault(f"apiserver_flowcontrol_{name}", {})[tuple(labels.items())] = value

        for level in self._scheduler.levels.values():
            seats = level.seats
            put("nominal_limit_seats", seats.nominal, priority_level=level.name)
            put("lower_limit_seats", seats.guaranteed, priority_level=level.name)
            put("upper_limit_seats", seats.upper, priority_level=level.name)
        for (level_name, schema), tally in self._scheduler.tallies.items():
            at = {"priority_level": level_name, "flow_schema": schema}
            put("dispatched_requests_total", tally.dispatched, **at)
            put("current_executing_requests", tally.executing, **at)
            put("current_executing_seats", tally.seats, **at)
            put("current_inqueue_requests", tally.waiting, **at)
            put("request_wait_duration_seconds_total", tally.waited_s, **at)
            for reason, count in tally.rejected.items():
                put("rejected_requests_total", count, **at, reason=reason)
        return found


def _unlimited() -> Flow:
    """The flow of what is not limited here: a level like the exempt one, which the API does not show."""
    level = Level(LevelSpec("", "", True, 0, 0, None, None), Seats(1, 1, 1, 1))
    flow = Flow(FlowSchema("", "", 0, "", "", ()), level, "", "", Tally())
    flow.headers = ()
    return flow


def _refusal(flow: Flow) -> StatusError:
    error = too_many_requests(_REFUSAL, 1)
    error.headers = [*error.headers, *flow.headers]
    return error


def _answer(ticket: Ticket, error: StatusError | None) -> None:
    assert ticket.place is not None
    waiter = ticket.place.waiter
    if waiter is None or waiter.done():
        return
    if error is None:
        waiter.set_result(None)
    else:
        waiter.set_exception(error)
