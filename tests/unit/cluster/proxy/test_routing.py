"""Which address of a service leads to which endpoints."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.proxy.frontends import Backend, Frontend, FrontendRoute
from steersman.cluster.proxy.routing import ProxyLocation, is_proxied, local_endpoints, routes

Object = dict[str, Any]

HERE = ProxyLocation(
    {"127.0.0.1": frozenset({"node-1"}), "127.0.0.2": frozenset({"node-2"})}, frozenset({"east"})
)
CLUSTER_IP = "10.96.0.7"


def service(**spec: Any) -> Object:
    ports = [{"name": "http", "port": 80, "protocol": "TCP"}]
    spec = {"clusterIP": CLUSTER_IP, "clusterIPs": [CLUSTER_IP], "ports": ports, **spec}
    return {"metadata": {"name": "web", "namespace": "shop"}, "spec": spec}


def endpoint(address: str, node: str = "node-1", hints: Object | None = None, **conditions: Any) -> Object:
    found: Object = {"addresses": [address], "nodeName": node, "conditions": conditions}
    return {**found, "hints": hints} if hints else found


def endpoint_slice(*endpoints: Object, **fields: Any) -> Object:
    ports = [{"name": "http", "port": 8080, "protocol": "TCP"}]
    return {"addressType": "IPv4", "ports": ports, "endpoints": list(endpoints), **fields}


def led(
    service: Object, *slices: Object, address: str = CLUSTER_IP, port: int = 80, protocol: Any = "TCP"
) -> list[str]:
    """The addresses of the backends at one frontend."""
    found = routes(service, slices, HERE, lambda address: address.startswith("127."))
    return [each.address for each in found[Frontend(protocol, address, port)].backends]


READY = endpoint("10.244.0.1", ready=True)
UNKNOWN = endpoint("10.244.0.2")
NOT_READY = endpoint("10.244.0.3", ready=False, serving=False)
TERMINATING = endpoint("10.244.0.4", ready=False, serving=True, terminating=True)
OVER = endpoint("10.244.0.5", ready=False, serving=False, terminating=True)


@pytest.mark.parametrize(
    ("endpoints", "wanted"),
    [
        ([], []),
        ([READY, UNKNOWN, NOT_READY, TERMINATING], ["10.244.0.1", "10.244.0.2"]),
        ([NOT_READY, TERMINATING, OVER], ["10.244.0.4"]),
        ([NOT_READY], []),
    ],
    ids=["none", "ready ones", "terminating ones that serve", "not ready"],
)
def test_endpoints_by_their_conditions(endpoints: list[Object], wanted: list[str]) -> None:
    assert led(service(), endpoint_slice(*endpoints)) == wanted


def test_endpoints_of_all_slices_are_taken_once() -> None:
    slices = endpoint_slice(READY), endpoint_slice(READY, UNKNOWN)
    assert led(service(), *slices) == ["10.244.0.1", "10.244.0.2"]


def test_ports_are_matched_by_name_and_protocol() -> None:
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP"},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
        {"name": "none", "port": 54, "protocol": "TCP"},
        {"name": "odd", "port": 55, "protocol": "SCTP"},
    ]
    offered = [
        {"name": "dns", "port": 1053, "protocol": "UDP"},
        {"name": "dns-tcp", "port": 2053, "protocol": "TCP"},
        {"name": "none", "port": None, "protocol": "TCP"},
    ]
    found = routes(service(ports=ports), [endpoint_slice(READY, ports=offered)], HERE, bool)
    assert {str(frontend): list(route.backends) for frontend, route in found.items()} == {
        "10.96.0.7:53/UDP": [Backend("10.244.0.1", 1053)],
        "10.96.0.7:53/TCP": [Backend("10.244.0.1", 2053)],
        "10.96.0.7:54/TCP": [],
    }


def test_families_are_kept_apart() -> None:
    both = service(clusterIPs=[CLUSTER_IP, "fd00::7"])
    slices = endpoint_slice(READY), endpoint_slice(endpoint("fd00::1"), addressType="IPv6")
    assert led(both, *slices) == ["10.244.0.1"]
    assert led(both, *slices, address="fd00::7") == ["fd00::1"]


NEAR, SECOND, FAR = endpoint("10.244.0.1"), endpoint("10.244.1.1", "node-2"), endpoint("10.9.0.1", "far")


def test_internal_traffic_stays_local_if_it_should() -> None:
    slices = endpoint_slice(NEAR, SECOND, FAR)
    assert led(service(), slices) == ["10.244.0.1", "10.244.1.1", "10.9.0.1"]
    local = service(internalTrafficPolicy="Local")
    assert led(local, slices) == ["10.244.0.1", "10.244.1.1"]
    assert led(local, endpoint_slice(FAR)) == []


def test_external_traffic_stays_on_the_node_of_the_address() -> None:
    ports = [{"name": "http", "port": 80, "nodePort": 30080}]
    balanced = service(type="LoadBalancer", ports=ports, externalTrafficPolicy="Local")
    balanced["status"] = {"loadBalancer": {"ingress": [{"ip": "127.100.0.1"}, {"hostname": "elsewhere"}]}}
    slices = endpoint_slice(NEAR, SECOND, FAR)
    assert led(balanced, slices) == ["10.244.0.1", "10.244.1.1", "10.9.0.1"]
    assert led(balanced, slices, address="127.100.0.1") == ["10.244.0.1", "10.244.1.1"]
    assert led(balanced, slices, address="127.0.0.1", port=30080) == ["10.244.0.1"]
    assert led(balanced, slices, address="127.0.0.2", port=30080) == ["10.244.1.1"]
    assert local_endpoints(balanced, [slices], HERE) == 2


def test_addresses_of_others_are_left_alone() -> None:
    balanced = service(type="LoadBalancer", externalIPs=["192.0.2.9", "127.100.0.9"])
    ingress = [{"ip": "203.0.113.1"}, {"ip": "127.100.0.1", "ipMode": "Proxy"}]
    balanced["status"] = {"loadBalancer": {"ingress": ingress}}
    found = routes(balanced, [], HERE, lambda address: address.startswith("127."))
    assert {frontend.address for frontend in found} == {CLUSTER_IP, "127.100.0.9"}


def _zones(*names: str) -> Object:
    return {"forZones": [{"name": name} for name in names]}


def test_hints_lead_to_this_zone_or_node() -> None:
    east, west = endpoint("10.1.0.1", hints=_zones("east")), endpoint("10.1.0.2", hints=_zones("west"))
    assert led(service(), endpoint_slice(east, west)) == ["10.1.0.1"]
    assert led(service(), endpoint_slice(west)) == ["10.1.0.2"]
    assert led(service(), endpoint_slice(east, west, FAR)) == ["10.1.0.1", "10.1.0.2", "10.9.0.1"]
    same_node = endpoint("10.1.0.3", hints={"forNodes": [{"name": "node-1"}], **_zones("west")})
    other_node = endpoint("10.1.0.4", hints={"forNodes": [{"name": "far"}], **_zones("east")})
    assert led(service(), endpoint_slice(same_node, other_node)) == ["10.1.0.3"]


def test_affinity_and_sources_go_with_the_route() -> None:
    kept = service(
        type="LoadBalancer",
        sessionAffinity="ClientIP",
        sessionAffinityConfig={"clientIP": {"timeoutSeconds": 30}},
        loadBalancerSourceRanges=["192.0.2.0/24"],
    )
    kept["status"] = {"loadBalancer": {"ingress": [{"ip": "127.100.0.1"}]}}
    found = routes(kept, [endpoint_slice(READY)], HERE, lambda address: address.startswith("127."))
    backends = (Backend("10.244.0.1", 8080),)
    assert found == {
        Frontend("TCP", CLUSTER_IP, 80): FrontendRoute(backends, 30, "shop/web:http"),
        Frontend("TCP", "127.100.0.1", 80): FrontendRoute(backends, 30, "shop/web:http", ("192.0.2.0/24",)),
    }


@pytest.mark.parametrize(
    ("spec", "labels", "wanted"),
    [
        ({}, {}, True),
        ({"clusterIP": "None"}, {}, False),
        ({"clusterIP": ""}, {}, False),
        ({"type": "ExternalName"}, {}, False),
        ({}, {"service.kubernetes.io/service-proxy-name": "other"}, False),
        ({}, {"service.kubernetes.io/headless": ""}, False),
    ],
    ids=["usual", "headless", "no address", "external name", "another proxy's", "labelled headless"],
)
def test_services_that_are_proxied(spec: Object, labels: Object, wanted: bool) -> None:
    made = service(**spec)
    made["metadata"]["labels"] = labels
    assert is_proxied(made) is wanted
    if not wanted:
        assert routes(made, [endpoint_slice(READY)], HERE, bool) == {}
