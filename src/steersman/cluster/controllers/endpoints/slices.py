"""Packing endpoints into EndpointSlices (at most 100 each) with as few writes as possible. Pure.

Endpoints stay in the slice they are in. Slices that lose or change some are written anyway, so they take new
ones first; what is left goes into one unchanged slice if it fits there, else into new slices. A slice that
would be deleted becomes the one that would be created.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from steersman.objects.kinds.types.core_v1 import ObjectReference
from steersman.objects.kinds.types.discovery_v1 import Endpoint, EndpointSlice
from steersman.objects.kinds.types.meta_v1 import ObjectMeta

__all__ = [
    "MANAGED_BY",
    "SERVICE_NAME",
    "EndpointsByIdentity",
    "Group",
    "SlicePlan",
    "endpoint_identity",
    "pack",
    "port_key",
    "recycled",
]

#: Endpoints by identity.
EndpointsByIdentity = dict[tuple[Any, ...], Endpoint]

SERVICE_NAME: Final = "kubernetes.io/service-name"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"


@dataclass(slots=True)
class SlicePlan:
    """The slices to create, update and delete."""

    create: list[EndpointSlice] = field(default_factory=list)
    update: list[EndpointSlice] = field(default_factory=list)
    delete: list[EndpointSlice] = field(default_factory=list)

    def add(self, other: SlicePlan) -> None:
        self.create += other.create
        self.update += other.update
        self.delete += other.delete


@dataclass(frozen=True, slots=True)
class Group:
    """The address type and ports that the slices of a Service share."""

    #: A slice without endpoints, ready to be created.
    template: EndpointSlice
    most: int
    #: Whether a slice has the metadata it should have.
    fits: Callable[[EndpointSlice], bool]


def endpoint_identity(endpoint: Mapping[str, Any]) -> tuple[Any, ...]:
    """What makes two endpoints the same one, perhaps in another state."""
    target = endpoint.get("targetRef") or {}
    return (
        tuple(sorted(endpoint["addresses"])),
        endpoint.get("hostname") or "",
        target.get("namespace") or "",
        target.get("name") or "",
    )


def port_key(ports: Iterable[Mapping[str, Any]] | None) -> frozenset[tuple[Any, ...]]:
    """Ports for comparing, whatever their order."""
    names = ("name", "protocol", "port", "appProtocol")
    return frozenset(tuple(port.get(name) for name in names) for port in ports or ())


def pack(existing: Sequence[EndpointSlice], desired: EndpointsByIdentity, group: Group) -> SlicePlan:
    """The changes after which the slices of a group hold exactly the desired endpoints."""
    missing = dict(desired)
    plan = SlicePlan()
    unchanged: list[EndpointSlice] = []
    for present in existing:
        endpoints = present.get("endpoints") or []
        kept = [missing.pop(key) for one in endpoints if (key := endpoint_identity(one)) in missing]
        if kept == [_comparable(one) for one in endpoints]:
            (unchanged if group.fits(present) else plan.update).append(_renewed(present, kept, group))
        elif kept:
            plan.update.append(_renewed(present, kept, group))
        else:
            plan.delete.append(present)
    plan.update.sort(key=lambda one: -len(one["endpoints"]))
    _fill(plan.update, missing, group.most)
    if missing and (roomiest := _room_for(len(missing), unchanged, group.most)) is not None:
        plan.update.append(roomiest)
        _fill([roomiest], missing, group.most)
    while missing:
        new: EndpointSlice = {**group.template, "endpoints": []}
        plan.create.append(new)
        _fill([new], missing, group.most)
    return plan


def _comparable(endpoint: Endpoint) -> Endpoint:
    """An endpoint without the version of its pod, which tells nothing."""
    target = endpoint.get("targetRef")
    if target is None or "resourceVersion" not in target:
        return endpoint
    unversioned: ObjectReference = {**target}
    del unversioned["resourceVersion"]
    return {**endpoint, "targetRef": unversioned}


def _renewed(present: EndpointSlice, endpoints: list[Endpoint], group: Group) -> EndpointSlice:
    wanted = group.template["metadata"]
    metadata: ObjectMeta = {
        **present["metadata"],
        "labels": wanted["labels"],
        "ownerReferences": wanted["ownerReferences"],
    }
    return {**present, "metadata": metadata, "endpoints": endpoints}


def _fill(slices: Iterable[EndpointSlice], missing: EndpointsByIdentity, most: int) -> None:
    for one in slices:
        endpoints: list[Endpoint] = one["endpoints"]
        while missing and len(endpoints) < most:
            endpoints.append(missing.pop(next(iter(missing))))


def _room_for(count: int, slices: Iterable[EndpointSlice], most: int) -> EndpointSlice | None:
    """The slice that will be fullest with so many endpoints more."""
    fitting = [one for one in slices if len(one["endpoints"]) + count <= most]
    return max(fitting, key=lambda one: len(one["endpoints"]), default=None)


def recycled(plan: SlicePlan, may_reuse: Callable[[EndpointSlice], bool]) -> SlicePlan:
    """The plan with slices written over instead of some deleted and others created."""
    create, update, delete = list(plan.create), list(plan.update), []
    for doomed in plan.delete:
        fitting = [new for new in create if new["addressType"] == doomed["addressType"]]
        if not fitting or not may_reuse(doomed):
            delete.append(doomed)
            continue
        new = fitting[-1]
        create.remove(new)
        metadata = doomed["metadata"]
        kept: ObjectMeta = {"name": metadata["name"], "resourceVersion": metadata["resourceVersion"]}
        update.append({**new, "metadata": {**new["metadata"], **kept}})
    return SlicePlan(create, update, delete)
