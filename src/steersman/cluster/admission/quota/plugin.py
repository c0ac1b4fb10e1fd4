"""The ResourceQuota plugin: the last validating plugin, since it charges usage.

`validate` charges the quotas of the namespace and leaves a charge in `attributes.pending`: the caller must
settle it when the write has ended. Deletes give nothing back by themselves: after them, and after its quotas
changed, a namespace must be recalculated.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Final

from steersman.aio import Scope
from steersman.cluster.admission.chain import Attributes, Reader
from steersman.cluster.admission.quota.charges import QuotaCharges, UpdateStatus
from steersman.cluster.admission.quota.checking import LimitedResource
from steersman.cluster.admission.quota.evaluators import evaluator_for

__all__ = ["ResourceQuota"]

#: Questions and notes, which no quota counts.
_IGNORED: Final = frozenset(
    {
        ("", "bindings"), ("", "componentstatuses"), ("", "events"), ("events.k8s.io", "events"),
        ("", "namespaces"),
        ("authentication.k8s.io", "tokenreviews"), ("authentication.k8s.io", "selfsubjectreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
    }
)  # fmt: skip
#: Parts of objects that cost something.
_COSTLY_PARTS: Final = frozenset({("pods", "resize"), ("persistentvolumeclaims", "status")})


class ResourceQuota:
    name = "ResourceQuota"

    def __init__(
        self,
        reader: Reader,
        update_status: UpdateStatus,
        scope: Scope,
        limited: Sequence[LimitedResource] = (),
    ) -> None:
        self._reader = reader
        self._limited = limited
        self._ledger = QuotaCharges(reader, update_status, scope, limited)

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        if (group, plural) in _IGNORED:
            return False
        if subresource:
            return operation == "UPDATE" and not group and (plural, subresource) in _COSTLY_PARTS
        if operation == "UPDATE":
            return evaluator_for(group, plural).updates
        return operation == "CREATE"

    def admit(self, attributes: Attributes) -> None:
        return None

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        namespace = attributes.namespace
        if not namespace:
            return None
        if not self._limited and not self._reader.list("", "resourcequotas", namespace):
            return None
        if not evaluator_for(attributes.group, attributes.plural).concerns(attributes):
            return None
        return self._charge(attributes)

    async def _charge(self, attributes: Attributes) -> None:
        charge = await self._ledger.charge(attributes)
        if charge is not None:
            attributes.pending = (*attributes.pending, charge)

    async def recount(self, namespace: str) -> None:
        """Make the quotas of a namespace show what it really uses."""
        if self._reader.list("", "resourcequotas", namespace):
            await self._ledger.recount(namespace)
