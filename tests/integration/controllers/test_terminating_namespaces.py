"""Workloads in a namespace that goes: nothing is made again, nobody tries for ever."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import DAEMON_SETS, NAMESPACES, PODS, REPLICA_SETS, STATEFUL_SETS
from tests.integration.controllers.workloads import World, with_workloads

LABELS = {"app": "x"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.mark.parametrize(
    ("controller", "resource", "more"),
    [
        pytest.param("replicaset", REPLICA_SETS, {"replicas": 2}, id="replicaset"),
        pytest.param("statefulset", STATEFUL_SETS, {"replicas": 2, "serviceName": "x"}, id="statefulset"),
        pytest.param("daemonset", DAEMON_SETS, {}, id="daemonset"),
    ],
)
def test_pods_that_go_are_not_made_again(
    controller: str, resource: ResourceType, more: dict[str, Any]
) -> None:
    @with_workloads(controller)
    async def run(world: World) -> None:
        await world.add_nodes("n0", "n1")
        await world.client.create({"metadata": {"name": "doomed"}}, kind=NAMESPACES)
        spec = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE, **more}
        owner = {"metadata": {"name": "x"}, "spec": spec}
        await world.client.create(owner, kind=resource, namespace="doomed")

        async def pods(count: int) -> list[dict[str, Any]] | None:
            found = list(await world.client.list(PODS, "doomed"))
            running = [one for one in found if one["status"]["phase"] == "Running"]
            return running or [{}] if len(running) == count == len(found) else None

        running = await world.until(lambda: pods(2))
        await world.client.delete(NAMESPACES, "doomed")
        for pod in running:
            await world.client.delete(PODS, pod["metadata"]["name"], "doomed")
        await world.until(lambda: pods(0))
        await world.quiet()

    run()
