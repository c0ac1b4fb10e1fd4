"""Leading by a lock that a store with a clock of its own keeps: the contender's side of it.

`LockStore` is what a store must do, each in one atomic operation on the store's clock. `LockElector`
contends: it looks at the lock, takes it when it is free, renews it while the work runs and gives it up when
the work has ended. It knows nothing of the store behind it.

| state     | happens                            | next      |                                              |
|-----------|------------------------------------|-----------|----------------------------------------------|
| following | the lock is held by another        |           | look again: after 2–4.4 s or when it expires |
|           | `hurry`                            |           | look now, and every 0.2 s for 2 s            |
|           | the lock is free                   |           | acquire                                      |
|           | acquired                           | leading   | the work begins                              |
| leading   | renewed                            |           | renew again 2 s after this one was sent      |
|           | no answer                          |           | renew again                                  |
|           | refused, or not renewed for 10 s   | lost      | the work is cancelled                        |
|           | the work has ended                 | released  | release; `run` returns                       |
| lost      | the work has ended                 | following | release, should it still be ours             |

Why two processes never lead at once:
* The store lets the lock go 15 s after it *executed* a renewal; the leader counts its 10 s from when it
  *sent* it, on its own monotonic clock. Only the speed of the two clocks matters, and it may differ by half.
* An answer that comes after those 10 s is not believed any more.
* Whoever leads is known to the store by a token made for this one leadership. A request that arrives late, or
  twice, therefore does no harm: it finds the lock in other hands, or does again what it did.
* Terms only grow. Every contender tells the store the highest term it has seen, and the store goes on from
  there; a store that lost its memory does not make the terms start anew while somebody remembers.
"""

from __future__ import annotations

import asyncio
import logging
import random
import uuid
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from steersman.aio import Clock, Scope, SystemClock, wait_for_event
from steersman.election.elector import Leadership, Work, default_identity
from steersman.election.errors import ElectionConfigError
from steersman.election.leading import contend, late_work

__all__ = ["LockElector", "LockSettings", "LockState", "LockStore", "StoreUnavailable"]

_log = logging.getLogger(__name__)

T = TypeVar("T")

_NEVER = float("-inf")
#: How much sooner than usual somebody looks who was told to hurry.
_HURRY = 0.1


@dataclass(frozen=True, slots=True)
class LockSettings:
    """The usual numbers of Kubernetes' own components."""

    duration_s: float = 15.0
    """How long the store keeps a lock that is not renewed."""
    renew_deadline_s: float = 10.0
    """How long a leader leads on without having renewed."""
    retry_period_s: float = 2.0
    """Between two renewals; followers wait up to `jitter` times as long on top of it."""
    jitter: float = 1.2

    def __post_init__(self) -> None:
        if not (self.duration_s > self.renew_deadline_s > self.retry_period_s > 0 and self.jitter >= 0):
            raise ElectionConfigError(
                "a lock needs duration_s > renew_deadline_s > retry_period_s > 0 and jitter >= 0, not "
                f"{self.duration_s:g}, {self.renew_deadline_s:g}, {self.retry_period_s:g} and {self.jitter:g}"
            )

    @property
    def request_timeout_s(self) -> float:
        """Two requests that hang fit into the time a leader has to renew."""
        return (self.renew_deadline_s - self.retry_period_s) / 2


@dataclass(frozen=True, slots=True)
class LockState:
    """The lock as the store has it."""

    holder: str = ""
    """Who holds it; a lock that is free keeps the name of the last until it is released."""
    token: str = ""
    """Of the leadership that holds it."""
    term: int = 0
    """The highest ever given out."""
    remaining_s: float = 0.0
    """Until it is free, on the store's clock."""


class StoreUnavailable(Exception):
    """The store did not answer, or not with what was asked; the request may have been executed."""


class LockStore(Protocol):
    """One lock. Anything that goes wrong is StoreUnavailable; a request that is cancelled leaves nothing that
    would disturb the next."""

    async def observe(self) -> LockState: ...

    async def acquire(self, holder: str, token: str, floor: int, duration_s: float) -> LockState:
        """Take the lock if it is free, in a term above `floor` and all before; prolong it if `token` has it
        already. Either way, what is so now. The store's highest term is at least `floor` afterwards."""
        ...

    async def renew(self, token: str, term: int, duration_s: float) -> bool:
        """Prolong the lock if `token` has it and `term` is still the highest; whether it was so."""
        ...

    async def release(self, token: str) -> None:
        """Free the lock if `token` has it."""
        ...

    async def close(self) -> None:
        """End the connection, if there is one. The next request makes a new one."""
        ...


