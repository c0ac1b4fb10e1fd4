"""Where services are, and what they say when they are nowhere."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.cluster.admission.client_cache import ClientCache
from steersman.cluster.admission.services import EndpointResolver, ServiceUnreachable
from steersman.http import Client

from .conftest import Stored

Object = dict[str, Any]
PORTS = [{"name": "https", "port": 443}, {"name": "web", "port": 80}]


@pytest.fixture
def cluster(stored: Stored) -> Stored:
    stored.add("", "services", "s", spec={"type": "ClusterIP", "ports": PORTS})
    return stored


def add_slice(stored: Stored, *endpoints: Object, service: str = "s", **rest: Any) -> None:
    labels = {"kubernetes.io/service-name": service}
    ports = [{"name": "https", "port": 8443}, {"name": "web", "port": 8080}]
    stored.add(
        "discovery.k8s.io", "endpointslices", f"{service}-1",
        **{"metadata": {"labels": labels}, "endpoints": list(endpoints), "ports": ports, **rest},
    )  # fmt: skip


def test_a_ready_endpoint_is_chosen_by_the_ports_name(cluster: Stored) -> None:
    add_slice(
        cluster, {"addresses": ["10.0.0.1"], "conditions": {"ready": False}}, {"addresses": ["10.0.0.2"]}
    )
    add_slice(cluster, {"addresses": ["10.0.0.3"]}, service="other")
    resolver = EndpointResolver(cluster)
    assert {resolver.resolve("n", "s", 443) for _ in range(20)} == {("10.0.0.2", 8443)}
    assert resolver.resolve("n", "s", 80) == ("10.0.0.2", 8080)


def test_load_is_spread(cluster: Stored) -> None:
    add_slice(cluster, *({"addresses": [f"10.0.0.{n}"]} for n in range(4)))
    resolver = EndpointResolver(cluster)
    assert len({resolver.resolve("n", "s", 443) for _ in range(200)}) == 4


def test_endpoints_count_too(cluster: Stored) -> None:
    subsets = [{"addresses": [{"ip": "10.0.0.9"}], "ports": [{"name": "https", "port": 9443}]}]
    cluster.add("", "endpoints", "s", subsets=subsets)
    assert EndpointResolver(cluster).resolve("n", "s", 443) == ("10.0.0.9", 9443)


def test_an_external_name_is_where_it_says(stored: Stored) -> None:
    stored.add("", "services", "s", spec={"type": "ExternalName", "externalName": "example.com"})
    assert EndpointResolver(stored).resolve("n", "s", 8443) == ("example.com", 8443)


@pytest.mark.parametrize(
    ("name", "port", "message"),
    [
        ("gone", 443, 'service "gone" not found'),
        ("s", 444, 'no service port 444 found for service "s"'),
        ("s", 443, 'no endpoints available for service "s"'),
    ],
)
def test_what_cannot_be_reached(cluster: Stored, name: str, port: int, message: str) -> None:
    with pytest.raises(ServiceUnreachable, match=f"^{message}$"):
        EndpointResolver(cluster).resolve("n", name, port)


def test_clients_are_kept_up_to_a_number_of_places() -> None:
    made: list[str] = []

    def connect(place: str) -> Client:
        made.append(place)
        return Client(f"http://{place}")

    async def run() -> None:
        clients = ClientCache(connect, most=2)
        first = clients.to("a")
        clients.to("b")
        assert clients.to("a") is first
        clients.to("c")
        assert clients.to("a") is first
        clients.to("b")
        await clients.close()

    asyncio.run(run())
    assert made == ["a", "b", "c", "b"]
