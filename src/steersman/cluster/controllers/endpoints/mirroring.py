"""The EndpointSlice mirroring controller: copies Endpoints that users write for Services without a selector
into EndpointSlices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, cast

from steersman.cluster.controllers.endpoints.endpointslice import CALM_S
from steersman.cluster.controllers.endpoints.port_order import slice_port_order
from steersman.cluster.controllers.endpoints.service_slices import slice_prefix
from steersman.cluster.controllers.endpoints.services import SelectingService
from steersman.cluster.controllers.endpoints.slice_writing import ManagedSlices
from steersman.cluster.controllers.endpoints.slices import (
    MANAGED_BY,
    SERVICE_NAME,
    EndpointsByIdentity,
    Group,
    SlicePlan,
    endpoint_identity,
    pack,
    port_key,
    recycled,
)
from steersman.cluster.controllers.endpoints.subsets import repacked
from steersman.cluster.controllers.endpoints.trigger_times import TRIGGER_TIME
from steersman.cluster.controllers.reconciling import retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.addresses import canonical_ip, ip_family
from steersman.objects.kinds.enums import AddressType
from steersman.objects.kinds.types.core_v1 import EndpointAddress, Endpoints
from steersman.objects.kinds.types.discovery_v1 import Endpoint, EndpointPort, EndpointSlice
from steersman.objects.kinds.types.meta_v1 import OwnerReference
from steersman.objects.lifetime import is_deleting
from steersman.objects.resources import ENDPOINT_SLICES, ENDPOINTS, SERVICES
from steersman.runtime import Change, Key, Request, RetryPolicy

__all__ = ["CONTROLLER", "MOST_ADDRESSES", "Mirrored", "add", "mirrored", "plan_mirror"]


#: As the slices' label says.
CONTROLLER: Final = "endpointslicemirroring-controller.k8s.io"
#: More addresses of one subset than this are left out.
MOST_ADDRESSES: Final = 1000

_SKIP_LABEL: Final = "endpointslice.kubernetes.io/skip-mirror"
_LEADER_ANNOTATION: Final = "control-plane.alpha.kubernetes.io/leader"
_OWN_ANNOTATIONS: Final = (TRIGGER_TIME, "kubectl.kubernetes.io/last-applied-configuration")


def add(setup: Setup) -> None:
    mirror = _Mirror(setup)
    controller = setup.controller(
        "endpointslicemirroring",
        retrying_conflicts(mirror.reconcile),
        retry=RetryPolicy.exponential(1.0, 100.0),
        min_interval_s=CALM_S,
    )
    controller.watches(mirror.endpoints, mirror.on_endpoints)
    controller.watches(mirror.services, mirror.on_service)
    controller.watches(mirror.slices, mirror.managed.on_slice)


class _Mirror:
    """Reconciles the mirrored EndpointSlices of Endpoints."""

    def __init__(self, setup: Setup) -> None:
        self.endpoints = setup.informer(ENDPOINTS)
        self.services = setup.informer(SERVICES)
        self.slices = setup.informer(ENDPOINT_SLICES)
        self.managed = ManagedSlices(
            self.slices.cache, CONTROLLER, setup.writes("endpointslicemirroring", self.slices)
        )
        self._recorder = setup.recorder("endpoint-slice-mirroring-controller")

    def on_endpoints(self, change: Change) -> Iterable[Key]:
        """Endpoints of services that select pods change most and are nobody's concern here."""
        service = self.services.cache.get(change.key)
        return () if service is not None and SelectingService.read(service).spec.selector else (change.key,)

    def on_service(self, change: Change) -> Iterable[Key]:
        selects = [
            SelectingService.read(cached).spec.selector is not None
            for cached in (change.old, change.new)
            if cached is not None
        ]
        # What matters is whether it is one of these services, not what else it says.
        return () if all(selects) or selects == [False, False] else (change.key,)

    async def reconcile(self, request: Request) -> None:
        existing = self.managed.of(request.key)
        endpoints = self._to_mirror(request.key)
        if endpoints is None:
            await self.managed.write(SlicePlan(delete=existing))
            return
        wanted = mirrored(endpoints)
        self._record_events(endpoints, wanted)
        plan = plan_mirror(endpoints, wanted, existing)
        await self.managed.write(plan, may_create=not is_deleting(endpoints))

    def _to_mirror(self, key: Key) -> Endpoints | None:
        cached, service = self.endpoints.cache.get(key), self.services.cache.get(key)
        if cached is None or service is None or SelectingService.read(service).spec.selector is not None:
            return None
        endpoints = cast("Endpoints", cached.object())
        metadata = endpoints["metadata"]
        skipped = (metadata.get("labels") or {}).get(_SKIP_LABEL) == "true"
        return None if skipped or _LEADER_ANNOTATION in (metadata.get("annotations") or {}) else endpoints

    def _record_events(self, endpoints: Endpoints, wanted: Mirrored) -> None:
        if wanted.invalid:
            note = f"Skipped {wanted.invalid} invalid IP addresses when mirroring to EndpointSlices"
            self._recorder.event(endpoints, "Warning", "InvalidIPAddress", note)
        if wanted.skipped > wanted.invalid:
            note = (
                f"A max of {MOST_ADDRESSES} addresses can be mirrored to EndpointSlices "
                f"per Endpoints subset. {wanted.skipped} addresses were skipped"
            )
            self._recorder.event(endpoints, "Warning", "TooManyAddressesToMirror", note)


