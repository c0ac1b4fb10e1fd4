"""Promises about controllers of pods that really run: they come, serve, fail and are replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import (
    DAEMON_SETS,
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from steersman.testing import eventually
from tests.support.ports import free_port
from tests.support.waiting import pass_time

from .running import (
    PATIENCE_S,
    STATE,
    Object,
    Running,
    is_ready,
    promise,
    promised,
    script,
    server,
)

_PORT = 8090
#: Nobody has it.
_MISSING = "registry.example/missing:404"
_SLEEP = "exec sleep 600"


def template(labels: dict[str, str], *containers: Object, **spec: Any) -> Object:
    usual = {"terminationGracePeriodSeconds": 0, "volumes": [STATE]}
    return {"metadata": {"labels": labels}, "spec": {**usual, "containers": list(containers), **spec}}


def set_of(name: str, replicas: int, *containers: Object, **spec: Any) -> Object:
    """The spec of a workload whose pods have the label `name`."""
    labels = {"name": name}
    pods = template(labels, *(containers or (script(_SLEEP),)))
    return {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pods, **spec}


async def answers_of(running: Running, pods: Iterable[Object]) -> dict[str, str]:
    """What pods answer by the API server's proxy, by name."""
    found = {}
    for pod in pods:
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        path = f"/api/v1/namespaces/{namespace}/pods/{name}:{_PORT}/proxy/"
        found[name] = (await running.client.request("GET", path, accept="*/*")).decode()
    return found


async def ready_pods(running: Running, name: str, count: int) -> list[Object]:
    pods: list[Object] = []

    async def found() -> bool:
        pods[:] = await running.pods(f"name={name}")
        return len(pods) == count and all(map(is_ready, pods))

    await eventually(found, PATIENCE_S, what=f"{count} pods of {name}")
    return pods


SERVED = {
    promised("ReplicaSet should serve a basic image on each replica with a public image"): REPLICA_SETS,
    promised(
        "ReplicationController should serve a basic image on each replica with a public image"
    ): REPLICATION_CONTROLLERS,
}


@pytest.mark.parametrize("kind", SERVED.values(), ids=SERVED.keys())
def test_each_replica_answers(running: Running, kind: ResourceType) -> None:
    async def check() -> None:
        name = f"serves-{kind.plural}"
        spec = set_of(name, 2, server(_PORT))
        if kind is REPLICATION_CONTROLLERS:
            spec["selector"] = spec["selector"]["matchLabels"]
        await running.make(kind, name, spec)
        pods = await ready_pods(running, name, 2)
        names = [pod["metadata"]["name"] for pod in pods]
        assert await answers_of(running, pods) == {name: name for name in names}
        await running.client.delete(kind, name)

    running.run(check())


# --- deployments


async def replicas_of(running: Running, kind: ResourceType, name: str, **wanted: int) -> Object:
    """Wait for what its status says."""
    return await running.until(
        kind,
        name,
        lambda obj: (
            obj["status"].get("observedGeneration") == obj["metadata"]["generation"]
            and all(obj["status"].get(field, 0) == count for field, count in wanted.items())
        ),
    )


async def newest(running: Running, deployment: str, image: str) -> Object:
    """The replica set that a deployment has for an image."""

    async def found() -> Object | None:
        for one in await running.client.list(REPLICA_SETS, labels=f"name={deployment}"):
            if one["spec"]["template"]["spec"]["containers"][0]["image"] == image:
                return one
        return None

    return await eventually(found, PATIENCE_S, what=f"a replica set of {image}")


async def asked_for(running: Running, replica_set: str, count: int) -> None:
    await running.until(REPLICA_SETS, replica_set, lambda obj: obj["spec"]["replicas"] == count)


