"""The order of ports, as kube-controller-manager wrote it."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.controllers.endpoints.port_order import endpoints_port_order, slice_port_order

PORTS: list[dict[str, Any]] = [
    {"name": f"n{number}", "port": 2000 + number, "protocol": ("TCP", "UDP")[number % 2]}
    | ({"appProtocol": "h2c"} if number % 3 == 0 else {})
    for number in range(12)
]


@pytest.mark.parametrize(
    ("order", "names"),
    [
        pytest.param(endpoints_port_order, "n5 n11 n10 n8 n7 n1 n2 n4 n3 n9 n0 n6", id="Endpoints"),
        pytest.param(slice_port_order, "n4 n1 n0 n2 n8 n9 n10 n6 n3 n5 n7 n11", id="EndpointSlice"),
    ],
)
def test_ports_are_in_the_order_of_their_hashes(order: Any, names: str) -> None:
    assert [port["name"] for port in sorted(PORTS, key=order)] == names.split()
