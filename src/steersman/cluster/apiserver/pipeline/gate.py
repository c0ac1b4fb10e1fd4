"""Letting a request in, in Kubernetes' order: audit, impersonation, priority and fairness, authorization.

`Gate.enter` returns an `InFlightRequest`, at once if a seat is free, else after the request waited in its
queue. The server calls its `leave` with the answer, once: that frees the seat and closes the audit record.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from functools import lru_cache

from steersman.cluster.apiserver.audit import AuditEvent, Auditor
from steersman.cluster.apiserver.fairness import Fairness, RequestDigest, Ticket
from steersman.cluster.apiserver.pipeline.access import Access
from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.users import User
from steersman.http import Request, Response
from steersman.objects.status import StatusError

__all__ = ["Gate", "InFlightRequest"]

Headers = tuple[tuple[bytes, bytes], ...]


class InFlightRequest:
    """A request that was let in: its user, its seat in priority and fairness, its audit record."""

    __slots__ = ("_event", "_fault", "_ticket", "code", "user")

    def __init__(self, user: User, ticket: Ticket, event: AuditEvent | None) -> None:
        self.user = user
        self._ticket = ticket
        self._event = event
        self._fault: Exception | None = None
        #: Of an answer that is a stream.
        self.code = 200

    @property
    def headers(self) -> Sequence[tuple[bytes, bytes]]:
        """Response headers about priority and fairness, and the audit ID."""
        if self._event is None:
            return self._ticket.headers
        return (*self._ticket.headers, self._event.header)

    def note(self, annotations: Mapping[str, str]) -> None:
        """Admission's remarks for the audit log."""
        if self._event is not None:
            self._event.note(annotations)

    def fail(self, fault: Exception) -> None:
        """The answer, still to come, is about a fault of the server."""
        self._fault = fault

    def started(self, code: int = 200) -> None:
        """A stream is open and has its first state: it holds no seat any more."""
        self.code = code
        self._ticket.done()
        if self._event is not None:
            self._event.started(code)

    def leave(self, response: Response | None) -> None:
        """The answer is there (None: it was a stream, which has ended)."""
        self._ticket.done()
        if response is not None:
            response.headers = _joined(tuple(response.headers), tuple(self.headers))
        if self._event is None:
            return
        if self._fault is not None:
            self._event.panic(self._fault)
        else:
            self._event.complete(response, code=self.code)


class Gate:
    def __init__(self, access: Access, fairness: Fairness, auditor: Auditor | None) -> None:
        self._access = access
        self._fairness = fairness
        self._auditor = auditor

    def refuse(self, request: Request, action: Action) -> None:
        """Record a request whose credentials are wrong."""
        if self._auditor is not None:
            self._auditor.refuse(request, action)

    def enter(
        self, request: Request, user: User, action: Action, query: Mapping[str, list[str]]
    ) -> InFlightRequest | Awaitable[InFlightRequest]:
        """Raises 400, 403 and 429."""
        event = self._auditor.begin(request, user, action) if self._auditor is not None else None
        try:
            acting = self._acting(request, user, action)
            if event is not None and acting is not user:
                event.impersonate(acting)
            ticket = self._fairness.admit(RequestDigest(acting, action, query))
        except StatusError as error:
            _close(event, error)
            raise
        if isinstance(ticket, Ticket):
            return self._authorized(acting, action, ticket, event)
        return self._in_turn(ticket, acting, action, event)

    async def _in_turn(
        self, waiting: Awaitable[Ticket], user: User, action: Action, event: AuditEvent | None
    ) -> InFlightRequest:
        try:
            ticket = await waiting
        except StatusError as error:
            _close(event, error)
            raise
        return self._authorized(user, action, ticket, event)

    def _acting(self, request: Request, user: User, action: Action) -> User:
        """The user the request is made as."""
        for name, _ in request.headers.raw:
            if name[:12] == b"impersonate-":
                return self._access.acting(user, request.headers, action)
        return user

    def _authorized(
        self, user: User, action: Action, ticket: Ticket, event: AuditEvent | None
    ) -> InFlightRequest:
        try:
            self._access.authorize(user, action)
        except StatusError as error:
            ticket.done()
            if event is not None:
                event.authorized(False, error.message)
            _close(event, error)
            raise
        if event is not None:
            event.authorized(True, "")
        return InFlightRequest(user, ticket, event)


@lru_cache(maxsize=1024)
def _joined(first: Headers, second: Headers) -> Headers:
    """The same object for the same fields, so that the HTTP server finds them encoded already."""
    return first + second


def _close(event: AuditEvent | None, error: StatusError) -> None:
    if event is not None:
        event.complete(None, code=error.code)
