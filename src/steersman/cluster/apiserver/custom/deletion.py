"""Deletion of a CustomResourceDefinition, which deletes its custom resources first."""

from __future__ import annotations

from steersman.cluster.apiserver.pipeline.call import Api
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.resources.storage_encoding import encode
from steersman.cluster.apiserver.resources.system_fields import timestamp
from steersman.cluster.schema.structural.naming import set_condition
from steersman.cluster.store import Conflict, NotFound
from steersman.objects.kinds import Object

__all__ = ["in_progress", "remove_instances"]


def in_progress(status: Object, now: str) -> Object:
    """The status of a definition whose objects are being deleted."""
    condition = {
        "type": "Terminating",
        "status": "True",
        "reason": "InstanceDeletionInProgress",
        "message": "CustomResource deletion is in progress",
    }
    return set_condition(status, condition, now)


async def remove_instances(api: Api, resource: Resource) -> int:
    """Delete every object, or start its deletion where it has finalizers. How many are left."""
    left = 0
    for record in list(api.store.range(resource.prefix).records):
        obj = resource.read(record.value)
        metadata = obj["metadata"]
        try:
            if not metadata.get("finalizers"):
                await api.store.delete(record.key, expected=record.revision)
                continue
            if "deletionTimestamp" not in metadata:
                metadata["deletionTimestamp"] = timestamp(api.now())
                metadata["deletionGracePeriodSeconds"] = 0
                if metadata.get("generation"):
                    metadata["generation"] += 1
                value = encode(resource.to_stored(obj))
                await api.store.put(record.key, value, expected=record.revision)
        except NotFound:
            continue
        except Conflict:
            pass
        left += 1
    return left
