"""Promises about Endpoints and EndpointSlices that controllers make."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from tests.support.api import ApiClient

from .keeping import NAMESPACE, Collection, Object, until
from .living import NODE_NAMES, living_promise

_services = partial(Collection, version="v1", plural="services", namespace=NAMESPACE)
_endpoints = partial(Collection, version="v1", plural="endpoints", namespace=NAMESPACE)
_slices = partial(Collection, version="discovery.k8s.io/v1", plural="endpointslices", namespace=NAMESPACE)
_pods = partial(Collection, version="v1", plural="pods", namespace=NAMESPACE)

#: The public test: half of them within 20 seconds, all but a hundredth within 50.
TRIALS, AT_ONCE = 200, 15
MEDIAN_S, TAIL_S = 20.0, 50.0


def service(name: str, selector: dict[str, str] | None = None, target: int | str = 80, **spec: Any) -> Object:
    port = {"name": "example", "port": 80, "protocol": "TCP", "targetPort": target}
    return {"metadata": {"name": name}, "spec": {"selector": selector, "ports": [port], **spec}}


async def of_service(client: ApiClient, name: str) -> list[Object]:
    return await _slices(client).list(f"kubernetes.io/service-name={name}")


@living_promise(
    "EndpointSlice should create and delete EndpointSlices for a Service with a selector that matches no pods",
    "endpointslice",
    "garbagecollector",
)
async def test_a_service_without_pods_has_a_slice(client: ApiClient) -> None:
    name = "example-empty-selector"
    await _services(client).create(service(name, {"does-not-match-anything": "at-all"}))

    async def made() -> bool:
        return len(await of_service(client, name)) > 0

    await until(made)
    [one] = await of_service(client, name)
    managed_by = one["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"]
    assert managed_by == "endpointslice-controller.k8s.io"
    assert not one["endpoints"]
    await _services(client).delete(name)

    async def gone() -> bool:
        return await of_service(client, name) == []

    await until(gone)


@living_promise(
    "EndpointsController should create and delete Endpoints for a Service with a selector that matches no pods",
    "endpoints",
)
async def test_a_service_without_pods_has_endpoints(client: ApiClient) -> None:
    name = "example-empty-selector"
    await _services(client).create(service(name, {"does-not-match-anything": "at-all"}))

    async def made() -> bool:
        return not await _endpoints(client).gone(name)

    await until(made)
    made_endpoints = await _endpoints(client).get(name)
    assert not made_endpoints.get("subsets")
    assert made_endpoints["metadata"]["labels"]["endpoints.kubernetes.io/managed-by"] == "endpoint-controller"
    await _services(client).delete(name)
    await until(lambda: _endpoints(client).gone(name))


@living_promise(
    "EndpointSliceMirroring should mirror a custom Endpoints resource through create update and delete",
    "endpointslicemirroring",
)
async def test_endpoints_made_by_hand_are_mirrored(client: ApiClient) -> None:
    name = "example-custom-endpoints"
    await _services(client).create(service(name))
    made = await _endpoints(client).create(
        {
            "metadata": {"name": name},
            "subsets": [{"ports": [{"port": 80}], "addresses": [{"ip": "10.1.2.3"}]}],
        }
    )

    def saying(address: str) -> Any:
        async def says() -> bool:
            found = await of_service(client, name)
            told = [
                ([port["port"] for port in one["ports"]], [each["addresses"] for each in one["endpoints"]])
                for one in found
            ]
            return told == [([80], [[address]])]

        return says

    await until(saying("10.1.2.3"))
    await _endpoints(client).replace(
        {**made, "subsets": [{"ports": [{"port": 80}], "addresses": [{"ip": "10.2.3.4"}]}]}
    )
    await until(saying("10.2.3.4"))
    await _endpoints(client).delete(name)

    async def gone() -> bool:
        return await of_service(client, name) == []

    await until(gone)


async def _two_pods(client: ApiClient) -> list[Object]:
    """Pods with addresses, as their nodes would give them."""
    ports = {
        "pod1": [{"name": "example-name", "containerPort": 3000}],
        "pod2": [
            {"name": "example-name", "containerPort": 3001},
            {"name": "other-port", "containerPort": 3002},
        ],
    }
    pods = []
    for number, (name, exposed) in enumerate(ports.items()):
        containers = [{"name": "container1", "image": "nginx", "ports": exposed}]
        await _pods(client).create(
            {
                "metadata": {"name": name, "labels": {name: "on", "shared12": "on"}},
                "spec": {"containers": containers, "nodeName": NODE_NAMES[0]},
            }
        )
        ip = f"10.1.0.{number + 1}"
        pods.append(
            await _pods(client).patch(
                name, {"status": {"podIP": ip, "podIPs": [{"ip": ip}]}}, "merge", "status"
            )
        )
    return pods


async def _with_services(client: ApiClient) -> list[Object]:
    pods = await _two_pods(client)
    await _services(client).create(
        service("example-int-port", {"pod1": "on"}, 3000, publishNotReadyAddresses=True)
    )
    await _services(client).create(
        service("example-named-port", {"shared12": "on"}, "example-name", publishNotReadyAddresses=True)
    )
    return pods


@living_promise(
    "EndpointSlice should create Endpoints and EndpointSlices for Pods matching a Service", "endpointslice"
)
async def test_slices_tell_of_pods(client: ApiClient) -> None:
    pod1, pod2 = await _with_services(client)

    def telling(name: str, *wanted: tuple[int, Object]) -> Any:
        async def tells() -> bool:
            found = {
                (port["port"], each["targetRef"]["uid"], each["addresses"][0], each["conditions"]["ready"])
                for one in await of_service(client, name)
                for port in one["ports"]
                for each in one["endpoints"]
            }
            return found == {
                (port, pod["metadata"]["uid"], pod["status"]["podIP"], True) for port, pod in wanted
            }

        return tells

    await until(telling("example-int-port", (3000, pod1)))
    named = telling("example-named-port", (3000, pod1), (3001, pod2))
    await until(named)
    assert len(await of_service(client, "example-named-port")) == 2
    await _slices(client).delete_all("kubernetes.io/service-name=example-named-port")
    await until(named)
    assert len(await of_service(client, "example-named-port")) == 2


@living_promise("EndpointsController should create Endpoints for Pods matching a Service", "endpoints")
async def test_endpoints_tell_of_pods(client: ApiClient) -> None:
    pod1, pod2 = await _with_services(client)

    def telling(name: str, *wanted: tuple[int, Object]) -> Any:
        async def tells() -> bool:
            if await _endpoints(client).gone(name):
                return False
            subsets = (await _endpoints(client).get(name)).get("subsets") or []
            found = {
                (port["port"], address["targetRef"]["uid"], address["ip"])
                for subset in subsets
                for port in subset["ports"]
                for address in subset["addresses"]
            }
            return found == {(port, pod["metadata"]["uid"], pod["status"]["podIP"]) for port, pod in wanted}

        return tells

    await until(telling("example-int-port", (3000, pod1)))
    named = telling("example-named-port", (3000, pod1), (3001, pod2))
    await until(named)
    await _endpoints(client).delete("example-named-port")
    await until(named)


@living_promise("Service endpoints latency should not be very high", "endpointslice")
async def test_services_have_endpoints_soon(client: ApiClient) -> None:
    await _two_pods(client)
    loop = asyncio.get_running_loop()
    seen: dict[str, float] = {}
    begun: dict[str, float] = {}

    async def follow() -> None:
        async with _slices(client).watch() as events:
            while len(seen) < TRIALS:
                told = (await events.next())["object"]
                if told.get("endpoints"):
                    seen.setdefault(told["metadata"]["labels"]["kubernetes.io/service-name"], loop.time())

    at_once = asyncio.Semaphore(AT_ONCE)

    async def trial(number: int) -> None:
        name = f"latency-svc-{number}"
        async with at_once:
            begun[name] = loop.time()
            await _services(client).create(service(name, {"pod1": "on"}, 3000))

    await asyncio.gather(follow(), *map(trial, range(TRIALS)))
    waits = sorted(seen[name] - at for name, at in begun.items())
    assert waits[TRIALS // 2] < MEDIAN_S
    assert waits[TRIALS * 99 // 100] < TAIL_S
