"""Simulated nodes themselves: registration, heartbeats, conditions, what they take and what they give up."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from steersman.aio import Scope
from steersman.cluster.node import NodeStats
from steersman.cluster.node.simulated import FleetConfig, add_simulated_nodes
from steersman.objects.conditions import condition_is, find_condition
from steersman.objects.resources import LEASES, NODES, PODS
from steersman.objects.times import parse_time
from steersman.testing import eventually

from .world import NAMESPACE, PATIENCE_S, Object, World, main_of, with_nodes


@with_nodes(4)
async def test_nodes_register_and_are_ready(world: World) -> None:
    nodes = list(await world.client.list(NODES))
    assert [node["metadata"]["name"] for node in nodes] == ["node-1", "node-2", "node-3", "node-4"]
    labels = [node["metadata"]["labels"] for node in nodes]
    zones = [label["topology.kubernetes.io/zone"] for label in labels]
    assert zones == ["zone-a", "zone-b", "zone-c", "zone-a"]
    assert labels[1]["kubernetes.io/hostname"] == "node-2"
    status = nodes[0]["status"]
    assert status["capacity"] == status["allocatable"]
    assert status["capacity"] == {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    assert [(one["type"], one["status"], one["reason"]) for one in status["conditions"]] == [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ("Ready", "True", "KubeletReady"),
    ]
    assert len({node["status"]["addresses"][0]["address"] for node in nodes}) == 4
    lease = await world.client.get(LEASES, "node-1", "kube-node-lease")
    assert lease["spec"]["holderIdentity"] == "node-1"
    assert lease["spec"]["leaseDurationSeconds"] == 40
    assert lease["metadata"]["ownerReferences"][0]["uid"] == nodes[0]["metadata"]["uid"]


@with_nodes()
async def test_a_new_node_tells_how_it_is(world: World) -> None:
    assert await world.events("node-1") == [
        ("Normal", "Starting", "Starting kubelet."),
        ("Normal", "NodeHasSufficientMemory", "Node node-1 status is now: NodeHasSufficientMemory"),
        ("Normal", "NodeHasNoDiskPressure", "Node node-1 status is now: NodeHasNoDiskPressure"),
        ("Normal", "NodeHasSufficientPID", "Node node-1 status is now: NodeHasSufficientPID"),
    ]


@with_nodes(10)
async def test_heartbeats_are_spread_over_their_period(world: World) -> None:
    await asyncio.sleep(30)
    leases = await world.client.list(LEASES, "kube-node-lease")
    renewed = sorted(parse_time(lease["spec"]["renewTime"]).timestamp() for lease in leases)
    gaps = [later - earlier for earlier, later in itertools.pairwise(renewed)]
    assert all(0.8 < gap < 1.2 for gap in gaps)


@with_nodes(heartbeat_s=60.0)
async def test_slower_heartbeats_last_longer(world: World) -> None:
    lease = await world.client.get(LEASES, "node-1", "kube-node-lease")
    assert lease["spec"]["leaseDurationSeconds"] == 240


@with_nodes()
async def test_an_idle_node_reports_every_five_minutes(world: World) -> None:
    await asyncio.sleep(11)
    before = await world.node()
    await asyncio.sleep(280)
    assert (await world.node())["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    await asyncio.sleep(40)
    after = find_condition((await world.node())["status"]["conditions"], "Ready")
    assert after is not None
    assert after["lastHeartbeatTime"] > after["lastTransitionTime"]


@with_nodes()
async def test_pulled_images_are_listed_with_the_next_heartbeat(world: World) -> None:
    await world.create("a")
    await world.running("a")
    await asyncio.sleep(11)
    images = (await world.node())["status"]["images"]
    assert images[0]["names"][1] == "example.com/app:1"


@with_nodes()
async def test_the_scripted_condition_of_a_node(world: World) -> None:
    await world.annotate(NODES, "node-1", not_ready="container runtime is down")

    async def ready(status: str) -> Object | None:
        found = find_condition((await world.node())["status"]["conditions"], "Ready")
        return dict(found) if found is not None and found["status"] == status else None

    found = await eventually(lambda: ready("False"))
    assert (found["reason"], found["message"]) == ("KubeletNotReady", "container runtime is down")
    await world.annotate(NODES, "node-1", not_ready=None)
    await eventually(lambda: ready("True"))
    told = [note for _, reason, note in await world.events("node-1") if reason == "NodeNotReady"]
    assert told == ["Node node-1 status is now: NodeNotReady"]


@with_nodes()
async def test_conditions_that_others_spoiled_are_put_right(world: World) -> None:
    condition = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    await world.client.patch(
        NODES, "node-1", {"status": {"conditions": [condition]}}, type="strategic", subresource="status"
    )

    async def ready() -> bool:
        return condition_is((await world.node())["status"]["conditions"], "Ready")

    await eventually(ready)


@with_nodes()
async def test_a_node_that_is_cut_off_says_nothing(world: World) -> None:
    await world.create("a", script={"run-time": "30s"})
    await world.running("a")
    await asyncio.sleep(12)
    await world.annotate(NODES, "node-1", offline="true")
    await asyncio.sleep(1)
    world.requests.clear()
    await world.create("b")
    await asyncio.sleep(100)
    assert world.requests == {}
    assert (await world.pod("b"))["status"]["phase"] == "Pending"
    assert main_of(await world.pod("a"))["restartCount"] == 0
    await world.annotate(NODES, "node-1", offline=None)
    await world.running("b")
    await world.until("a", lambda pod: main_of(pod)["restartCount"] > 0)
    await asyncio.sleep(20)
    assert world.requests["PUT"] >= 2


@with_nodes()
async def test_nodes_can_be_added_while_others_run(world: World) -> None:
    await world.create("a", node="late-1")
    add_simulated_nodes(world.manager, 1, FleetConfig(prefix="late-"), nodes=world.nodes)
    await world.running("a")
    await eventually(lambda: world.client.find(LEASES, "late-1", "kube-node-lease"))


@with_nodes()
async def test_a_node_that_was_deleted_is_left_so(world: World) -> None:
    await world.client.delete(NODES, "node-1")
    await asyncio.sleep(60)
    assert await world.client.find(NODES, "node-1") is None


@with_nodes()
async def test_pods_live_on_when_the_process_is_started_again(world: World) -> None:
    await world.create("a")
    await world.create("short", script={"run-time": "5m"}, restartPolicy="Never")
    await world.create("crashing", script={"run-time": "1s", "exit-code": "1"})
    before = await world.running("a")
    await world.running("short")
    await world.until("crashing", lambda pod: "waiting" in main_of(pod)["state"])
    world.manager.stop()
    await asyncio.sleep(60)
    manager, nodes = world.process()
    async with Scope() as scope:
        scope.start(manager.run())
        await asyncio.sleep(60)
        after = await world.pod("a")
        assert after["status"] == before["status"]
        assert nodes.agents["node-1"].host.load.pods == 3
        await world.until("short", lambda pod: pod["status"]["phase"] == "Succeeded", 300)
        await world.until("crashing", lambda pod: main_of(pod)["restartCount"] > 1)
        await world.create("b")
        added = await world.running("b")
        assert added["status"]["podIP"] != after["status"]["podIP"]
        await world.client.delete(PODS, "a", NAMESPACE)
        await world.gone("a")
        manager.stop()


@with_nodes()
async def test_a_pod_that_came_while_the_process_was_gone_gets_nobodys_address(world: World) -> None:
    await world.create("z")
    before = await world.running("z")
    world.manager.stop()
    await asyncio.sleep(60)
    await world.create("a")
    manager, _ = world.process()
    async with Scope() as scope:
        scope.start(manager.run())
        added = await world.running("a")
        assert added["status"]["podIP"] != before["status"]["podIP"]
        assert (await world.pod("z"))["status"] == before["status"]
        manager.stop()


# --- what a node takes


REFUSED = {
    "cpu": (
        {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "9"}}}]},
        "OutOfcpu",
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 9000, used: 0, capacity: 8000",
    ),
    "selector": (
        {"nodeSelector": {"disk": "ssd"}},
        "NodeAffinity",
        "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    ),
}


@pytest.mark.parametrize(("spec", "reason", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_a_node_does_not_take(spec: Object, reason: str, message: str) -> None:
    @with_nodes()
    async def refused(world: World) -> None:
        await world.create("a", **spec)
        pod = await world.until("a", lambda pod: pod["status"]["phase"] == "Failed")
        assert (pod["status"]["reason"], pod["status"]["message"]) == (reason, message)
        assert (await world.events("a"))[0][:2] == ("Warning", reason)

    refused()


@with_nodes()
async def test_what_a_pod_held_is_free_when_it_is_gone(world: World) -> None:
    big = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "5"}}}]
    await world.create("a", containers=big)
    await world.running("a")
    await world.create("b", containers=big)
    await world.until("b", lambda pod: pod["status"].get("reason") == "OutOfcpu")
    await world.client.delete(PODS, "a", NAMESPACE)
    await world.gone("a")
    await world.create("c", containers=big)
    await world.running("c")


# --- what a node gives up


@with_nodes()
async def test_memory_pressure_evicts_those_who_use_most(world: World) -> None:
    def asks(memory: str) -> list[Object]:
        return [{"name": "main", "image": "i", "resources": {"requests": {"memory": memory}}}]

    await world.create("modest", containers=asks("1Gi"), script={"memory": "512Mi"})
    await world.create("greedy", containers=asks("64Mi"), script={"memory": "2Gi"})
    for name in ("modest", "greedy"):
        await world.running(name)
    await world.annotate(NODES, "node-1", memory_pressure="true")
    pod = await world.until("greedy", lambda pod: pod["status"]["phase"] == "Failed")
    await world.annotate(NODES, "node-1", memory_pressure=None)
    assert pod["status"]["reason"] == "Evicted"
    assert pod["status"]["message"] == (
        "The node was low on resource: memory. "
        "Container main was using 2Gi, request is 64Mi, has larger consumption of memory. "
    )
    target = find_condition(pod["status"]["conditions"], "DisruptionTarget")
    assert target is not None
    assert (target["status"], target["reason"]) == ("True", "TerminationByKubelet")
    await asyncio.sleep(30)
    assert (await world.pod("modest"))["status"]["phase"] == "Running"


# --- what is used


@with_nodes(2)
async def test_usage_follows_the_script(world: World) -> None:
    await world.create("a", script={"cpu": "250m", "memory": "100Mi"})
    await world.running("a")
    stats = NodeStats(world.nodes)
    used = stats.pod(NAMESPACE, "a")
    assert used is not None
    assert used.node == "node-1"
    assert used.containers["main"] == (0.25, 100 << 20)
    await world.annotate(PODS, "a", cpu="2")

    def followed() -> bool:
        used = stats.pod(NAMESPACE, "a")
        return used is not None and used.containers["main"].cpu_cores == 2

    await eventually(followed, PATIENCE_S)
    busy, idle = stats.node("node-1"), stats.node("node-2")
    assert busy is not None
    assert idle is not None
    assert busy.cpu_cores == pytest.approx(idle.cpu_cores + 2)
    assert dict(stats.nodes()).keys() == {"node-1", "node-2"}
