"""Which ports of pods are where on their node."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.proxy.frontends import Backend, Frontend
from steersman.cluster.proxy.host_ports import host_ports

NODES = {"node-1": "10.0.0.1"}
Found = list[tuple[str, str, int]]


def pod(port: dict[str, Any], *, status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "ports": [{"containerPort": 8080, **port}]}
    return {
        "spec": {"nodeName": "node-1", "containers": [container], **spec},
        "status": {"podIP": "10.1.0.5", "phase": "Running", **(status or {})},
    }


CASES: dict[str, tuple[dict[str, Any], Found]] = {
    "none is asked for": (pod({}), []),
    "at its node and at localhost": (
        pod({"hostPort": 80}),
        [("TCP", "10.0.0.1", 80), ("TCP", "127.0.0.1", 80)],
    ),
    "at all addresses, by name": (
        pod({"hostPort": 80, "hostIP": "0.0.0.0"}),
        [("TCP", "10.0.0.1", 80), ("TCP", "127.0.0.1", 80)],
    ),
    "at localhost only": (pod({"hostPort": 80, "hostIP": "127.0.0.1"}), [("TCP", "127.0.0.1", 80)]),
    "at its node only, by datagrams": (
        pod({"hostPort": 80, "hostIP": "10.0.0.1", "protocol": "UDP"}),
        [("UDP", "10.0.0.1", 80)],
    ),
    "at an address that is not its node's": (pod({"hostPort": 80, "hostIP": "192.0.2.1"}), []),
    "by a protocol that is not spoken": (pod({"hostPort": 80, "protocol": "SCTP"}), []),
    "of a pod that has the node's network anyway": (pod({"hostPort": 80}, hostNetwork=True), []),
    "of a pod of another machine": (pod({"hostPort": 80}, nodeName="node-2"), []),
    "of a pod without address yet": (pod({"hostPort": 80}, status={"podIP": ""}), []),
    "of a pod that is over": (pod({"hostPort": 80}, status={"phase": "Succeeded"}), []),
}


@pytest.mark.parametrize(("given", "expected"), CASES.values(), ids=CASES.keys())
def test_ports_are_where_they_are_asked_for(given: dict[str, Any], expected: Found) -> None:
    found = dict(host_ports(given, NODES))
    assert [tuple(one) for one in found] == expected
    assert set(found.values()) <= {Backend("10.1.0.5", 8080)}


def test_every_container_counts() -> None:
    given = pod({"hostPort": 80})
    given["spec"]["initContainers"] = [{"name": "init", "ports": [{"containerPort": 9, "hostPort": 90}]}]
    assert dict(host_ports(given, NODES))[Frontend("TCP", "10.0.0.1", 90)] == Backend("10.1.0.5", 9)
