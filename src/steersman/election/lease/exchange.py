"""Sends the requests that a core makes about its Lease, and wakes the core when it wants to be.

The core decides; here are the requests with their deadlines, and the timer of its next Tick. Every deadline
is of the caller's clock, so an API server that hangs is noticed before the Lease expires for others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from steersman.aio import Clock, Scope
from steersman.client import AlreadyExists, Client, ClientError, Conflict, NotFound
from steersman.election.lease.requests import (
    Found,
    Read,
    Refused,
    Tick,
    Unanswered,
    Versioned,
    Write,
    Written,
)
from steersman.objects.kinds import Object
from steersman.objects.resources import LEASES

__all__ = ["Exchange", "ask"]

L = TypeVar("L", bound=Versioned)


async def ask(
    client: Client,
    command: Read | Write[L],
    name: str,
    namespace: str,
    *,
    lease_of: Callable[[Object], L],
    object_of: Callable[[L], Object],
    on_error: Callable[[ClientError], None],
) -> Found[L] | Written[L] | Refused | Unanswered:
    """The answer to one request about the Lease `name`; what is no answer goes to `on_error`."""
    number = command.request
    try:
        if isinstance(command, Read):
            found = await client.find(LEASES, name, namespace)
            return Found(number, None if found is None else lease_of(found))
        write = client.replace if command.lease.version else client.create
        return Written(
            number, lease_of(await write(object_of(command.lease), kind=LEASES, namespace=namespace))
        )
    except (Conflict, AlreadyExists):
        return Refused(number)
    except ClientError as error:
        if isinstance(error, NotFound) and isinstance(command, Write) and command.lease.version:
            # The Lease is gone; without a version it would be the namespace.
            return Refused(number)
        on_error(error)
        return Unanswered(number)


class Exchange(Generic[L]):
    """The request under way and the timer of a core, as tasks of a scope."""

    def __init__(
        self,
        name: str,
        scope: Scope,
        clock: Clock,
        answer: Callable[[Read | Write[L]], Awaitable[Found[L] | Written[L] | Refused | Unanswered]],
        report: Callable[[Found[L] | Written[L] | Refused | Unanswered | Tick], None],
        on_late: Callable[[], None],
    ) -> None:
        """`report` gets answers and Ticks; `on_late` is called when a request has had no answer in time."""
        self._name = name
        self._scope = scope
        self._clock = clock
        self._answer = answer
        self._report = report
        self._on_late = on_late
        self._timer: asyncio.Task[None] | None = None
        self._request: asyncio.Task[None] | None = None
        self._number = 0
        self._due = 0.0

    def send(self, command: Read | Write[L]) -> None:
        self.drop()
        self._number = command.request
        self._due = self._clock.monotonic() + command.timeout_s
        self._request = self._scope.start(self._ask(command), name=f"{self._name} request")

    def drop(self) -> None:
        """Give up the request that is under way."""
        if self._request is not None:
            self._request.cancel()
            self._request = None

    def wake_at(self, due: float | None) -> None:
        """Report a Tick at `due`, or when the request under way is late."""
        if self._request is not None:
            due = self._due if due is None else min(due, self._due)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None:
            self._timer = self._scope.start(self._wait(due), name=f"{self._name} timer")

    async def _ask(self, command: Read | Write[L]) -> None:
        answer = await self._answer(command)
        self._request = None
        self._report(answer)

    async def _wait(self, due: float) -> None:
        await self._clock.sleep(max(0.0, due - self._clock.monotonic()))
        self._timer = None
        if self._request is not None and self._clock.monotonic() >= self._due:
            self.drop()
            self._on_late()
            self._report(Unanswered(self._number))
        self._report(Tick())
