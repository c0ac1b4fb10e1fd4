"""Promises about where pods go, with a scheduler; the tests play the part of nodes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from steersman.cluster.controllers.registry import add_controllers
from steersman.cluster.controllers.setup import Setup
from steersman.cluster.scheduler import add_scheduler
from steersman.objects.conditions import find_condition
from steersman.runtime import Manager
from tests.support.api import ApiClient

from .keeping import NAMESPACE, Collection, Object, keep, promise, promised, until

_EXTENDED = "scheduling.k8s.io/foo"
_NODES = ("node-a", "node-b")


@asynccontextmanager
async def _scheduling(client: ApiClient, *controllers: str) -> AsyncIterator[Scheduled]:
    """Ready nodes with some of an extended resource, and a scheduler."""
    nodes = Collection(client, "v1", "nodes")
    amounts = {"cpu": "10", "memory": "8Gi", "pods": "110", _EXTENDED: "5"}
    for name in _NODES:
        metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}}
        await nodes.create({"metadata": metadata, "status": {"allocatable": amounts, "capacity": amounts}})
        await nodes.patch(name, {"spec": {"taints": None}})
    await Collection(client, "v1", "serviceaccounts", NAMESPACE).create({"metadata": {"name": "default"}})
    manager = Manager(client.cluster.client(), address=None)
    add_scheduler(manager)
    add_controllers(Setup(manager), controllers)
    running = asyncio.create_task(manager.run())
    try:
        yield Scheduled(client)
    finally:
        manager.stop()
        await running


class Scheduled:
    """Pods of the test's namespace, and where they are."""

    def __init__(self, client: ApiClient) -> None:
        self.client = client
        self.pods = Collection(client, "v1", "pods", NAMESPACE)

    async def create(self, name: str, requests: Object | None = None, **spec: Any) -> Object:
        amounts = {"requests": requests or {}, "limits": requests or {}}
        metadata = {"name": name, **spec.pop("metadata", {})}
        container = {"name": "pause", "image": "pause", "resources": amounts, **spec.pop("container", {})}
        grace = {"terminationGracePeriodSeconds": 0}
        return await self.pods.create(
            {"metadata": metadata, "spec": {"containers": [container], **grace, **spec}}
        )

    async def node(self, name: str) -> str:
        async def scheduled() -> bool:
            return bool((await self.pods.get(name))["spec"].get("nodeName"))

        await until(scheduled)
        return str((await self.pods.get(name))["spec"]["nodeName"])

    async def refused(self, name: str) -> str:
        """What the scheduler says of a pod that fits nowhere."""

        async def told() -> bool:
            return bool(await self._message(name))

        await until(told)
        return await self._message(name)

    async def _message(self, name: str) -> str:
        pod = await self.pods.get(name)
        condition = find_condition(pod["status"].get("conditions"), "PodScheduled") or {}
        return str(condition.get("message", "")) if condition.get("reason") == "Unschedulable" else ""

    async def terminating(self, name: str) -> bool:
        code, pod = await self.client.ask("GET", self.pods.of(name))
        return code == 404 or pod["metadata"].get("deletionTimestamp") is not None

    async def priorities(self, **values: int) -> None:
        classes = Collection(self.client, "scheduling.k8s.io/v1", "priorityclasses")
        for name, value in values.items():
            await classes.create({"metadata": {"name": name}, "value": value})


def _on(node: str) -> Object:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


@promise("SchedulerPredicates validates resource limits of pods that are allowed to run")
async def test_resource_limits(client: ApiClient) -> None:
    async with _scheduling(client) as scheduled:
        nodes = Collection(client, "v1", "nodes")
        for name in _NODES:
            await nodes.patch(name, {"metadata": {"labels": {"node": name}}})
            expression = {"key": "node", "operator": "In", "values": [name]}
            terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
            affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
            await scheduled.create(f"filler-{name}", {"cpu": "7"}, affinity=affinity)
            assert await scheduled.node(f"filler-{name}") == name
        await scheduled.create("additional-pod", {"cpu": "5"})
        assert (await scheduled.refused("additional-pod")).startswith(
            "0/2 nodes are available: 2 Insufficient cpu."
        )


