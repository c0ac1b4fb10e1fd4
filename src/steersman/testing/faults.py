"""What goes wrong between an operator and the API, on demand: refusals, delays, losses, broken watches.

    cluster.faults.refuse(409, verb="update", resource=Deployment, times=3)
    cluster.faults.refuse(429, retry_after_s=5, probability=0.2)
    with cluster.faults.delay(2.0, verb="list"):
        ...
    cluster.faults.drop_watches(resource="webapps")

They concern the operators that the kit runs and clients made with `faulty=True`; the test's own clients see
the API as it is. Of several faults that fit a request all take effect; what is decided by chance is decided
by the seed. `faulty` is where they take effect.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Protocol, Self, Unpack

from steersman.http.errors import Disconnected
from steersman.objects.status import StatusError
from steersman.testing.requests import ApiRequest, Kind, Match, Matching

__all__ = ["Fault", "Faults", "Plan", "Where"]

_REASONS = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Where(Matching, total=False):
    """Which requests a fault befalls."""

    probability: float
    times: int
    """How many requests, until it is over."""
    skip: int
    """How many requests that fit go by before."""


@dataclass(slots=True)
class Plan:
    """What will happen to one request."""

    lost: bool = False
    """It does not reach the server."""
    refusal: StatusError | None = None
    """The server's place is taken by this answer."""
    delay_s: float = 0.0
    """The answer comes so much later."""
    answer_lost: bool = False
    """The connection breaks after the server has acted."""
    hangs: bool = False
    """The answer never comes, and nobody says so."""


Effect = Callable[[Plan], None]


class Fault:
    """One fault, in force until its times are over or it is removed; also a context manager."""

    def __init__(self, faults: Faults, effect: Effect, where: Where) -> None:
        self._faults = faults
        self._effect = effect
        self._match = Match.of(where)
        self._probability = where.get("probability", 1.0)
        self._times = where.get("times")
        self._skip = where.get("skip", 0)
        #: How many requests it befell.
        self.hits = 0

    def befall(self, request: ApiRequest, plan: Plan, rand: Callable[[], float]) -> None:
        if not self._match.fits(request) or (self._times is not None and self.hits >= self._times):
            return
        if self._skip > 0:
            self._skip -= 1
        elif self._probability >= 1 or rand() < self._probability:
            self.hits += 1
            self._effect(plan)

    def remove(self) -> None:
        self._faults.remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


class OpenWatch(Protocol):
    """A watch that is open now, as the faults see it. Callable from any thread."""

    request: ApiRequest

    def end(self, error: Exception | None = None) -> None: ...

    def silence(self) -> None: ...

    def say(self, line: bytes) -> None: ...

    def wake(self) -> None:
        """Holds or lags have changed."""