@promise("Deployment deployment should support rollover")
async def test_rollover(running: Running) -> None:
    name = "rollover"
    old = set_of(name, 1)
    old["selector"]["matchLabels"]["pod"] = old["template"]["metadata"]["labels"]["pod"] = "old"
    await running.make(REPLICA_SETS, "rollover-controller", old, labels={"name": name})
    await replicas_of(running, REPLICA_SETS, "rollover-controller", readyReplicas=1)
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    stuck = set_of(name, 1, script(_SLEEP, image=_MISSING), strategy=rolling, minReadySeconds=1)
    await running.make(DEPLOYMENTS, name, stuck)
    deployment = await replicas_of(running, DEPLOYMENTS, name, updatedReplicas=1)
    assert deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"
    first = await newest(running, name, _MISSING)
    for each in ("rollover-controller", first["metadata"]["name"]):
        await replicas_of(running, REPLICA_SETS, each, replicas=1)
    change = {"containers": [{"name": "main", "image": "host/sh"}]}
    await running.change(DEPLOYMENTS, name, {"spec": {"template": {"spec": change}}})
    done = await replicas_of(running, DEPLOYMENTS, name, replicas=1, updatedReplicas=1, availableReplicas=1)
    assert done["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
    for each in ("rollover-controller", first["metadata"]["name"]):
        await replicas_of(running, REPLICA_SETS, each, replicas=0)
    await running.client.delete(DEPLOYMENTS, name)


@promise("Deployment deployment should support proportional scaling")
async def test_proportional_scaling(running: Running) -> None:
    name = "proportional"
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2, "maxSurge": 3}}
    await running.make(DEPLOYMENTS, name, set_of(name, 10, strategy=rolling))
    await replicas_of(running, DEPLOYMENTS, name, availableReplicas=10)
    change = {"containers": [{"name": "main", "image": _MISSING}]}
    await running.change(DEPLOYMENTS, name, {"spec": {"template": {"spec": change}}})
    names = [(await newest(running, name, image))["metadata"]["name"] for image in ("host/sh", _MISSING)]
    for one, count in zip(names, (8, 5), strict=True):
        await asked_for(running, one, count)
        await replicas_of(running, REPLICA_SETS, one, replicas=count)
    await replicas_of(running, REPLICA_SETS, names[0], availableReplicas=8)
    await replicas_of(running, REPLICA_SETS, names[1], availableReplicas=0)
    await running.change(DEPLOYMENTS, name, {"spec": {"replicas": 30}})
    for one, count in zip(names, (20, 13), strict=True):
        await asked_for(running, one, count)
    await running.client.delete(DEPLOYMENTS, name)


# --- daemon sets


@promise("Daemon set should rollback without unnecessary restarts")
async def test_daemons_that_are_right_are_left_alone(running: Running) -> None:
    spec = set_of("daemon", 0, updateStrategy={"type": "RollingUpdate"})
    del spec["replicas"]
    await running.make(DAEMON_SETS, "daemon", spec)
    before = await ready_pods(running, "daemon", 2)

    async def update(image: str) -> None:
        change = {"containers": [{"name": "main", "image": image}]}
        await running.change(DAEMON_SETS, "daemon", {"spec": {"template": {"spec": change}}})

    async def begun() -> bool:
        pods = await running.pods("name=daemon")
        return any(pod["spec"]["containers"][0]["image"] == _MISSING for pod in pods)

    await update(_MISSING)
    await eventually(begun, PATIENCE_S)
    kept = {pod["metadata"]["uid"] for pod in await running.pods("name=daemon")}
    kept &= {pod["metadata"]["uid"] for pod in before}
    assert len(kept) == 1
    await update("host/sh")
    await replicas_of(running, DAEMON_SETS, "daemon", updatedNumberScheduled=2, numberAvailable=2)
    after = await ready_pods(running, "daemon", 2)
    assert kept < {pod["metadata"]["uid"] for pod in after}
    await running.client.delete(DAEMON_SETS, "daemon")


# --- stateful sets

_SICKEN, _HEAL = ("touch", "/state/sick"), ("rm", "-f", "/state/sick")
#: For how long something must not happen.
_LOOKS, _LOOK_S = 5, 0.2