@pytest.mark.parametrize(
    "matching",
    [
        pytest.param(
            True, id=promised("SchedulerPredicates validates that NodeSelector is respected if matching")
        ),
        pytest.param(
            False, id=promised("SchedulerPredicates validates that NodeSelector is respected if not matching")
        ),
    ],
)
def test_node_selectors(matching: bool) -> None:
    async def test(client: ApiClient) -> None:
        async with _scheduling(client) as scheduled:
            if matching:
                labels = {"metadata": {"labels": {"kubernetes.io/e2e": "42"}}}
                await Collection(client, "v1", "nodes").patch("node-b", labels)
                await scheduled.create("with-labels", nodeSelector={"kubernetes.io/e2e": "42"})
                assert await scheduled.node("with-labels") == "node-b"
            else:
                await scheduled.create("restricted-pod", nodeSelector={"label": "nonempty"})
                assert "2 node(s) didn't match Pod's node affinity/selector." in await scheduled.refused(
                    "restricted-pod"
                )

    keep(test)


@promise(
    "SchedulerPredicates validates that there exists conflict between pods with same hostPort and protocol "
    "but one using 0.0.0.0 hostIP"
)
async def test_ports_of_all_addresses(client: ApiClient) -> None:
    async with _scheduling(client) as scheduled:
        await Collection(client, "v1", "nodes").patch(
            "node-a", {"metadata": {"labels": {"kubernetes.io/e2e": "95"}}}
        )
        for name, address in (("pod4", ""), ("pod5", "10.1.2.3")):
            port = {"containerPort": 8080, "hostPort": 54322, "protocol": "TCP", "hostIP": address}
            await scheduled.create(
                name, nodeSelector={"kubernetes.io/e2e": "95"}, container={"ports": [port]}
            )
        assert await scheduled.node("pod4") == "node-a"
        assert "1 node(s) didn't have free ports for the requested pod ports" in await scheduled.refused(
            "pod5"
        )


@pytest.mark.parametrize(
    "overhead",
    [
        pytest.param(
            None,
            id=promised("RuntimeClass should schedule a Pod requesting a RuntimeClass without PodOverhead"),
        ),
        pytest.param(
            {"cpu": "10m", "memory": "1Mi"},
            id=promised(
                "RuntimeClass should schedule a Pod requesting a RuntimeClass and initialize its Overhead"
            ),
        ),
    ],
)
def test_runtime_classes(overhead: Object | None) -> None:
    async def test(client: ApiClient) -> None:
        async with _scheduling(client) as scheduled:
            more = {} if overhead is None else {"overhead": {"podFixed": overhead}}
            runtime = {"metadata": {"name": "preconfigured"}, "handler": "test-handler", **more}
            await Collection(client, "node.k8s.io/v1", "runtimeclasses").create(runtime)
            await scheduled.create("p", runtimeClassName="preconfigured")
            await scheduled.node("p")
            assert (await scheduled.pods.get("p"))["spec"].get("overhead") == overhead

    keep(test)


@pytest.mark.parametrize(
    ("name", "namespace", "priority"),
    [
        pytest.param(
            "preemptor-pod",
            NAMESPACE,
            "high",
            id=promised("SchedulerPreemption validates basic preemption works"),
        ),
        pytest.param(
            "critical-pod",
            "kube-system",
            "system-cluster-critical",
            id=promised("SchedulerPreemption validates lower priority pod preemption by critical pod"),
        ),
    ],
)
def test_preemption(name: str, namespace: str, priority: str) -> None:
    async def test(client: ApiClient) -> None:
        async with _scheduling(client) as scheduled:
            await scheduled.priorities(low=1, medium=100, high=1000)
            names = []
            for node in _NODES:
                for number in range(2):
                    names.append(f"pod-{node}-{number}")
                    level = "low" if len(names) == 1 else "medium"
                    await scheduled.create(
                        names[-1], {_EXTENDED: "2"}, priorityClassName=level, affinity=_on(node)
                    )
            for each in names:
                await scheduled.node(each)
            if namespace != NAMESPACE:
                accounts = Collection(client, "v1", "serviceaccounts", namespace)
                await accounts.create({"metadata": {"name": "default"}})
            preemptor = Scheduled(client)
            preemptor.pods = Collection(client, "v1", "pods", namespace)
            await preemptor.create(name, {_EXTENDED: "2"}, priorityClassName=priority)
            assert await preemptor.node(name) == "node-a"
            assert await scheduled.terminating(names[0])
            assert not any([await scheduled.terminating(each) for each in names[1:]])

    keep(test)


