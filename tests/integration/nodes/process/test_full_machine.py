"""A machine without room for a second pod: whoever is given a place that was freed runs there.

Scheduler, controllers and real processes, many times in a row.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from steersman.client import Client
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.objects.quantities import Quantity
from steersman.objects.resources import DEPLOYMENTS, NODES, PODS, PRIORITY_CLASSES, STATEFUL_SETS
from steersman.testing import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

Object = dict[str, Any]
Test = Callable[[Client, str], Awaitable[None]]

NAMESPACE = "default"
PATIENCE_S = 60.0
ROUNDS = 4
_LABELS = {"app": "a"}


@asynccontextmanager
async def full_machine() -> AsyncIterator[tuple[Client, str]]:
    """A cluster, and so much CPU that only one pod can have it."""
    async with LocalCluster(ClusterConfig(controllers=("all",), process_nodes=1)) as cluster:
        client = cluster.client()

        async def allocatable() -> str:
            nodes = await client.list(NODES)
            return str(nodes[0]["status"]["allocatable"]["cpu"]) if nodes else ""

        cpu = Quantity.parse(await eventually(allocatable, PATIENCE_S))
        yield client, f"{cpu.milli_value * 2 // 3}m"


def run(test: Test) -> None:
    async def main() -> None:
        async with full_machine() as (client, cpu):
            await test(client, cpu)

    asyncio.run(main())


def spec(cpu: str, **fields: Any) -> Object:
    container = {
        "name": "main",
        "image": "host/sh",
        "command": ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done"],
        "resources": {"requests": {"cpu": cpu}},
    }
    return {"containers": [container], "terminationGracePeriodSeconds": 5, **fields}


def workload(cpu: str, **fields: Any) -> Object:
    template = {"metadata": {"labels": _LABELS}, "spec": spec(cpu)}
    return {
        "metadata": {"name": "a", "namespace": NAMESPACE},
        "spec": {"replicas": 1, "selector": {"matchLabels": _LABELS}, "template": template, **fields},
    }


def template_with(round_: int) -> Object:
    return {"spec": {"template": {"metadata": {"annotations": {"round": str(round_)}}}}}


async def running(client: Client, holds: Callable[[Object], bool]) -> None:
    """Wait until one pod runs of which this is true; no pod is ever refused."""

    async def so() -> bool:
        pods = await client.list(PODS, NAMESPACE)
        # Not an assertion, which would count as not yet.
        if refused := [pod["status"] for pod in pods if pod["status"].get("reason", "").startswith("OutOf")]:
            pytest.fail(f"refused: {refused[0]['message']}")
        return any(pod["status"]["phase"] == "Running" and holds(pod) for pod in pods)

    await eventually(so, PATIENCE_S)


def of_round(number: int) -> Callable[[Object], bool]:
    return lambda pod: (pod["metadata"].get("annotations") or {}).get("round") == str(number)


def test_whoever_matters_more_takes_the_place_of_another() -> None:
    async def test(client: Client, cpu: str) -> None:
        for number in range(ROUNDS + 1):
            one = {"metadata": {"name": f"class-{number}"}, "value": number}
            await client.create(one, kind=PRIORITY_CLASSES)
            metadata = {"name": f"p{number}", "namespace": NAMESPACE}
            pod = {"metadata": metadata, "spec": spec(cpu, priorityClassName=f"class-{number}")}
            await client.create(pod, kind=PODS)
            await running(client, lambda pod, name=f"p{number}": bool(pod["metadata"]["name"] == name))

    run(test)


def test_a_deployment_that_is_recreated_leaves_no_failed_pods() -> None:
    async def test(client: Client, cpu: str) -> None:
        await client.create(workload(cpu, strategy={"type": "Recreate"}), kind=DEPLOYMENTS)
        await running(client, lambda _: True)
        for number in range(ROUNDS):
            await client.patch(DEPLOYMENTS, "a", template_with(number), NAMESPACE)
            await running(client, of_round(number))
        assert [pod["status"]["phase"] for pod in await client.list(PODS, NAMESPACE)] == ["Running"]

    run(test)


def test_a_stateful_set_is_restarted_in_its_own_place() -> None:
    async def test(client: Client, cpu: str) -> None:
        await client.create(workload(cpu, serviceName="a"), kind=STATEFUL_SETS)
        await running(client, lambda _: True)
        for number in range(ROUNDS):
            await client.patch(STATEFUL_SETS, "a", template_with(number), NAMESPACE)
            await running(client, of_round(number))

    run(test)
