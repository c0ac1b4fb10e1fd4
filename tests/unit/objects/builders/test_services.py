"""Service: the type that was said last counts, and ports get names when they need them."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.objects.builders import NetworkPolicy, NetworkPolicyIngress, Service


def web() -> Service:
    return Service("web").port(80, 8080)


PORT = {"port": 80, "targetPort": 8080}


@pytest.mark.parametrize(
    ("built", "spec"),
    [
        (web(), {"ports": [PORT]}),
        (web().cluster_ip(), {"ports": [PORT], "type": "ClusterIP"}),
        (web().headless(), {"ports": [PORT], "type": "ClusterIP", "clusterIP": "None"}),
        (web().headless().load_balancer(), {"ports": [PORT], "type": "LoadBalancer"}),
        (web().headless().cluster_ip(), {"ports": [PORT], "type": "ClusterIP"}),
        (web().node_port(80, 8080, 30080), {"ports": [{**PORT, "nodePort": 30080}], "type": "NodePort"}),
        (web().node_port(80), {"ports": [PORT], "type": "NodePort"}),
        (
            web().load_balancer().node_port(80, 8080, 30080),
            {"ports": [{**PORT, "nodePort": 30080}], "type": "LoadBalancer"},
        ),
        (
            web().node_port(80, 8080, 30080).load_balancer(),
            {"ports": [{**PORT, "nodePort": 30080}], "type": "LoadBalancer"},
        ),
        (web().node_port(80, 8080, 30080).cluster_ip(), {"ports": [PORT], "type": "ClusterIP"}),
        (web().external_name("a.b").cluster_ip(), {"ports": [PORT], "type": "ClusterIP"}),
    ],
    ids=[
        "default",
        "cluster ip",
        "headless",
        "load balancer after headless",
        "cluster ip after headless",
        "node port for a port",
        "node port of the node's choice",
        "node port of a load balancer",
        "load balancer after node port",
        "cluster ip after node port",
        "cluster ip after external name",
    ],
)
def test_the_last_type_counts(built: Service, spec: dict[str, Any]) -> None:
    assert built.to_object()["spec"] == spec


def test_several_ports_all_have_names() -> None:
    built = web().port(53, protocol="UDP").named_port("metrics", 9090, "metrics")
    assert built.to_object()["spec"]["ports"] == [
        {"name": "tcp-80", "port": 80, "targetPort": 8080},
        {"name": "udp-53", "port": 53, "protocol": "UDP"},
        {"name": "metrics", "port": 9090, "targetPort": "metrics"},
    ]


def test_there_is_no_selector_unless_given() -> None:
    assert "selector" not in web().to_object()["spec"]
    assert web().selector(app="a").selector({"b": "c"}).spec["selector"] == {"app": "a", "b": "c"}


def test_policy_without_selector_is_about_all_pods() -> None:
    made = NetworkPolicy("p").deny_all_egress().allow_ingress(NetworkPolicyIngress()).to_object()
    assert made["spec"] == {"podSelector": {}, "ingress": [{}], "policyTypes": ["Ingress", "Egress"]}
