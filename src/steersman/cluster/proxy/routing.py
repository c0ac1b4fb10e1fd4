"""The frontends of a Service and the endpoints of each, by traffic policy and topology hints. Pure.

| address                       | policy                | endpoints                                          |
|-------------------------------|-----------------------|----------------------------------------------------|
| cluster IPs                   | internalTrafficPolicy | Cluster: any; Local: of this machine's nodes       |
| node port on a node's address | externalTrafficPolicy | Cluster: any; Local: of the nodes with the address |
| external and balancers' IPs   | externalTrafficPolicy | Cluster: any; Local: of this machine's nodes       |

Of these the ready ones, those meant for this zone or node if all of them have hints; if none is ready, those
that still serve while they terminate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from steersman.cluster.proxy.frontends import Backend, Frontend, FrontendRoute
from steersman.objects.kinds.types.core_v1 import Service, ServicePort, ServiceSpec
from steersman.objects.kinds.types.discovery_v1 import EndpointSlice
from steersman.objects.labels import labels_of

__all__ = ["PROXY_NAME_LABEL", "ProxyLocation", "is_proxied", "local_endpoints", "routes"]


#: Services and slices with these labels are taken care of by others, or by nobody.
PROXY_NAME_LABEL: Final = "service.kubernetes.io/service-proxy-name"
HEADLESS_LABEL: Final = "service.kubernetes.io/headless"

_AFFINITY_S: Final = 10800
_PROTOCOLS: Final = ("TCP", "UDP")


@dataclass(frozen=True, slots=True)
class ProxyLocation:
    """The nodes, addresses and zone of this machine."""

    #: Where node ports are, each with the names of the nodes that have the address.
    nodes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    zones: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*self.nodes.values())


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """An endpoint of an EndpointSlice."""

    backend: Backend
    family: str
    node: str
    ready: bool
    serving: bool
    terminating: bool
    zones: frozenset[str]
    nodes: frozenset[str]


def is_proxied(service: Service) -> bool:
    spec = service["spec"]
    labels = labels_of(service)
    if PROXY_NAME_LABEL in labels or HEADLESS_LABEL in labels:
        return False
    return spec.get("type") != "ExternalName" and spec.get("clusterIP") not in (None, "", "None")


def routes(
    service: Service,
    slices: Collection[EndpointSlice],
    place: ProxyLocation,
    lends: Callable[[str], bool],
    stand_ins: Mapping[int, int] = MappingProxyType({}),
) -> dict[Frontend, FrontendRoute]:
    """All frontends of a service. `lends` says whether an address is the cluster's to have, `stand_ins` which
    ports answer at others."""
    if not is_proxied(service):
        return {}
    spec, found = service["spec"], {}
    for port in spec.get("ports") or ():
        protocol = port.get("protocol") or "TCP"
        if protocol not in _PROTOCOLS:
            continue
        endpoints = list(_endpoints(slices, port))
        for address, number, nodes, external in _listening(service, port, place, lends):
            family = "IPv6" if ":" in address else "IPv4"
            candidates = [each for each in endpoints if each.family == family]
            policy = spec.get("externalTrafficPolicy" if external else "internalTrafficPolicy")
            local = nodes if policy == "Local" else None
            answering = stand_ins.get(number, number)
            frontend = Frontend(protocol, address, answering)
            found[frontend] = FrontendRoute(
                tuple(_chosen(candidates, local, place)),
                _affinity_s(spec),
                _group(service, port),
                _sources(service, address),
            )
    return found


def local_endpoints(service: Service, slices: Iterable[EndpointSlice], place: ProxyLocation) -> int:
    """How many ready endpoints this machine's nodes have, for who balances between nodes."""
    names, found = place.names, set()
    for port in service["spec"].get("ports") or ():
        for each in _endpoints(slices, port):
            if each.ready and each.node in names:
                found.add(each.backend.address)
    return len(found)


def _listening(
    service: Service, port: ServicePort, place: ProxyLocation, lends: Callable[[str], bool]
) -> Iterator[tuple[str, int, Collection[str], bool]]:
    """Address, port, the nodes that are local there, and whether traffic comes from outside."""
    spec, names = service["spec"], place.names
    for address in spec.get("clusterIPs") or [spec["clusterIP"]]:
        yield address, port["port"], names, False
    # Other addresses, even of this machine, would open what is local to the network around it.
    for address in filter(lends, spec.get("externalIPs") or ()):
        yield address, port["port"], names, True
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    for ingress in balancer.get("ingress") or ():
        ip = ingress.get("ip")
        if ip and ingress.get("ipMode", "VIP") == "VIP" and lends(ip):
            yield ip, port["port"], names, True
    if port.get("nodePort"):
        for address, nodes in place.nodes.items():
            yield address, port["nodePort"], nodes, True


def _endpoints(slices: Iterable[EndpointSlice], port: ServicePort) -> Iterator[_Endpoint]:
    protocol = port.get("protocol") or "TCP"
    for each in slices:
        number = next(
            (
                offered.get("port")
                for offered in each.get("ports") or ()
                if (offered.get("name") or "") == (port.get("name") or "")
                and (offered.get("protocol") or "TCP") == protocol
            ),
            None,
        )
        if number is None:
            continue
        for endpoint in each.get("endpoints") or ():
            conditions, hints = endpoint.get("conditions") or {}, endpoint.get("hints") or {}
            ready = conditions.get("ready") is not False
            yield _Endpoint(
                Backend(endpoint["addresses"][0], number),
                each["addressType"],
                endpoint.get("nodeName") or "",
                ready,
                conditions.get("serving", ready) is not False,
                conditions.get("terminating") is True,
                frozenset(hint["name"] for hint in hints.get("forZones") or ()),
                frozenset(hint["name"] for hint in hints.get("forNodes") or ()),
            )


def _chosen(
    endpoints: Collection[_Endpoint], local: Collection[str] | None, place: ProxyLocation
) -> Iterable[Backend]:
    """`local`: only endpoints of these nodes, hints or not."""
    if local is not None:
        endpoints = [each for each in endpoints if each.node in local]
    ready = [each for each in endpoints if each.ready]
    if ready and local is None:
        ready = _hinted(ready, place)
    if not ready:
        ready = [each for each in endpoints if each.serving and each.terminating]
    # Each once, and in an order that does not change by itself.
    return sorted({each.backend for each in ready})


def _hinted(ready: list[_Endpoint], place: ProxyLocation) -> list[_Endpoint]:
    """Those meant for here; all of them where hints are missing or leave nothing."""
    for hints, here in (
        ([each.nodes for each in ready], place.names),
        ([each.zones for each in ready], place.zones),
    ):
        if all(hints) and (meant := [each for each, hint in zip(ready, hints, strict=True) if hint & here]):
            return meant
    return ready


def _affinity_s(spec: ServiceSpec) -> int:
    if spec.get("sessionAffinity") != "ClientIP":
        return 0
    config = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
    return config.get("timeoutSeconds") or _AFFINITY_S


def _group(service: Service, port: ServicePort) -> str:
    if service["spec"].get("sessionAffinity") != "ClientIP":
        return ""
    metadata = service["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}:{port.get('name') or ''}"


def _sources(service: Service, address: str) -> tuple[str, ...]:
    """Only what a load balancer lets in is limited."""
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    if any(ingress.get("ip") == address for ingress in balancer.get("ingress") or ()):
        return tuple(source.strip() for source in service["spec"].get("loadBalancerSourceRanges") or ())
    return ()