class LockElector:
    """A contender for the lock `name` that `store` keeps."""

    def __init__(
        self,
        store: LockStore,
        name: str,
        *,
        identity: str | None = None,
        settings: LockSettings | None = None,
        clock: Clock | None = None,
        rand: Callable[[], float] = random.random,
    ) -> None:
        """Without an `identity` one is made that no other process has. `rand` yields [0, 1)."""
        self.name = name
        self.identity = identity or default_identity()
        self._store = store
        self._settings = settings or LockSettings()
        self._clock = clock or SystemClock()
        self._rand = rand
        #: The highest term seen by this process, also over several runs.
        self._term = 0
        #: The lock as last seen, and when that was asked for.
        self._seen = LockState()
        self._seen_at = 0.0
        #: Of the leadership this process has or wants; one that has begun is never used again.
        self._token = _new_token()
        #: Whether the store may have given the lock to `_token`.
        self._may_hold = False
        #: Until when this process leads, unless it renews.
        self._leads_until = _NEVER
        self._lost_at: float | None = None
        self._running = False
        self._hurried_until = _NEVER
        self._hurried = asyncio.Event()

    @property
    def is_leader(self) -> bool:
        return self._clock.monotonic() < self._leads_until

    @property
    def leads_for_s(self) -> float:
        """How long this process leads on without another renewal; 0 if it does not lead."""
        return max(0.0, self._leads_until - self._clock.monotonic())

    @property
    def term(self) -> int:
        return self._term

    @property
    def leader(self) -> str:
        """Who leads; empty also if the store has not been heard of for longer than the lock lasts."""
        if self.is_leader:
            return self.identity
        return self._seen.holder if self._clock.monotonic() < self._seen_at + self._seen.remaining_s else ""

    def check(self) -> str:
        return late_work(self._lost_at, self._clock.monotonic(), self._settings.duration_s)

    async def observe(self) -> LockState:
        """Who holds the lock at this moment, asked of the store; raises StoreUnavailable. For observers that
        do not contend."""
        try:
            async with _requests() as scope:
                return await self._ask(scope, self._store.observe())
        finally:
            if not self._running:
                await self._close()

    def hurry(self) -> None:
        """The lock may be free any moment: a follower looks now, and often for a while."""
        now = self._clock.monotonic()
        if now >= self._hurried_until:
            self._hurried.set()
        self._hurried_until = now + self._settings.retry_period_s

    async def run(self, work: Work) -> None:
        """Contend; run `work` whenever elected; return when `work` has returned and the lock is free."""
        if self._running:
            raise RuntimeError("the elector is running already")
        self._running = True
        try:
            async with _requests() as scope:
                await contend(
                    self.name,
                    scope,
                    work,
                    win=partial(self._win, scope),
                    keep=lambda term, worker: [self._keep(scope, term, worker)],
                    stop=partial(self._stop, scope),
                )
        finally:
            self._stop_leading()
            self._lost_at = None
            try:
                await self._leave()
            finally:
                self._running = False

    # following

    async def _win(self, scope: Scope) -> Leadership:
        """Wait until this process is elected."""
        while True:
            try:
                if await self._try(scope):
                    return self._leadership()
            except StoreUnavailable as error:
                _log.warning("election %s: %s", self.name, error)
            # Until it is time to look again, or `hurry` is called.
            await wait_for_event(self._hurried, self._clock, self._pause_s())
            self._hurried.clear()

    async def _try(self, scope: Scope) -> bool:
        """Look, and take the lock if it can be had; whether this process leads now."""
        settings = self._settings
        self._see(await self._ask(scope, self._store.observe()))
        if not self._should_acquire(self._seen):
            return False
        sent_at = self._clock.monotonic()
        self._may_hold = True
        request = self._store.acquire(self.identity, self._token, self._term, settings.duration_s)
        self._see(await self._ask(scope, request))
        self._may_hold = self._seen.token == self._token
        if not self._may_hold or self._clock.monotonic() >= sent_at + settings.renew_deadline_s:
            return False
        self._leads_until = sent_at + settings.renew_deadline_s
        return True

    def _should_acquire(self, lock: LockState) -> bool:
        """Whether the lock is free, or ours by a request whose answer got lost, or needs a correction: its
        terms went back (the store lost data), or its end is too far away (the store's clock went back)."""
        return (
            lock.remaining_s <= 0
            or lock.token == self._token
            or lock.term < self._term
            or lock.remaining_s > self._settings.duration_s
        )

    def _see(self, lock: LockState) -> None:
        if lock.term < self._term:
            _log.error(
                "election %s: the term went back from %d to %d: the store has lost data",
                self.name,
                self._term,
                lock.term,
            )
        self._term = max(self._term, lock.term)
        self._seen = lock
        self._seen_at = self._clock.monotonic()

    def _pause_s(self) -> float:
        settings = self._settings
        if self._clock.monotonic() < self._hurried_until:
            return settings.retry_period_s * _HURRY
        pause_s = settings.retry_period_s * (1 + settings.jitter * self._rand())
        remaining_s = self._seen_at + self._seen.remaining_s - self._clock.monotonic()
        # What expires earlier is looked at when it has, but not by everybody at the same instant.
        return min(pause_s, remaining_s + 0.1 * pause_s) if remaining_s > 0 else pause_s

    def _leadership(self) -> Leadership:
        term = self._term
        _log.info("%s leads %s in term %d", self.identity, self.name, term)
        return Leadership(self.identity, term, lambda: self.is_leader and self._term == term)

    # leading

    async def _stop(self, scope: Scope, keepers: Sequence[asyncio.Task[None]]) -> bool:
        """The work has ended: give the lock up. Whether it was had until now."""
        led = self.is_leader
        self._stop_leading()
        self._lost_at = None
        for keeper in keepers:
            if keeper.done():
                keeper.result()
            keeper.cancel()
        await self._give_up(scope)
        return led

    async def _keep(self, scope: Scope, term: int, worker: asyncio.Task[None]) -> None:
        """Renew until leadership is lost, then cancel the work."""
        try:
            why = await self._renew_until_lost(scope, term)
            _log.warning("%s no longer leads %s: %s", self.identity, self.name, why)
            self._stop_leading()
            self._lost_at = self._clock.monotonic()
        finally:
            worker.cancel()

    async def _renew_until_lost(self, scope: Scope, term: int) -> str:
        """Why leadership is lost."""
        settings, clock = self._settings, self._clock
        sent_at = self._leads_until - settings.renew_deadline_s
        while True:
            due = max(sent_at + settings.retry_period_s, clock.monotonic())
            await clock.sleep(max(0.0, min(due, self._leads_until) - clock.monotonic()))
            if due >= self._leads_until:
                return "the lock could not be renewed in time"
            sent_at = clock.monotonic()
            request = self._store.renew(self._token, term, settings.duration_s)
            try:
                renewed = await self._ask(scope, request, self._leads_until - sent_at)
            except StoreUnavailable as error:
                _log.warning("election %s: %s", self.name, error)
                continue
            if not self.is_leader:
                return "the lock was renewed too late"
            if not renewed:
                return "another holder has the lock, or the store lost it"
            self._leads_until = sent_at + settings.renew_deadline_s

    def _stop_leading(self) -> None:
        self._leads_until = _NEVER
        self._seen = LockState(term=self._term)

    async def _give_up(self, scope: Scope) -> None:
        """Release what may be ours. If that fails the lock expires by itself."""
        token, self._token = self._token, _new_token()
        if not self._may_hold:
            return
        self._may_hold = False
        try:
            await self._ask(scope, self._store.release(token))
        except StoreUnavailable as error:
            _log.warning("election %s: not released: %s", self.name, error)

    async def _leave(self) -> None:
        """After a run, however it ended: no lock is left behind, and no connection."""
        try:
            async with _requests() as scope:
                await self._give_up(scope)
        finally:
            await self._close()

    # asking

    async def _close(self) -> None:
        """To be called when no request is under way, not even one that is being cancelled: it would have its
        connection back in the store's hands after they were closed."""
        async with _requests() as scope:
            with suppress(StoreUnavailable):
                await self._ask(scope, self._store.close())

    async def _ask(self, scope: Scope, request: Coroutine[Any, Any, T], limit_s: float | None = None) -> T:
        """The answer to a request, unless it takes too long."""
        patience_s = self._settings.request_timeout_s
        if limit_s is not None:
            patience_s = min(patience_s, limit_s)
        asking = scope.start(request, name=f"election {self.name} request")
        timer = scope.start(self._clock.sleep(max(0.0, patience_s)), name=f"election {self.name} timer")
        try:
            await asyncio.wait((asking, timer), return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                return asking.result()
            raise StoreUnavailable("no answer in time")
        finally:
            asking.cancel()
            timer.cancel()


def _requests() -> Scope:
    """A scope in which a failure is told to whoever waits for the task, and to nobody else."""
    return Scope(on_error=lambda _: None)


def _new_token() -> str:
    return uuid.uuid4().hex
