"""`Auditor`: the audit log as the API server uses it.

    event = auditor.begin(request, user, action)      # None: the policy does not want it
    if event: event.authorized(True, reason) … event.complete(response)

Owns the policy and what it said about requests like this one (0.5 µs where it says None).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from steersman.cluster.apiserver.audit.errors import PolicyInvalid
from steersman.cluster.apiserver.audit.event import AuditEvent, Facts, audit_id
from steersman.cluster.apiserver.audit.policy import (
    DEFAULT_POLICY,
    LEVELS,
    NONE,
    AuditDecision,
    Policy,
    check,
)
from steersman.cluster.apiserver.audit.rotation import STANDARD_ROTATION, Rotation
from steersman.cluster.apiserver.audit.writing import STANDARD_OUTPUT, Writer, open_log
from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.users import User
from steersman.cluster.codec.configuration import read_file
from steersman.http import Request

__all__ = ["Auditor", "load_policy"]

#: Answers of the policy that are remembered.
_REMEMBERED = 8192

Metrics = dict[str, dict[tuple[tuple[str, str], ...], float]]


def load_policy(file: Path) -> Policy:
    """Raises PolicyInvalid with the first thing that is wrong."""
    try:
        obj = read_file(file)
    except ValueError as error:
        raise PolicyInvalid(str(file), str(error)) from None
    problem = next(check(obj), None)
    if problem is not None:
        raise PolicyInvalid(str(file), str(problem))
    return Policy(obj)


class Auditor:
    def __init__(self, policy: Policy, writer: Writer, now: Callable[[], float] = time.time) -> None:
        self._policy = policy
        self._writer = writer
        self._now = now
        #: How many fields of an action the policy looks at: with or without the object's name.
        self._seen_fields = 7 if policy.by_name else 6
        self._verdicts: dict[tuple[object, ...], AuditDecision] = {}
        #: Requests by level, and the stages of them that were handed over.
        self._levels = [0] * len(LEVELS)

    @classmethod
    def open(
        cls, policy_file: Path | None, log_path: str = STANDARD_OUTPUT, rotation: Rotation = STANDARD_ROTATION
    ) -> Auditor:
        """Start auditing; without a file by the default policy. Raises PolicyInvalid, LogUnusable."""
        policy = Policy(DEFAULT_POLICY) if policy_file is None else load_policy(policy_file)
        return cls(policy, Writer(open_log(log_path, rotation)))

    async def close(self) -> None:
        """Everything noted is in the log when this returns."""
        await asyncio.to_thread(self._writer.close)

    def begin(self, request: Request, user: User | None, action: Action) -> AuditEvent | None:
        """A request has come from `user` (as authenticated, not as impersonated). None: not to be logged."""
        if user is None:
            key: tuple[object, ...] = (action[: self._seen_fields], action.path)
        else:
            key = (user.name, tuple(user.groups), action[: self._seen_fields], action.path)
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = self._evaluate(key, user, action)
        self._levels[verdict.level] += 1
        if verdict.level == NONE:
            return None
        now = self._now
        return AuditEvent(
            Facts(audit_id(request), verdict, request, user, action, now()), self._writer.put, now
        )

    def refuse(self, request: Request, action: Action) -> AuditEvent | None:
        """A request that could not be authenticated: one event, which says what was tried."""
        event = self.begin(request, None, action)
        if event is not None:
            event.unauthenticated(_attempted(request))
        return event

    def _evaluate(self, key: tuple[object, ...], user: User | None, action: Action) -> AuditDecision:
        if len(self._verdicts) >= _REMEMBERED:
            self._verdicts.clear()
        verdict = self._verdicts[key] = self._policy.evaluate(user, action)
        return verdict

    def metrics(self) -> Metrics:
        """Counters under Kubernetes' names."""
        writer = self._writer
        return {
            "apiserver_audit_event_total": {(): writer.written},
            "apiserver_audit_error_total": {
                (("plugin", "buffered"),): writer.dropped,
                (("plugin", "log"),): writer.failed,
            },
            "apiserver_audit_level_total": {
                (("level", name),): count for name, count in zip(LEVELS, self._levels, strict=True)
            },
            "apiserver_audit_requests_rejected_total": {(): 0},
        }


def _attempted(request: Request) -> str:
    """Which credentials a request came with."""
    scheme, _, credentials = (request.headers.get("authorization") or "").strip().partition(" ")
    methods = [scheme.lower()] if credentials and scheme.lower() in ("basic", "bearer") else []
    if "access_token=" in request.query_string:
        methods.append("access_token")
    if request.connection.peer_certificate:
        methods.append("x509")
    if not methods:
        return "Authentication failed, no credentials provided"
    return f"Authentication failed, attempted: {', '.join(methods)}"
