"""The audit log: who did what, as a policy file asks, one JSON line per stage of a request.

On the request path a policy's answer is remembered and what it wants is noted by reference; lines are made
and written by a thread (`writing`). When that cannot keep up, lines are dropped and counted: auditing never
makes a request wait or fail. Tokens are never written, whatever the policy says (`redaction`).
"""

from __future__ import annotations

from steersman.cluster.apiserver.audit.auditor import Auditor
from steersman.cluster.apiserver.audit.errors import AuditError, LogUnusable, PolicyInvalid
from steersman.cluster.apiserver.audit.event import AuditEvent, audit_id
from steersman.cluster.apiserver.audit.rotation import Rotation

__all__ = ["AuditError", "AuditEvent", "Auditor", "LogUnusable", "PolicyInvalid", "Rotation", "audit_id"]
