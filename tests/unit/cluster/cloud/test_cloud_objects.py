"""What clouds are asked for and what nodes are told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.cluster.cloud import InstanceMetadata, Route
from steersman.cluster.cloud.local import LocalLoadBalancers
from steersman.cluster.cloud.node_routes import plan_routes
from steersman.cluster.cloud.nodes import UNINITIALIZED, addresses, initialized
from steersman.cluster.cloud.services import demand, takes_traffic

Object = dict[str, Any]


def node(name: str = "n", **spec: Any) -> Object:
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec}


def service(name: str = "s", ip: str = "", **spec: Any) -> Object:
    ingress = [{"ip": ip}] if ip else []
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}"},
        "spec": spec,
        "status": {"loadBalancer": {"ingress": ingress}},
    }


# --- local load balancers


def given(of: Object, others: list[Object]) -> list[str]:
    balancers = LocalLoadBalancers(lambda: [of, *others])
    return [ingress["ip"] for ingress in asyncio.run(balancers.ensure(of, []))]


@pytest.mark.parametrize(
    ("of", "others", "ips"),
    [
        pytest.param(service(), [], ["127.100.0.1"], id="the first"),
        pytest.param(service(), [service("o", "127.100.0.1")], ["127.100.0.2"], id="the next"),
        pytest.param(service(ip="127.100.0.9"), [], ["127.100.0.9"], id="the one it has"),
        pytest.param(service(loadBalancerIP="127.100.7.7"), [], ["127.100.7.7"], id="the one it wishes"),
        pytest.param(
            service(loadBalancerIP="127.100.0.1"), [service("o", "127.100.0.1")], ["127.100.0.2"], id="taken"
        ),
        pytest.param(service(loadBalancerIP="8.8.8.8"), [], ["127.100.0.1"], id="not of this machine"),
        pytest.param(service(ipFamilies=["IPv6"]), [], ["::1"], id="IPv6"),
        pytest.param(service(ipFamilies=["IPv4", "IPv6"]), [], ["127.100.0.1", "::1"], id="both"),
    ],
)
def test_addresses_of_this_machine(of: Object, others: list[Object], ips: list[str]) -> None:
    assert given(of, others) == ips


def test_an_address_is_not_given_twice_before_the_status_shows_it() -> None:
    one, other = service("one"), service("other")
    balancers = LocalLoadBalancers(lambda: [one, other])

    async def ensure_both() -> list[str]:
        return [(await balancers.ensure(each, []))[0]["ip"] for each in (one, other, one)]

    assert asyncio.run(ensure_both()) == ["127.100.0.1", "127.100.0.2", "127.100.0.1"]


# --- services


@pytest.mark.parametrize(
    ("of", "takes"),
    [
        pytest.param(node(), True, id="any"),
        pytest.param(node(taints=[{"key": "ToBeDeletedByClusterAutoscaler"}]), False, id="leaving"),
        pytest.param(node(taints=[{"key": "other"}]), True, id="tainted otherwise"),
        pytest.param({**node(), "metadata": {"deletionTimestamp": "now"}}, False, id="being deleted"),
        pytest.param(
            {
                **node(),
                "metadata": {"labels": {"node.kubernetes.io/exclude-from-external-load-balancers": ""}},
            },
            False,
            id="excluded",
        ),
    ],
)
def test_nodes_that_take_traffic(of: Object, takes: bool) -> None:
    assert takes_traffic(of) is takes


def test_a_load_balancer_depends_on_ports_and_not_on_the_selector() -> None:
    assert demand(service(ports=[{"port": 80}])) != demand(service(ports=[{"port": 81}]))
    assert demand(service(selector={"a": "b"})) == demand(service(selector={"a": "c"}))


# --- nodes


def test_a_node_is_told_what_the_cloud_knows() -> None:
    metadata = InstanceMetadata(
        "cloud://1", "large", "z1", "r1", labels={"team": "x", "kubernetes.io/no": "y", "own": "z"}
    )
    of = node(taints=[{"key": UNINITIALIZED, "effect": "NoSchedule"}, {"key": "other"}])
    of["metadata"]["labels"] = {"own": "kept"}
    told = initialized(of, metadata)
    assert told["spec"] == {"taints": [{"key": "other"}], "providerID": "cloud://1"}
    assert told["metadata"]["labels"] == {
        "own": "kept",
        "team": "x",
        "beta.kubernetes.io/instance-type": "large",
        "node.kubernetes.io/instance-type": "large",
        "failure-domain.beta.kubernetes.io/zone": "z1",
        "topology.kubernetes.io/zone": "z1",
        "failure-domain.beta.kubernetes.io/region": "r1",
        "topology.kubernetes.io/region": "r1",
    }


def test_a_node_keeps_its_own_name_if_the_cloud_has_none() -> None:
    own = {"type": "Hostname", "address": "n"}
    outside = {"type": "ExternalIP", "address": "1.2.3.4"}
    of = {**node(), "status": {"addresses": [own, {"type": "InternalIP", "address": "10.0.0.1"}]}}
    assert addresses(of, [outside]) == [outside, own]
    assert addresses(of, [outside, {"type": "Hostname", "address": "m"}])[-1]["address"] == "m"
    assert addresses(of, []) == []


# --- routes


@pytest.mark.parametrize(
    ("routes", "created", "deleted"),
    [
        pytest.param([], ["10.1.0.0/24"], [], id="missing"),
        pytest.param([Route("n", "10.1.0.0/24", "r")], [], [], id="there"),
        pytest.param([Route("x", "10.1.9.0/24", "r")], ["10.1.0.0/24"], ["r"], id="of a node that is gone"),
        pytest.param([Route("x", "192.168.0.0/24", "r")], ["10.1.0.0/24"], [], id="somebody else's"),
        pytest.param(
            [Route("n", "10.1.0.0/24", "r", blackhole=True)], ["10.1.0.0/24"], ["r"], id="leads nowhere"
        ),
    ],
)
def test_routes(routes: list[Route], created: list[str], deleted: list[str]) -> None:
    plan = plan_routes([node("n", podCIDRs=["10.1.0.0/24"]), node("m")], routes, ["10.1.0.0/16"])
    assert [route.cidr for route in plan.create] == created
    assert [route.name for route in plan.delete] == deleted