class Ordered:
    """A stateful set whose pods can be made sick."""

    def __init__(self, running: Running, name: str) -> None:
        self.running = running
        self.name = name

    async def make(self, replicas: int, **spec: Any) -> None:
        body = set_of(self.name, replicas, server(_PORT), serviceName="none", **spec)
        await self.running.make(STATEFUL_SETS, self.name, body)

    async def scale(self, replicas: int) -> None:
        await self.running.change(STATEFUL_SETS, self.name, {"spec": {"replicas": replicas}})

    async def sicken(self, *numbers: int) -> None:
        await self._each(_SICKEN, numbers, is_well=False)

    async def heal(self, *numbers: int) -> None:
        await self._each(_HEAL, numbers, is_well=True)

    async def tell(self, number: int, command: Sequence[str]) -> None:
        done = await self.running.client.run(f"{self.name}-{number}", command)
        assert done.exit_code == 0, done

    async def _each(self, command: Sequence[str], numbers: Iterable[int], *, is_well: bool) -> None:
        for number in numbers:
            await self.tell(number, command)
        for number in numbers:
            await self.running.until(PODS, f"{self.name}-{number}", lambda pod: is_ready(pod) == is_well)

    async def ready(self, count: int) -> Object:
        await ready_pods(self.running, self.name, count)
        return await replicas_of(self.running, STATEFUL_SETS, self.name, readyReplicas=count)

    async def names(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in await self.running.pods(f"name={self.name}")]

    async def stays(self, *numbers: int) -> None:
        """Its controller has seen everything, and this is how it leaves it."""
        await self.running.until(
            STATEFUL_SETS,
            self.name,
            lambda found: (
                found["status"].get("observedGeneration") == found["metadata"]["generation"]
                and found["status"].get("readyReplicas", 0) == 0
            ),
        )
        wanted = [f"{self.name}-{number}" for number in numbers]
        for _ in range(_LOOKS):
            assert await self.names() == wanted
            await pass_time(_LOOK_S, "how often is looked whether it stays so")

    async def remove(self) -> None:
        await self.running.client.delete(STATEFUL_SETS, self.name)


@promise(
    "StatefulSet Basic StatefulSet functionality Scaling should happen in predictable order and halt if any "
    "stateful pod is unhealthy"
)
async def test_scaling_in_order(running: Running) -> None:
    ordered = Ordered(running, "ordered")
    events: list[tuple[str, str]] = []

    async def watch() -> None:
        async with running.client.watch(PODS, labels="name=ordered") as found:
            async for event in found:
                if event.type in ("ADDED", "DELETED"):
                    events.append((event.type, event.decode()["metadata"]["name"]))

    watching = asyncio.create_task(watch())
    try:
        await ordered.make(1)
        await ordered.ready(1)
        await ordered.sicken(0)
        await ordered.scale(3)
        await ordered.stays(0)
        await ordered.heal(0)
        await ordered.ready(3)
        await ordered.sicken(0, 1, 2)
        await ordered.scale(0)
        await ordered.stays(0, 1, 2)
        # With the first two well again, the last is the one that everybody waits for.
        await ordered.heal(0)
        await ordered.tell(1, _HEAL)
        await replicas_of(running, STATEFUL_SETS, "ordered", replicas=0)
        up = [("ADDED", f"ordered-{number}") for number in range(3)]
        down = [("DELETED", f"ordered-{number}") for number in (2, 1, 0)]
        await eventually(lambda: events == up + down, PATIENCE_S)
    finally:
        watching.cancel()
        await asyncio.wait((watching,))
    await ordered.remove()


@promise(
    "StatefulSet Basic StatefulSet functionality Burst scaling should run to completion even with unhealthy pods"
)
async def test_scaling_all_at_once(running: Running) -> None:
    burst = Ordered(running, "burst")
    await burst.make(1, podManagementPolicy="Parallel")
    await burst.ready(1)
    await burst.sicken(0)
    await burst.scale(3)
    await running.ready("burst-1")
    await running.ready("burst-2")
    await burst.heal(0)
    await burst.ready(3)
    await burst.sicken(0, 1, 2)
    await burst.scale(0)
    await replicas_of(running, STATEFUL_SETS, "burst", replicas=0)
    await burst.remove()


