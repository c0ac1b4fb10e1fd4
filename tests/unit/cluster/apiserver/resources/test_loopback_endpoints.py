"""Endpoints on loopback addresses: refused, unless a cluster's pods live there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.api import ApiClient, api

Object = dict[str, Any]

SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"
REFUSAL = "may not be in the loopback range (127.0.0.0/8, ::1/128)"


def endpoint_slice(address: str) -> Object:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "a"},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address]}],
    }


def endpoints(address: str) -> Object:
    subsets = [{"addresses": [{"ip": address}], "ports": [{"port": 80}]}]
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "a"}, "subsets": subsets}


async def codes(client: ApiClient, address: str) -> list[int]:
    """Of a create and an update of both kinds, which remain."""
    found = []
    for path, body in ((SLICES, endpoint_slice), (ENDPOINTS, endpoints)):
        code, answer = await client.ask("POST", path, body(address))
        found.append(code)
        if code == 422:
            assert REFUSAL in answer["message"] or "link-local" in answer["message"]
            await client.ok("POST", path, body("10.0.0.1"))
        code, _ = await client.ask("PUT", f"{path}/a", body(address))
        found.append(code)
        await client.ok("DELETE", f"{path}/a")
    return found


@pytest.mark.parametrize(
    ("lenient", "address", "wanted"),
    [
        (False, "127.244.0.7", [422] * 4),
        (True, "127.244.0.7", [201, 200, 201, 200]),
        (True, "169.254.0.1", [422] * 4),
    ],
    ids=["as in Kubernetes", "where pods live there", "link-local all the same"],
)
def test_loopback_endpoints(lenient: bool, address: str, wanted: list[int]) -> None:
    async def body() -> list[int]:
        async with api(loopback_endpoints=lenient) as client:
            return await codes(client, address)

    assert asyncio.run(body()) == wanted


def test_endpoints_may_be_where_services_are() -> None:
    async def body() -> list[int]:
        async with api(service_cidr="127.96.0.0/16") as client:
            return await codes(client, "127.244.0.7")

    assert asyncio.run(body()) == [201, 200, 201, 200]


def test_external_addresses_of_services_stay_refused() -> None:
    async def body() -> None:
        async with api(loopback_endpoints=True) as client:
            spec = {"ports": [{"port": 80}], "externalIPs": ["127.0.0.9"]}
            service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": spec}
            code, answer = await client.ask("POST", "/api/v1/namespaces/default/services", service)
            assert (code, REFUSAL in answer["message"]) == (422, True)

    asyncio.run(body())
