"""The desired EndpointSlices of a Service with a selector. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, cast

from steersman.cluster.controllers.endpoints.backends import PodEndpoint
from steersman.cluster.controllers.endpoints.port_order import slice_port_order
from steersman.cluster.controllers.endpoints.services import HEADLESS_LABEL, SelectingService
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
from steersman.cluster.controllers.endpoints.zone_hints import Hinting
from steersman.objects.kinds.enums import AddressType, Protocol
from steersman.objects.kinds.types.discovery_v1 import Endpoint, EndpointHints, EndpointPort, EndpointSlice
from steersman.objects.kinds.types.meta_v1 import OwnerReference
from steersman.objects.names import is_dns1123_subdomain

__all__ = ["CONTROLLER", "MOST_ENDPOINTS", "owned_by", "plan_slices", "slice_prefix"]

#: The zone of a node: empty if it has none, None if there is no such node.
ZoneOf = Callable[[str], str | None]

#: Ports and endpoints, by ports: named ports may lead to other numbers in other pods.
_Desired = dict[frozenset[Any], tuple[list[EndpointPort], EndpointsByIdentity]]

#: As the slices' label says.
CONTROLLER: Final = "endpointslice-controller.k8s.io"
MOST_ENDPOINTS: Final = 100
_RESERVED: Final = (SERVICE_NAME, MANAGED_BY, HEADLESS_LABEL)
_CLOSE: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")


def plan_slices(
    service: SelectingService,
    pods: Sequence[PodEndpoint],
    existing: Iterable[EndpointSlice],
    zone_of: ZoneOf,
    hinting: Hinting | None = None,
) -> SlicePlan:
    """What to write so that the slices of a service tell of all its pods. `hinting`, if given, decides on the
    hints of endpoints, and not what the service says of its traffic."""
    by_family: dict[str, list[EndpointSlice]] = {family: [] for family in service.families}
    plan = SlicePlan()
    for present in existing:
        of_family = by_family.get(present["addressType"])
        (plan.delete if of_family is None else of_family).append(present)
    for family, slices in by_family.items():
        desired = _desired(service, pods, family, zone_of)
        endpoints = [endpoint for _, group in desired.values() for endpoint in group.values()]
        if hinting is not None:
            hinting.give(family, endpoints)
        else:
            _give_hints(service, endpoints)
        plan.add(_plan_family(service, desired, slices, family))
    return plan


def _plan_family(
    service: SelectingService, wanted: _Desired, existing: Sequence[EndpointSlice], family: str
) -> SlicePlan:
    plan = SlicePlan()
    by_ports: dict[frozenset[Any], list[EndpointSlice]] = {}
    for present in existing:
        if owned_by(present, service):
            by_ports.setdefault(port_key(present.get("ports")), []).append(present)
        else:
            plan.delete.append(present)
    for ports, desired in wanted.values():
        group = _group(service, family, ports)
        plan.add(pack(by_ports.pop(port_key(ports), []), desired, group))
    for unwanted in by_ports.values():
        plan.delete += unwanted
    if len(plan.delete) == len(existing) and not plan.create:
        _add_placeholder(plan, service, family)
    return recycled(plan, lambda doomed: owned_by(doomed, service))


def _desired(
    service: SelectingService, pods: Sequence[PodEndpoint], family: str, zone_of: ZoneOf
) -> _Desired:
    groups: _Desired = {}
    for pod in pods:
        if not pod.has_endpoint:
            continue
        zone = zone_of(pod.node)
        if zone is None and not service.spec.publish_not_ready_addresses:
            continue  # its node is gone, and soon so is the pod
        ports = _ports(service, pod)
        key = port_key(ports)
        if key not in groups:
            groups[key] = (sorted(ports, key=slice_port_order), {})
        endpoints = groups[key][1]
        endpoint = _endpoint(service, pod, family, zone or "")
        if endpoint["addresses"]:
            endpoints[endpoint_identity(endpoint)] = endpoint
    return groups


def _ports(service: SelectingService, pod: PodEndpoint) -> list[EndpointPort]:
    ports = []
    for port, number in service.target_ports(pod):
        port_object: EndpointPort = {
            "name": port.name,
            "port": number,
            "protocol": cast("Protocol", port.protocol),
        }
        if port.app_protocol is not None:
            port_object["appProtocol"] = port.app_protocol
        ports.append(port_object)
    return ports


def _endpoint(service: SelectingService, pod: PodEndpoint, family: str, zone: str) -> Endpoint:
    published = service.spec.publish_not_ready_addresses
    # A pod that is going away serves until it is gone, but nothing new should be sent there.
    ready = published or (pod.ready and not pod.deleting)
    endpoint: Endpoint = {
        "addresses": pod.addresses(family),
        "conditions": {"ready": ready, "serving": pod.ready, "terminating": pod.deleting},
    }
    if hostname := pod.hostname_in(service.namespace, service.name):
        endpoint["hostname"] = hostname
    endpoint["targetRef"] = pod.reference()
    if pod.node:
        endpoint["nodeName"] = pod.node
    if zone:
        endpoint["zone"] = zone
    return endpoint


def _give_hints(service: SelectingService, endpoints: Iterable[Endpoint]) -> None:
    """Put hints on endpoints that are ready, as the service says of its traffic."""
    preference = service.spec.traffic_distribution
    for endpoint in endpoints:
        if endpoint["conditions"]["ready"]:
            hints = _hints(preference, endpoint.get("nodeName", ""), endpoint.get("zone", ""))
            if hints:
                endpoint["hints"] = hints


def _hints(preference: str | None, node: str, zone: str) -> EndpointHints:
    """Who should use an endpoint first."""
    hints: EndpointHints = {}
    if preference in _CLOSE and zone:
        hints["forZones"] = [{"name": zone}]
    if preference == "PreferSameNode" and node:
        hints["forNodes"] = [{"name": node}]
    return hints


def _group(service: SelectingService, family: str, ports: list[EndpointPort]) -> Group:
    template = _new_slice(service, family, ports)
    labels = template["metadata"]["labels"]
    return Group(template, MOST_ENDPOINTS, lambda present: present["metadata"].get("labels") == labels)


def _new_slice(service: SelectingService, family: str, ports: list[EndpointPort]) -> EndpointSlice:
    labels = {name: value for name, value in service.labels.items() if name not in _RESERVED}
    if service.headless:
        labels[HEADLESS_LABEL] = ""
    owner: OwnerReference = {
        "apiVersion": "v1",
        "kind": "Service",
        "name": service.name,
        "uid": service.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "metadata": {
            "generateName": slice_prefix(service.name),
            "namespace": service.namespace,
            "labels": {**labels, SERVICE_NAME: service.name, MANAGED_BY: CONTROLLER},
            "ownerReferences": [owner],
        },
        "addressType": cast("AddressType", family),
        "ports": ports,
        "endpoints": [],
    }


def slice_prefix(name: str) -> str:
    """What generated names begin with."""
    # A name is made of the prefix and five characters; a prefix that ends in a dash is checked without it.
    prefix = f"{name}-"
    return name if is_dns1123_subdomain(f"{prefix}x") else prefix


def owned_by(present: EndpointSlice, service: SelectingService) -> bool:
    return any(
        owner["uid"] == service.metadata.uid and owner["kind"] == "Service" and owner["apiVersion"] == "v1"
        for owner in present["metadata"].get("ownerReferences") or ()
    )


def _add_placeholder(plan: SlicePlan, service: SelectingService, family: str) -> None:
    """A service without endpoints has one slice all the same, which says so."""
    placeholder = _new_slice(service, family, [])
    if len(plan.delete) == 1 and _same(plan.delete[0], placeholder):
        plan.delete = []
    else:
        plan.create.append(placeholder)


def _same(present: EndpointSlice, placeholder: EndpointSlice) -> bool:
    there, wanted = present["metadata"], placeholder["metadata"]
    return (
        not present.get("ports")
        and not present.get("endpoints")
        and there.get("labels") == wanted["labels"]
        and there.get("ownerReferences") == wanted["ownerReferences"]
    )