@promise(
    "StatefulSet Basic StatefulSet functionality should perform rolling updates and roll backs of template "
    "modifications"
)
async def test_rolling_updates_and_back(running: Running) -> None:
    rolled = Ordered(running, "rolled")
    await rolled.make(3)
    first = (await rolled.ready(3))["status"]["updateRevision"]

    async def update(image: str) -> str:
        """While a pod is sick, what follows it has to wait."""
        before = (await running.client.get(STATEFUL_SETS, "rolled"))["status"]["currentRevision"]
        await rolled.sicken(1)
        change = {"containers": [{"name": "main", "image": image}]}
        await running.change(STATEFUL_SETS, "rolled", {"spec": {"template": {"spec": change}}})
        found = await running.until(
            STATEFUL_SETS, "rolled", lambda found: found["status"]["updateRevision"] != before
        )
        assert found["status"]["currentRevision"] == before
        await rolled.heal(1)
        revision: str = found["status"]["updateRevision"]
        await running.until(
            STATEFUL_SETS, "rolled", lambda found: found["status"]["currentRevision"] == revision
        )
        pods = await ready_pods(running, "rolled", 3)
        assert {pod["metadata"]["labels"]["controller-revision-hash"] for pod in pods} == {revision}
        assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {image}
        return revision

    assert await update("host/python3:other") != first
    assert await update("host/python3") == first
    await rolled.remove()


@promise("StatefulSet Basic StatefulSet functionality Should recreate evicted statefulset")
async def test_pods_that_a_node_refuses_are_replaced(running: Running) -> None:
    """Its port is taken, until it is not."""
    number = free_port()
    port = [{"name": "conflict", "containerPort": number, "hostPort": number}]
    holder = await running.pod("port-holder", script(_SLEEP, ports=port))
    holder = await running.phase("port-holder", "Running")
    refused = set()

    async def watch() -> None:
        async with running.client.watch(PODS, labels="name=refused") as found:
            async for event in found:
                if event.type == "DELETED":
                    refused.add(event.decode()["metadata"]["uid"])

    watching = asyncio.create_task(watch())
    try:
        spec = set_of("refused", 1, script(_SLEEP, ports=port), serviceName="none")
        spec["template"]["spec"]["nodeName"] = holder["spec"]["nodeName"]
        await running.make(STATEFUL_SETS, "refused", spec)
        await eventually(lambda: refused, PATIENCE_S)
    finally:
        watching.cancel()
        await asyncio.wait((watching,))
    await running.client.delete(PODS, "port-holder", grace_s=0)
    pod = await running.phase("refused-0", "Running")
    assert pod["metadata"]["uid"] not in refused
    await running.client.delete(STATEFUL_SETS, "refused")


# --- kubectl


def demo(name: str) -> Object:
    spec = set_of(name, 2, server(_PORT, "update-demo"))
    spec["selector"] = spec["selector"]["matchLabels"]
    return {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {"name": name},
        "spec": spec,
    }


async def check_demo(running: Running, name: str, count: int) -> None:
    """As kubectl shows it, and as the pods say themselves."""
    pods = await ready_pods(running, name, count)
    shown = "{range.items[*]}{.metadata.name} {.status.containerStatuses[0].state.running.startedAt}\n{end}"
    lines = (await running.kubectl("get", "pods", "-l", f"name={name}", "-o", f"jsonpath={shown}")).lines
    names = [pod["metadata"]["name"] for pod in pods]
    assert sorted(line.split()[0] for line in lines if len(line.split()) == 2) == names
    assert await answers_of(running, pods) == {name: name for name in names}


@promise("Kubectl client Update Demo should create and stop a replication controller")
async def test_a_controller_is_created_and_stopped(running: Running) -> None:
    await running.kubectl("create", "-f", "-", stdin=demo("demo"))
    await check_demo(running, "demo", 2)
    await running.kubectl("delete", "rc", "demo", "--grace-period=0", "--force")
    await ready_pods(running, "demo", 0)


@promise("Kubectl client Update Demo should scale a replication controller")
async def test_a_controller_is_scaled(running: Running) -> None:
    await running.kubectl("create", "-f", "-", stdin=demo("scaled-demo"))
    await check_demo(running, "scaled-demo", 2)
    for count in (1, 2):
        await running.kubectl("scale", "rc", "scaled-demo", f"--replicas={count}", "--timeout=5m")
        await check_demo(running, "scaled-demo", count)
    await running.kubectl("delete", "rc", "scaled-demo")
