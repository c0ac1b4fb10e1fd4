"""One audit event: what is known of a request at each stage, handed to the writer.

Nothing here decodes or encodes; `rendering` does, on the writer's thread. So a snapshot refers only to what
does not change any more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from steersman.cluster.apiserver.audit.policy import METADATA, REQUEST, REQUEST_RESPONSE, Verdict
from steersman.cluster.apiserver.resources.system_fields import new_uid
from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.users import User
from steersman.http import Content, Joined, Request, Response

__all__ = ["AuditEvent", "Facts", "Outcome", "Snapshot", "audit_id"]

_HEADER = b"Audit-ID"
#: Annotations that quote what webhooks changed.
_CONTENT = "patch.webhook.admission.k8s.io/"


def audit_id(request: Request) -> str:
    """The id of a request's events: the client's, if it came with one."""
    return request.headers.get("audit-id") or new_uid()


class Facts(NamedTuple):
    """What is true of a request from its arrival on."""

    id: str
    verdict: Verdict
    request: Request
    #: None when it could not be authenticated.
    user: User | None
    action: Action
    #: Seconds since the epoch.
    received: float


class Outcome(NamedTuple):
    """How a request was answered."""

    code: int
    #: Of the Status, when there is no body that says it.
    status: str = ""
    reason: str = ""
    message: str = ""
    #: A body that is wanted in the log, or is a Status.
    body: Content = b""
    yaml: bool = False


class Snapshot(NamedTuple):
    """One line of the log, not yet written."""

    facts: Facts
    stage: str
    at: float
    outcome: Outcome | None
    impersonated: User | None
    annotations: dict[str, str] | None

    @property
    def size(self) -> int:
        """Bytes it keeps in memory."""
        body = self.outcome.body if self.outcome is not None else b""
        if isinstance(body, Joined):
            length = body.size
        else:
            length = len(body) if isinstance(body, bytes) else sum(map(len, body))
        return 1024 + length + len(self.facts.request.content)


class AuditEvent:
    """A request that is audited. Every method is cheap and none fails."""

    __slots__ = ("_annotations", "_facts", "_impersonated", "_now", "_put")

    def __init__(self, facts: Facts, put: Callable[[Snapshot], None], now: Callable[[], float]) -> None:
        self._facts = facts
        self._put = put
        self._now = now
        self._impersonated: User | None = None
        self._annotations: dict[str, str] | None = None
        self._stage("RequestReceived", None, facts.received)

    @property
    def id(self) -> str:
        return self._facts.id

    @property
    def header(self) -> tuple[bytes, bytes]:
        """For the response."""
        return (_HEADER, self._facts.id.encode("latin-1", "replace"))

    def impersonate(self, user: User) -> None:
        """The request's user impersonates another one."""
        self._impersonated = user

    def annotate(self, key: str, value: str) -> None:
        """Note what authorization or admission has to say; the first word on a key counts."""
        if self._annotations is None:
            self._annotations = {}
        self._annotations.setdefault(key, value)

    def note(self, annotations: Mapping[str, str]) -> None:
        """What admission has to say; with the request's content only where that is logged too."""
        for key, value in annotations.items():
            if self._facts.verdict.level >= REQUEST or not key.startswith(_CONTENT):
                self.annotate(key, value)

    def authorized(self, allowed: bool, reason: str = "") -> None:
        self.annotate("authorization.k8s.io/decision", "allow" if allowed else "forbid")
        self.annotate("authorization.k8s.io/reason", reason)

    def started(self, code: int = 200) -> None:
        """A long answer (a watch, an upgraded connection) has begun."""
        self._stage("ResponseStarted", Outcome(code))

    def complete(self, response: Response | None = None, *, code: int = 200) -> None:
        """The answer is given; `code` is for one that was streamed."""
        outcome = Outcome(code) if response is None else _outcome(response, self._facts)
        self._stage("ResponseComplete", outcome)

    def panic(self, error: BaseException) -> None:
        """The request ended in a fault of the server."""
        text = f"APIServer panic'd: {error}"
        self._stage("Panic", Outcome(500, "Failure", "InternalError", text))

    def unauthenticated(self, attempted: str) -> None:
        """The request had no user to go on with."""
        self._stage("ResponseStarted", Outcome(401, message=attempted))

    def _stage(self, stage: str, outcome: Outcome | None, at: float | None = None) -> None:
        facts = self._facts
        if stage in facts.verdict.omit_stages:
            return
        noted = None if self._annotations is None else dict(self._annotations)
        when = self._now() if at is None else at
        self._put(Snapshot(facts, stage, when, outcome, self._impersonated, noted))


def _outcome(response: Response, facts: Facts) -> Outcome:
    body = response.body
    wanted = facts.verdict.level >= REQUEST_RESPONSE and not facts.action.path
    if not wanted and facts.verdict.level >= METADATA:
        # A Status gives the reason; kind is first in everything this server writes.
        wanted = isinstance(body, bytes) and (response.status >= 400 or b'"Status"' in body[:24])
    if not wanted:
        return Outcome(response.status)
    yaml = any(name == b"Content-Type" and value == b"application/yaml" for name, value in response.headers)
    return Outcome(response.status, body=body, yaml=yaml)