@promise("SchedulerPreemption validates pod disruption condition is added to the preempted pod")
async def test_the_condition_of_a_preempted_pod(client: ApiClient) -> None:
    async with _scheduling(client) as scheduled:
        await scheduled.priorities(low=1, high=1000)
        kept = {"metadata": {"finalizers": ["example.com/test-finalizer"]}}
        victim = {"priorityClassName": "low", "affinity": _on("node-a"), **kept}
        await scheduled.create("victim-pod", {_EXTENDED: "5"}, **victim)
        await scheduled.node("victim-pod")
        await scheduled.create(
            "preemptor-pod", {_EXTENDED: "5"}, priorityClassName="high", affinity=_on("node-a")
        )
        await until(lambda: scheduled.terminating("victim-pod"))
        pod = await scheduled.pods.get("victim-pod")
        condition = find_condition(pod["status"]["conditions"], "DisruptionTarget")
        assert condition is not None
        assert (condition["status"], condition["reason"]) == ("True", "PreemptionByScheduler")


@promise("SchedulerPreemption PreemptionExecutionPath runs ReplicaSets to verify preemption running path")
async def test_preemption_among_replica_sets(client: ApiClient) -> None:
    async with _scheduling(client, "replicaset") as scheduled:
        nodes = Collection(client, "v1", "nodes")
        node = await nodes.get("node-a")
        for part in ("allocatable", "capacity"):
            node["status"][part]["example.com/fakecpu"] = "1000"
        await nodes.replace(node, "status")
        await scheduled.priorities(p1=1, p2=2, p3=3, p4=4)
        seen: dict[str, set[str]] = {"pod1": set(), "pod2": set(), "pod3": set()}
        sets = Collection(client, "apps/v1", "replicasets", NAMESPACE)
        async with scheduled.pods.watch() as events:
            watching = asyncio.create_task(_count(events, seen))
            for number, amount in ((1, "200"), (2, "300"), (3, "450")):
                await sets.create(_replica_set(number, amount))

            async def ran() -> bool:
                listed = await scheduled.pods.list()
                return len(listed) == 3 and all(pod["spec"].get("nodeName") for pod in listed)

            await until(ran)
            selector = {"kubernetes.io/hostname": "node-a"}
            amounts = {"example.com/fakecpu": "500"}
            await scheduled.create("pod4", amounts, priorityClassName="p4", nodeSelector=selector)
            assert await scheduled.node("pod4") == "node-a"

            async def replaced() -> bool:
                return [len(names) for names in seen.values()] == [2, 2, 1]

            await until(replaced)
            # Nobody else is preempted: the new ones wait.
            for name in seen["pod1"] | seen["pod2"]:
                if not await scheduled.terminating(name):
                    await scheduled.refused(name)
            assert [len(names) for names in seen.values()] == [2, 2, 1]
            watching.cancel()


async def _count(events: Any, seen: dict[str, set[str]]) -> None:
    while True:
        event = await events.next()
        if event["type"] == "ADDED":
            name = event["object"]["metadata"]["name"]
            for prefix, names in seen.items():
                if name.startswith(f"rs-{prefix}"):
                    names.add(name)


def _replica_set(number: int, amount: str) -> Object:
    labels = {"name": f"pod{number}"}
    amounts = {"example.com/fakecpu": amount}
    container = {"name": "pause", "image": "pause", "resources": {"requests": amounts, "limits": amounts}}
    spec = {
        "containers": [container],
        "priorityClassName": f"p{number}",
        "nodeSelector": {"kubernetes.io/hostname": "node-a"},
        "terminationGracePeriodSeconds": 0,
    }
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "metadata": {"name": f"rs-pod{number}"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }
