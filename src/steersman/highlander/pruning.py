"""Taking away what left the configuration: objects of the tenant that no workload needs any more.

Only what carries our label and the tenant's is looked at, and only what nothing else owns: the pods of a
Deployment go with it. Claims stay: they hold data.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

from steersman.client import ClientError, Conflict
from steersman.highlander.live import LiveObjects
from steersman.highlander.workloads.objects import Part
from steersman.highlander.workloads.ownership import key_of
from steersman.objects.kinds import Object
from steersman.objects.lifetime import is_deleting
from steersman.objects.ownership import controlling_reference
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import CRON_JOBS, DEPLOYMENTS, PODS, SERVICES, STATEFUL_SETS
from steersman.runtime import Key, Writes

__all__ = ["leftovers", "prune"]

_log = logging.getLogger(__name__)


_PRUNED = (PODS, CRON_JOBS, DEPLOYMENTS, STATEFUL_SETS, SERVICES)


def leftovers(live: LiveObjects, tenant: str, wanted: Collection[Part]) -> list[tuple[ResourceType, Object]]:
    """What is there and not wanted."""
    kept = {(part.resource, Key.of(part.object)) for part in wanted}
    return [
        (resource, obj)
        for resource in _PRUNED
        for obj in live.of_tenant(resource, tenant)
        if (resource, Key.of(obj)) not in kept and _is_ours(obj)
    ]


async def prune(
    writes: Writes, live: LiveObjects, tenant: str, wanted: Callable[[], Collection[Part]]
) -> int:
    """Delete what is not wanted; how many objects that were. One that cannot be deleted holds up no other."""
    found = leftovers(live, tenant, wanted())
    problem: ClientError | None = None
    for resource, obj in found:
        if not is_deleting(obj):
            try:
                await writes.delete(resource, Key.of(obj), obj["metadata"]["uid"])
            except Conflict:
                continue
            except ClientError as error:
                _log.warning("%s %s: %s", resource.kind, Key.of(obj), error)
                problem = error
    if problem is not None:
        raise problem
    return len(found)


def _is_ours(obj: Object) -> bool:
    metadata = obj["metadata"]
    key = key_of(metadata.get("namespace") or "", metadata.get("labels") or {})
    return controlling_reference(obj) is None and key is not None
