"""Status as the operator writes it: only when it differs, never over somebody else's change.

A write carries the resource version it was computed from. When the object has moved on, it is read again
and the difference computed anew, so conditions that others set are kept. That version also is what holds an
earlier leader's late write off; a term (`terms`) can be left only where the status has no subresource.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from steersman.client import Client, Conflict
from steersman.objects.conditions import set_condition
from steersman.objects.kinds import Object
from steersman.objects.patches import merge
from steersman.objects.resource_type import ResourceType
from steersman.operator.terms import with_term
from steersman.runtime import Key, Writes

__all__ = ["NewCondition", "StatusWriter", "with_conditions"]


_TRIES = 5


class NewCondition(NamedTuple):
    """A condition as the operator's author gives it."""

    type: str
    status: str
    reason: str
    message: str = ""


def with_conditions(
    status: Mapping[str, Any], conditions: Iterable[NewCondition], *, generation: int | None, now: str
) -> Object:
    """A status with some of its conditions set; their transition times move only when their status does."""
    current = status.get("conditions")
    for condition in conditions:
        current = set_condition(
            current,
            condition.type,
            condition.status,
            reason=condition.reason,
            message=condition.message,
            observed_generation=generation,
            now=now,
        )
    return dict(status) if current is None else {**status, "conditions": list(current)}


class StatusWriter:
    """Writes the status of objects of one resource. `term` gives that of the present leadership, or 0."""

    def __init__(
        self,
        client: Client,
        resource: ResourceType,
        writes: Writes,
        *,
        subresource: bool,
        term: Callable[[], int] = lambda: 0,
    ) -> None:
        self._client = client
        self._resource = resource
        self._writes = writes
        self._subresource = "status" if subresource else ""
        self._term = term

    async def write(self, obj: Object, change: Callable[[Object], Object]) -> Object:
        """Have the object's status be what `change` makes of it. The object as it then is."""
        for _ in range(_TRIES):
            status = obj.get("status") or {}
            patch = merge.create(status, change(status))
            if not patch:
                return obj
            try:
                return await self._send(obj, patch)
            except Conflict:
                metadata = obj["metadata"]
                obj = await self._client.get(self._resource, metadata["name"], metadata.get("namespace"))
        return await self._send(obj, merge.create(obj.get("status") or {}, change(obj.get("status") or {})))

    async def _send(self, obj: Object, patch: Object) -> Object:
        body = {"metadata": {"resourceVersion": obj["metadata"]["resourceVersion"]}, "status": patch}
        if not self._subresource:
            body = with_term(body, self._term())
        return await self._writes.patch(self._resource, Key.of(obj), body, subresource=self._subresource)
