"""A member's Lease as an object of the API, and back.

The claim is in annotations; the fields of the spec are what people and `kubectl get leases` look at.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from steersman.objects.resources import LEASES
from steersman.runtime.sharding.core import Record

__all__ = ["GROUP", "emptied", "object_of", "record_of"]

#: The label that all Leases of a group have.
GROUP = "steersman.dev/shard-group"
_MEMBERS = "steersman.dev/shard-members"
_GENERATION = "steersman.dev/shard-generation"


def record_of(obj: Mapping[str, Any]) -> Record:
    metadata = obj["metadata"]
    annotations = metadata.get("annotations") or {}
    members = annotations.get(_MEMBERS, "")
    number = annotations.get(_GENERATION, "0")
    return Record(
        metadata["name"],
        frozenset(members.split(",")) if members else frozenset(),
        int(number) if number.isdecimal() else 0,
        metadata["resourceVersion"],
        obj,
    )


def object_of(
    record: Record, *, group: str, namespace: str, holder: str, duration_s: float, now: str
) -> dict[str, Any]:
    """The object to store: what it was read from, with our fields as they shall be."""
    base = record.object or {}
    known = base.get("metadata") or {}
    metadata = {
        **known,
        "name": record.member,
        "namespace": namespace,
        "labels": {**(known.get("labels") or {}), GROUP: group},
        "annotations": {
            **(known.get("annotations") or {}),
            _MEMBERS: ",".join(sorted(record.claim)),
            _GENERATION: str(record.generation),
        },
    }
    if record.version:
        metadata["resourceVersion"] = record.version
    spec = base.get("spec") or {}
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": metadata,
        "spec": {
            "acquireTime": now,
            **spec,
            "holderIdentity": holder,
            "leaseDurationSeconds": ceil(duration_s),
            "renewTime": now,
        },
    }


def emptied(obj: Mapping[str, Any]) -> dict[str, Any]:
    """The same Lease, of the same version, without a claim."""
    metadata = obj["metadata"]
    annotations = {**(metadata.get("annotations") or {}), _MEMBERS: ""}
    return {**obj, "metadata": {**metadata, "annotations": annotations}}
