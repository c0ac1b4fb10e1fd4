"""Where nodes are called, and where clients of a proxy may be led to."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.apiserver.forwarding.node_connections import ForwardTarget, NodeConnections
from steersman.cluster.auth.pki import StoredAuthority
from steersman.objects.status import StatusError

AUTHORITY = StoredAuthority.make()
CONNECTIONS = NodeConnections(AUTHORITY)


def node(port: int, *addresses: tuple[str, str]) -> dict[str, Any]:
    listed = [{"type": kind, "address": address} for kind, address in addresses]
    status = {"addresses": listed, "daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}
    return {"metadata": {"name": "n"}, "status": status}


@pytest.mark.parametrize(
    ("addresses", "host"),
    [
        ([("Hostname", "h"), ("InternalIP", "10.0.0.1")], "10.0.0.1"),
        ([("InternalIP", "10.0.0.1"), ("InternalIP", "10.0.0.2")], "10.0.0.1"),
        ([("ExternalIP", "1.2.3.4"), ("Hostname", "h")], "h"),
        ([("ExternalDNS", "e"), ("ExternalIP", "1.2.3.4")], "1.2.3.4"),
        ([("InternalIP", "fd00::1")], "fd00::1"),
    ],
)
def test_the_best_address_is_called(addresses: list[tuple[str, str]], host: str) -> None:
    place = CONNECTIONS.node(node(10250, *addresses))
    assert place == ForwardTarget("https", host, 10250, node=True)
    assert place.url == f"https://{f'[{host}]' if ':' in host else host}:10250"


@pytest.mark.parametrize("port", [0, None])
def test_a_node_without_a_port_cannot_be_called(port: int) -> None:
    with pytest.raises(StatusError, match="node n cannot be reached: it serves no API") as error:
        CONNECTIONS.node(node(port, ("InternalIP", "10.0.0.1")))
    assert (error.value.code, list(error.value.headers)) == (503, [])


def test_of_a_simulated_node_people_are_told_why_it_cannot_be_called() -> None:
    simulated = node(0, ("InternalIP", "10.0.0.1"))
    simulated["status"]["nodeInfo"] = {"containerRuntimeVersion": "simulated://1.0"}
    with pytest.raises(
        StatusError, match="node n cannot be reached: it is simulated, and nothing really runs"
    ):
        CONNECTIONS.node(simulated)


@pytest.mark.parametrize("host", ["10.1.2.3", "8.8.8.8", "fd00::1", "127.0.0.1", "::1"])
@pytest.mark.parametrize("lenient", [False, True])
def test_loopback_is_reached_only_where_pods_live_on_it(host: str, lenient: bool) -> None:
    connections = NodeConnections(AUTHORITY, allows_loopback=lenient)
    if lenient or host not in ("127.0.0.1", "::1"):
        connections.check(host)
        return
    with pytest.raises(StatusError, match="address not allowed"):
        connections.check(host)


@pytest.mark.parametrize(
    "host",
    [
        "", "0.0.0.0", "169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "224.0.0.1", "255.255.255.255",
        "example.com",
    ],
)  # fmt: skip
def test_other_addresses_are_never_reached(host: str) -> None:
    with pytest.raises(StatusError, match="address not allowed"):
        NodeConnections(AUTHORITY, allows_loopback=True).check(host)
