"""Services as kubectl makes and changes them: addresses, node ports, types."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.kubectl import Kubectl

pytestmark = pytest.mark.slow


def spec(kubectl: Kubectl, name: str) -> dict[str, Any]:
    found: dict[str, Any] = kubectl.get(f"service {name}")["spec"]
    return found


def test_service_addresses_are_given_once(kubectl: Kubectl) -> None:
    for name in ("one", "two"):
        kubectl("create", "service", "clusterip", name, "--tcp=80")
    first, second = (kubectl.get(f"svc {name}")["spec"]["clusterIP"] for name in ("one", "two"))
    assert first != second
    said = kubectl.fails("create", "service", "clusterip", "three", "--tcp=80", f"--clusterip={first}")
    assert (
        f'spec.clusterIPs: Invalid value: ["{first}"]: failed to allocate IP {first}: provided IP is already allocated'
        in said
    )
    kubectl("delete", "svc", "one")
    kubectl("create", "service", "clusterip", "three", "--tcp=80", f"--clusterip={first}")


def test_node_ports_are_given_once_and_within_their_range(kubectl: Kubectl) -> None:
    kubectl("create", "service", "nodeport", "one", "--tcp=80")
    port = spec(kubectl, "one")["ports"][0]["nodePort"]
    assert 30000 <= port <= 32767
    said = kubectl.fails("create", "service", "nodeport", "two", "--tcp=80", f"--node-port={port}")
    assert said == (
        f'error: failed to create NodePort service: Service "two" is invalid: spec.ports[0].nodePort: '
        f"Invalid value: {port}: provided port is already allocated"
    )
    said = kubectl.fails("create", "service", "nodeport", "two", "--tcp=80", "--node-port=100")
    assert said.endswith(
        "Invalid value: 100: provided port is not in the valid range. The range of valid ports is 30000-32767"
    )
    kubectl("delete", "service", "one")
    kubectl("create", "service", "nodeport", "two", "--tcp=80", f"--node-port={port}")


def test_a_service_changes_its_type(kubectl: Kubectl) -> None:
    kubectl("create", "service", "clusterip", "s", "--tcp=80")
    address = spec(kubectl, "s")["clusterIP"]

    kubectl("patch", "service", "s", "-p", '{"spec":{"type":"NodePort"}}')
    port = spec(kubectl, "s")["ports"][0]["nodePort"]
    assert spec(kubectl, "s")["externalTrafficPolicy"] == "Cluster"
    assert spec(kubectl, "s")["clusterIP"] == address

    kubectl("patch", "service", "s", "-p", '{"spec":{"type":"ClusterIP"}}')
    assert "nodePort" not in spec(kubectl, "s")["ports"][0]
    assert "externalTrafficPolicy" not in spec(kubectl, "s")
    kubectl("create", "service", "nodeport", "other", "--tcp=80", f"--node-port={port}")

    kubectl("patch", "service", "s", "-p", '{"spec":{"type":"ExternalName","externalName":"db.example.com"}}')
    assert not {"clusterIP", "clusterIPs", "ipFamilies"} & set(spec(kubectl, "s"))
    kubectl("create", "service", "clusterip", "heir", "--tcp=80", f"--clusterip={address}")


def test_an_address_cannot_be_exchanged(kubectl: Kubectl) -> None:
    kubectl("create", "service", "clusterip", "s", "--tcp=80", "--clusterip=10.96.200.1")
    said = kubectl.fails("patch", "service", "s", "-p", '{"spec":{"clusterIP":"10.96.200.2"}}')
    assert said == (
        'The Service "s" is invalid: spec.clusterIPs[0]: Invalid value: ["10.96.200.2"]: may not change once set'
    )