class Faults:
    """The faults in force. All of it may be called from any thread."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        # Replaced, never changed: requests read it in the cluster's thread.
        self._faults: tuple[Fault, ...] = ()
        self._watches: tuple[OpenWatch, ...] = ()
        self._holds: tuple[Match, ...] = ()
        self._lags: tuple[tuple[Match, float], ...] = ()

    # requests

    def refuse(
        self,
        code: int,
        *,
        reason: str = "",
        message: str = "",
        retry_after_s: int | None = None,
        **where: Unpack[Where],
    ) -> Fault:
        """Have requests answered with this code, before the server sees them."""
        reason = reason or _REASONS.get(code, "")
        message = message or f"injected: {HTTPStatus(code).phrase}"
        headers = () if retry_after_s is None else ((b"retry-after", b"%d" % retry_after_s),)

        def effect(plan: Plan) -> None:
            plan.refusal = StatusError(code, reason, message, headers=headers)

        return self._add(effect, where)

    def delay(self, seconds: float | tuple[float, float], **where: Unpack[Where]) -> Fault:
        """Have answers come late: by so much, or by something between two bounds."""
        least, most = seconds if isinstance(seconds, tuple) else (seconds, seconds)

        def effect(plan: Plan) -> None:
            plan.delay_s += self._random.uniform(least, most)

        return self._add(effect, where)

    def lose_requests(self, **where: Unpack[Where]) -> Fault:
        """Have no connection: the server never sees the request, and the caller knows at once."""

        def effect(plan: Plan) -> None:
            plan.lost = True

        return self._add(effect, where)

    def lose_answers(self, **where: Unpack[Where]) -> Fault:
        """Have the connection break after the server has acted."""

        def effect(plan: Plan) -> None:
            plan.answer_lost = True

        return self._add(effect, where)

    def hang(self, **where: Unpack[Where]) -> Fault:
        """Have half-closed connections: the server acts, no answer comes, the caller's time limit decides."""

        def effect(plan: Plan) -> None:
            plan.hangs = True

        return self._add(effect, where)

    def call(self, function: Callable[[], object], **where: Unpack[Where]) -> Fault:
        """Have a function called when such a request is sent, in the cluster's loop."""

        def effect(plan: Plan) -> None:
            function()

        return self._add(effect, where)

    def clear(self) -> None:
        """Have nothing go wrong any more. Watches that are silent stay so."""
        self._faults, self._holds, self._lags = (), (), ()
        self._wake()

    def remove(self, fault: Fault) -> None:
        self._faults = tuple(each for each in self._faults if each is not fault)

    # watches that are open

    def drop_watches(self, resource: Kind | None = None) -> int:
        """Break the connections of open watches; returns how many there were."""
        return self._each(resource, lambda watch: watch.end(Disconnected("injected: connection reset")))

    def end_watches(self, resource: Kind | None = None) -> int:
        """End open watches in order, as a server does that shuts down."""
        return self._each(resource, lambda watch: watch.end())

    def silence_watches(self, resource: Kind | None = None) -> int:
        """Have open watches say nothing any more, not even that they are over."""
        return self._each(resource, lambda watch: watch.silence())

    def expire_watches(self, resource: Kind | None = None) -> int:
        """Tell open watches that their revision is too old (410)."""
        line = (
            b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
            b'"message":"too old resource version: 1 (2)","reason":"Expired","code":410}}'
        )
        return self._each(resource, lambda watch: watch.say(line))

    @contextmanager
    def hold_watches(self, resource: Kind | None = None) -> Iterator[None]:
        """Hold back the events of watches, present and future; they come when the context is left."""
        hold = Match.of({"resource": resource})
        self._holds = (*self._holds, hold)
        try:
            yield
        finally:
            self._holds = tuple(each for each in self._holds if each is not hold)
            self._wake()

    @contextmanager
    def lag_watches(self, seconds: float, resource: Kind | None = None) -> Iterator[None]:
        """Have every event of watches, present and future, come so much later."""
        lag = (Match.of({"resource": resource}), seconds)
        self._lags = (*self._lags, lag)
        try:
            yield
        finally:
            self._lags = tuple(each for each in self._lags if each is not lag)
            self._wake()

    # for the transport, in the cluster's loop

    def plan(self, request: ApiRequest) -> Plan:
        plan = Plan()
        for fault in self._faults:
            fault.befall(request, plan, self._random.random)
        return plan

    def holds(self, request: ApiRequest) -> bool:
        return any(hold.fits(request) for hold in self._holds)

    def lag_s(self, request: ApiRequest) -> float:
        return sum(seconds for match, seconds in self._lags if match.fits(request))

    def opened(self, watch: OpenWatch) -> None:
        self._watches = (*self._watches, watch)

    def closed(self, watch: OpenWatch) -> None:
        self._watches = tuple(each for each in self._watches if each is not watch)

    def _add(self, effect: Effect, where: Where) -> Fault:
        fault = Fault(self, effect, where)
        self._faults = (*self._faults, fault)
        return fault

    def _each(self, resource: Kind | None, act: Callable[[OpenWatch], None]) -> int:
        match = Match.of({"resource": resource})
        watches = [watch for watch in self._watches if match.fits(watch.request)]
        for watch in watches:
            act(watch)
        return len(watches)

    def _wake(self) -> None:
        for watch in self._watches:
            watch.wake()
