"""The subsets of Endpoints: addresses grouped by their ports, in canonical order. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, cast

from steersman.cluster.controllers.endpoints.backends import PodEndpoint
from steersman.cluster.controllers.endpoints.port_order import endpoints_port_order
from steersman.cluster.controllers.endpoints.services import SelectingService
from steersman.objects.addresses import ip_family
from steersman.objects.kinds.emptiness import omit_empty
from steersman.objects.kinds.types.core_v1 import (
    EndpointAddress,
    EndpointPort,
    EndpointSubset,
    ObjectReference,
)

__all__ = ["MOST_ADDRESSES", "repacked", "service_subsets", "truncated", "without_versions"]


#: More addresses than this are left out.
MOST_ADDRESSES: Final = 1000
_PORT_FIELDS: Final = ("name", "port", "protocol", "appProtocol")
_Field = Literal["addresses", "notReadyAddresses"]
_READY: Final = "addresses"
_NOT_READY: Final = "notReadyAddresses"
_FIELDS: Final[tuple[_Field, ...]] = (_READY, _NOT_READY)


def service_subsets(service: SelectingService, pods: Iterable[PodEndpoint]) -> list[EndpointSubset]:
    """The subsets that tell of a service's pods."""
    subsets: list[EndpointSubset] = []
    published = service.spec.publish_not_ready_addresses
    for pod in pods:
        if not pod.has_endpoint or (pod.deleting and not published):
            continue
        address = _address(service, pod)
        if address is None:
            continue
        subset: EndpointSubset = {_READY: [address]} if published or pod.ready else {_NOT_READY: [address]}
        ports = [_port(port, number) for port, number in service.target_ports(pod)]
        if ports:
            subsets += [{**subset, "ports": [port]} for port in ports]
        elif not service.ports and service.spec.cluster_ip == "None":
            subsets.append(subset)
    return repacked(subsets)


def _address(service: SelectingService, pod: PodEndpoint) -> EndpointAddress | None:
    if service.spec.ip_families or not service.headless:
        family = service.families[0]
    else:
        family = ip_family(pod.status.pod_ip)
    addresses = pod.addresses(family)
    if not addresses:
        return None
    address: EndpointAddress = {"ip": addresses[0], "nodeName": pod.node, "targetRef": pod.reference()}
    if hostname := pod.hostname_in(service.namespace, service.name):
        address["hostname"] = hostname
    return address


def _port(port: Any, number: int) -> EndpointPort:
    told: EndpointPort = {"name": port.name, "port": number, "protocol": port.protocol}
    if not port.name:
        del told["name"]
    if port.app_protocol is not None:
        told["appProtocol"] = port.app_protocol
    return told


def repacked(subsets: Iterable[EndpointSubset]) -> list[EndpointSubset]:
    """The same addresses and ports, with as few subsets as possible and in order."""
    addresses: dict[tuple[str, str], EndpointAddress] = {}
    ready_by_port: dict[tuple[Any, ...], dict[tuple[str, str], bool]] = {}
    for subset in subsets:
        ports = [_port_key(port) for port in subset.get("ports") or ()] or [()]
        for field in _FIELDS:
            for address in subset.get(field) or ():
                key = _address_key(address)
                addresses.setdefault(key, {**address})
                for port in ports:
                    known = ready_by_port.setdefault(port, {})
                    # Not ready in one place is not ready at all.
                    known[key] = known.get(key, True) and field == _READY
    ports_of: dict[frozenset[Any], list[tuple[Any, ...]]] = {}
    for port, ready in ready_by_port.items():
        ports_of.setdefault(frozenset(ready.items()), []).append(port)
    packed = [_subset(addresses, dict(ready), ports) for ready, ports in ports_of.items()]
    return sorted(packed, key=_order)


def _subset(
    addresses: Mapping[tuple[str, str], EndpointAddress],
    ready: Mapping[tuple[str, str], bool],
    ports: Sequence[tuple[Any, ...]],
) -> EndpointSubset:
    subset: EndpointSubset = {}
    for field in _FIELDS:
        state = field == _READY
        keys = sorted(key for key, is_ready in ready.items() if is_ready is state)
        if keys:
            subset[field] = [addresses[key] for key in keys]
    real = [port for port in ports if port]
    if real:
        told = [
            {name: value for name, value in zip(_PORT_FIELDS, port, strict=True) if value is not None}
            for port in real
        ]
        subset["ports"] = cast("list[EndpointPort]", sorted(told, key=endpoints_port_order))
    return subset


def _address_key(address: EndpointAddress) -> tuple[str, str]:
    return address["ip"], (address.get("targetRef") or {}).get("uid") or ""


def _port_key(port: EndpointPort) -> tuple[Any, ...]:
    return tuple(port.get(name) for name in _PORT_FIELDS)


def _order(subset: EndpointSubset) -> tuple[Any, ...]:
    addresses = [*subset.get(_READY, ()), *subset.get(_NOT_READY, ())]
    return str(subset.get("ports")), [_address_key(address) for address in addresses]


def without_versions(subsets: Iterable[EndpointSubset] | None) -> list[EndpointSubset]:
    """Subsets for comparing: the versions of pods tell nothing."""
    result = []
    for subset in subsets or ():
        plain: EndpointSubset = {**subset}
        for field in _FIELDS:
            if plain.get(field):
                plain[field] = [_without_version(address) for address in plain[field]]
        result.append(plain)
    return result


def _without_version(address: EndpointAddress) -> EndpointAddress:
    target: ObjectReference = {**(address.get("targetRef") or {})}
    target.pop("resourceVersion", None)
    return {**address, "targetRef": target} if target else address


def truncated(subsets: Sequence[EndpointSubset]) -> list[EndpointSubset] | None:
    """At most `MOST_ADDRESSES`, ready ones first, a fair share of each subset; None if there are no more."""
    ready = sum(len(subset.get(_READY, ())) for subset in subsets)
    not_ready = sum(len(subset.get(_NOT_READY, ())) for subset in subsets)
    if ready + not_ready <= MOST_ADDRESSES:
        return None
    field: _Field = _NOT_READY
    most, total = MOST_ADDRESSES - ready, not_ready
    if ready > MOST_ADDRESSES:
        field, most, total = _READY, MOST_ADDRESSES, ready
    left = most
    result = []
    for subset in subsets:
        share = min(math.ceil(len(subset.get(field, ())) / total * most), left)
        cut: EndpointSubset = {**subset}
        cut[field] = subset.get(field, [])[:share]
        left -= len(cut[field])
        if field == _READY:
            cut.pop(_NOT_READY, None)
        result.append(omit_empty(cut))
    return result
