from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from steersman.cluster.apiserver.resources.strategies import strategy_for
from steersman.cluster.apiserver.resources.strategies.services import (
    assign_ip_families,
    carry_over_allocations,
    infer_ip_family_policy,
    needs_health_check_node_port,
    sync_cluster_ips,
    wants_node_ports,
)

Object = dict[str, Any]
Make = Callable[..., Object]
SERVICES = strategy_for("", "services")


def settled(service: Object, old: Object | None = None, configured: tuple[str, ...] = ("IPv4",)) -> list[str]:
    if not infer_ip_family_policy(service, old):
        return []
    return [str(error) for error in assign_ip_families(service, old, configured)]


@pytest.mark.parametrize(
    ("spec", "policy", "families"),
    [
        ({"selector": {"a": "b"}}, "SingleStack", ["IPv4"]),
        ({"clusterIP": "None", "selector": {"a": "b"}}, "SingleStack", ["IPv4"]),
        ({"clusterIP": "None"}, "RequireDualStack", ["IPv4", "IPv6"]),
        ({"clusterIP": "None", "ipFamilyPolicy": "SingleStack"}, "SingleStack", ["IPv4"]),
        ({"ipFamilyPolicy": "PreferDualStack"}, "PreferDualStack", ["IPv4"]),
        ({"clusterIP": "10.0.0.5"}, "SingleStack", ["IPv4"]),
    ],
)
def test_families_of_a_new_service_on_a_single_stack_cluster(
    make: Make, spec: Object, policy: str, families: list[str]
) -> None:
    service = make("v1", "Service", spec=spec)
    sync_cluster_ips(service, None)
    assert settled(service) == []
    assert (service["spec"]["ipFamilyPolicy"], service["spec"]["ipFamilies"]) == (policy, families)


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        (
            {"ipFamilyPolicy": "RequireDualStack"},
            [
                'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": '
                "this cluster is not configured for dual-stack services"
            ],
        ),
        (
            {"ipFamilies": ["IPv6"]},
            ['spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'],
        ),
        (
            {"clusterIP": "fd00::1"},
            ['spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster'],
        ),
        (
            {"ipFamilies": ["IPv4", "IPv6"]},
            [
                "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or "
                "'PreferDualStack' when multiple IP families are specified"
            ],
        ),
    ],
)
def test_dual_stack_is_refused_on_a_single_stack_cluster(make: Make, spec: Object, errors: list[str]) -> None:
    service = make("v1", "Service", spec=spec)
    sync_cluster_ips(service, None)
    assert settled(service) == errors


def test_a_dual_stack_cluster_gives_both_families(make: Make) -> None:
    service = make("v1", "Service", spec={"ipFamilyPolicy": "PreferDualStack"})
    assert settled(service, configured=("IPv6", "IPv4")) == []
    assert service["spec"]["ipFamilies"] == ["IPv6", "IPv4"]


def test_an_external_name_has_no_families(make: Make) -> None:
    service = make("v1", "Service", spec={"type": "ExternalName", "externalName": "a.b"})
    assert infer_ip_family_policy(service, None) is False


def stored(make: Make, **spec: Any) -> Object:
    service = make("v1", "Service", spec=spec)
    service["spec"] |= {"clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.5"]}
    assert settled(service) == []
    for number, port in enumerate(service["spec"].get("ports") or ()):
        if wants_node_ports(service):
            port["nodePort"] = 30000 + number
    return service


def test_an_update_keeps_allocated_values_it_leaves_out(make: Make) -> None:
    ports = [{"name": "a", "port": 1}, {"name": "b", "port": 2}]
    old = stored(make, type="NodePort", ports=ports)
    new = make("v1", "Service", spec={"type": "NodePort", "ports": [ports[1], {"name": "c", "port": 3}]})
    carry_over_allocations(new, old)
    assert new["spec"]["clusterIP"] == "10.0.0.5"
    assert new["spec"]["clusterIPs"] == ["10.0.0.5"]
    assert [port.get("nodePort") for port in new["spec"]["ports"]] == [30001, None]


def test_a_node_port_used_elsewhere_is_not_given_again(make: Make) -> None:
    old = stored(make, type="NodePort", ports=[{"name": "a", "port": 1}])
    new = make(
        "v1",
        "Service",
        spec={
            "type": "NodePort",
            "ports": [{"name": "b", "port": 2, "nodePort": 30000}, {"name": "a", "port": 1}],
        },
    )
    carry_over_allocations(new, old)
    assert [port.get("nodePort") for port in new["spec"]["ports"]] == [30000, None]


def test_who_does_without_node_ports_loses_them(make: Make) -> None:
    old = stored(make, type="LoadBalancer", ports=[{"name": "a", "port": 1}])
    spec = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}
    new = make("v1", "Service", spec=spec | {"ports": [{"name": "a", "port": 1}]})
    carry_over_allocations(new, old)
    assert "nodePort" not in new["spec"]["ports"][0]


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        (
            "ClusterIP",
            "ExternalName",
            {"clusterIP", "clusterIPs", "internalTrafficPolicy", "ipFamilies", "ipFamilyPolicy"},
        ),
        ("NodePort", "ClusterIP", {"externalTrafficPolicy"}),
        ("LoadBalancer", "ClusterIP", {"externalTrafficPolicy", "allocateLoadBalancerNodePorts"}),
    ],
)
def test_a_change_of_type_drops_what_only_the_old_type_has(
    make: Make, before: str, after: str, gone: set[str]
) -> None:
    old = stored(make, type=before, ports=[{"port": 1}])
    new = deepcopy(old)
    new["spec"]["type"] = after
    SERVICES.prepare_update(new, old)
    assert set(old["spec"]) - set(new["spec"]) == gone
    assert all("nodePort" not in port for port in new["spec"]["ports"])
    assert new["status"] == {"loadBalancer": {}}


def test_a_health_check_port_is_for_load_balancers_with_local_traffic(make: Make) -> None:
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}
    assert needs_health_check_node_port(make("v1", "Service", spec=spec))
    assert not needs_health_check_node_port(make("v1", "Service", spec=spec | {"type": "NodePort"}))


def test_a_load_balancer_may_do_without_node_ports(make: Make) -> None:
    spec = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}
    assert not wants_node_ports(make("v1", "Service", spec=spec))