class _MirrorGroup(NamedTuple):
    """The addresses and ports that go into the same slices."""

    family: str
    ports: list[EndpointPort]
    endpoints: EndpointsByIdentity


class Mirrored(NamedTuple):
    """The addresses of an Endpoints object grouped for slices, and the numbers of invalid and skipped
    ones.
    """

    groups: dict[tuple[str, frozenset[Any]], _MirrorGroup]
    invalid: int
    #: The invalid ones and those that are too many.
    skipped: int


def mirrored(endpoints: Endpoints) -> Mirrored:
    groups: dict[tuple[str, frozenset[Any]], _MirrorGroup] = {}
    invalid = skipped = 0
    for subset in repacked(endpoints.get("subsets") or ()):
        told: list[EndpointPort] = [
            {"name": "", "protocol": "TCP", **port} for port in subset.get("ports") or ()
        ]
        ports = sorted(told, key=slice_port_order)
        added = 0
        addresses = [(address, True) for address in subset.get("addresses") or ()]
        addresses += [(address, False) for address in subset.get("notReadyAddresses") or ()]
        for address, ready in addresses:
            if added >= MOST_ADDRESSES:
                break
            family = ip_family(address["ip"])
            if not family:
                invalid += 1
                continue
            group = groups.setdefault((family, port_key(ports)), _MirrorGroup(family, ports, {}))
            endpoint = _endpoint(address, ready)
            group.endpoints[endpoint_identity(endpoint)] = endpoint
            added += 1
        skipped += len(addresses) - added
    return Mirrored(groups, invalid, skipped)


def _endpoint(address: EndpointAddress, ready: bool) -> Endpoint:
    endpoint: Endpoint = {"addresses": [canonical_ip(address["ip"])], "conditions": {"ready": ready}}
    if hostname := address.get("hostname"):
        endpoint["hostname"] = hostname
    if target := address.get("targetRef"):
        endpoint["targetRef"] = target
    if node_name := address.get("nodeName"):
        endpoint["nodeName"] = node_name
    return endpoint


def plan_mirror(endpoints: Endpoints, wanted: Mirrored, existing: list[EndpointSlice]) -> SlicePlan:
    plan = SlicePlan()
    by_key: dict[tuple[str, frozenset[Any]], list[EndpointSlice]] = {}
    for present in existing:
        key = str(present["addressType"]), port_key(present.get("ports"))
        by_key.setdefault(key, []).append(present)
    for key, group in wanted.groups.items():
        template = _new_slice(endpoints, group)
        packed = pack(by_key.pop(key, []), group.endpoints, Group(template, MOST_ADDRESSES, _fits(template)))
        packed.update = [_annotated(one, template) for one in packed.update]
        plan.add(packed)
    for unwanted in by_key.values():
        plan.delete += unwanted
    return recycled(plan, lambda doomed: True)


def _fits(template: EndpointSlice) -> Callable[[EndpointSlice], bool]:
    wanted = template["metadata"]

    def fits(present: EndpointSlice) -> bool:
        metadata = present["metadata"]
        return bool(
            metadata.get("labels") == wanted["labels"]
            and (metadata.get("annotations") or {}) == wanted["annotations"]
            and metadata.get("ownerReferences") == wanted["ownerReferences"]
        )

    return fits


def _annotated(one: EndpointSlice, template: EndpointSlice) -> EndpointSlice:
    return {**one, "metadata": {**one["metadata"], "annotations": template["metadata"]["annotations"]}}


def _new_slice(endpoints: Endpoints, group: _MirrorGroup) -> EndpointSlice:
    metadata = endpoints["metadata"]
    annotations = metadata.get("annotations") or {}
    owner: OwnerReference = {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "metadata": {
            "generateName": slice_prefix(metadata["name"]),
            "namespace": metadata["namespace"],
            "labels": {
                **(metadata.get("labels") or {}),
                SERVICE_NAME: metadata["name"],
                MANAGED_BY: CONTROLLER,
            },
            "annotations": {
                name: value for name, value in annotations.items() if name not in _OWN_ANNOTATIONS
            },
            "ownerReferences": [owner],
        },
        "addressType": cast("AddressType", group.family),
        "ports": group.ports,
        "endpoints": [],
    }
