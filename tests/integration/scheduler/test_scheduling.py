"""Pods get nodes, or are told why not."""

from __future__ import annotations

import asyncio
from collections import Counter

from steersman.client import NotFound
from steersman.cluster.scheduler import ProfileConfig
from steersman.cluster.scheduler.framework import CycleState, Handle, Refusal, Wait
from steersman.cluster.scheduler.model import NodeInfo, PodInfo
from steersman.cluster.scheduler.plugins.default_binder import DefaultBinder
from steersman.objects.conditions import find_condition
from steersman.objects.resources import NODES, PODS, SERVICES

from .clusters import Cluster, with_scheduler


@with_scheduler()
async def test_pods_are_spread_over_nodes_and_say_so(cluster: Cluster) -> None:
    for number in range(6):
        await cluster.pod(f"p{number}")
    places = Counter([await cluster.node_of(f"p{number}") for number in range(6)])
    assert sorted(places.values()) == [2, 2, 2]
    condition = find_condition((await cluster.client.get(PODS, "p0"))["status"]["conditions"], "PodScheduled")
    assert condition is not None
    assert condition["status"] == "True"
    events = await cluster.until(lambda: _six(cluster))
    assert {(event["type"], event["action"], event["reportingController"]) for event in events} == {
        ("Normal", "Binding", "default-scheduler")
    }
    note = f"Successfully assigned default/p0 to {await cluster.node_of('p0')}"
    assert note in [event["note"] for event in events]


async def _six(cluster: Cluster) -> list[dict[str, object]]:
    found = await cluster.events("Scheduled")
    return found if len(found) == 6 else []


@with_scheduler()
async def test_a_pod_that_fits_nowhere_says_why_and_gets_the_room_when_there_is_some(
    cluster: Cluster,
) -> None:
    await cluster.client.patch(NODES, "three", {"spec": {"unschedulable": True}})
    for number in range(2):
        await cluster.pod(f"big{number}", cpu="4")
        await cluster.node_of(f"big{number}")
    await cluster.pod("small")
    message = await cluster.refusal("small")
    assert message == (
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu. preemption: 0/3 nodes are "
        "available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod."
    )
    event = (await cluster.events("FailedScheduling"))[0]
    assert (event["type"], event["action"], event["note"]) == ("Warning", "Scheduling", message)
    await cluster.client.delete(PODS, "big0", grace_s=0)
    assert await cluster.node_of("small") in ("one", "two")


@with_scheduler(nodes=())
async def test_without_nodes_pods_wait_for_one(cluster: Cluster) -> None:
    await cluster.pod("p")
    assert await cluster.refusal("p") == "no nodes available to schedule pods"
    await cluster.node("late")
    assert await cluster.node_of("p") == "late"


@with_scheduler()
async def test_a_taint_that_goes_lets_pods_in(cluster: Cluster) -> None:
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    for name in ("one", "two", "three"):
        await cluster.client.patch(NODES, name, {"spec": {"taints": [taint]}})
    await cluster.pod("p")
    assert (await cluster.refusal("p")).startswith(
        "0/3 nodes are available: 3 node(s) had untolerated taint(s)."
    )
    await cluster.client.patch(NODES, "two", {"spec": {"taints": None}})
    assert await cluster.node_of("p") == "two"


@with_scheduler()
async def test_nothing_is_written_twice_for_a_pod_that_waits(cluster: Cluster) -> None:
    await cluster.pod("p", cpu="5")
    await cluster.refusal("p")
    first = (await cluster.client.get(PODS, "p"))["metadata"]["resourceVersion"]
    # The pod is tried again now and then, with the same result.
    await asyncio.sleep(1000)
    assert (await cluster.client.get(PODS, "p"))["metadata"]["resourceVersion"] == first
    first_told, again = await cluster.events("FailedScheduling")
    assert "series" not in first_told, "the pod was another version then"
    assert again["series"]["count"] == 2, "what goes on is not told each time"


@with_scheduler()
async def test_gates_keep_a_pod_out_until_they_are_removed(cluster: Cluster) -> None:
    await cluster.pod("p", schedulingGates=[{"name": "a.com/x"}, {"name": "a.com/y"}])
    await cluster.pod("other")
    await cluster.node_of("other")
    gated = await cluster.client.get(PODS, "p")
    assert gated["status"]["conditions"][0]["reason"] == "SchedulingGated"
    await cluster.client.replace(
        {**gated, "spec": {**gated["spec"], "schedulingGates": [{"name": "a.com/y"}]}}, kind=PODS
    )
    await asyncio.sleep(400)
    gated = await cluster.client.get(PODS, "p")
    assert not gated["spec"].get("nodeName")
    await cluster.client.replace({**gated, "spec": {**gated["spec"], "schedulingGates": []}}, kind=PODS)
    await cluster.node_of("p")


@with_scheduler()
async def test_pods_of_other_schedulers_are_left_alone(cluster: Cluster) -> None:
    await cluster.pod("foreign", schedulerName="somebody-else")
    await cluster.pod("mine")
    await cluster.node_of("mine")
    assert "nodeName" not in (await cluster.client.get(PODS, "foreign"))["spec"]


@with_scheduler(nodes=())
async def test_pods_of_a_service_are_spread_over_zones(cluster: Cluster) -> None:
    for number in range(4):
        zone = "a" if number < 3 else "b"
        await cluster.node(f"n{number}", labels={"topology.kubernetes.io/zone": zone})
    await cluster.client.create(
        {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}},
        kind=SERVICES,
    )
    places = []
    for number in range(2):
        await cluster.pod(f"p{number}", labels={"app": "web"})
        places.append(await cluster.node_of(f"p{number}"))
    assert "n3" in places


@with_scheduler()
async def test_a_daemons_pod_goes_to_its_node_or_nowhere(cluster: Cluster) -> None:
    def only(name: str) -> dict[str, object]:
        field = {"key": "metadata.name", "operator": "In", "values": [name]}
        required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}

    await cluster.pod("p", affinity=only("two"))
    assert await cluster.node_of("p") == "two"
    await cluster.pod("q", affinity=only("none"))
    assert (await cluster.refusal("q")).startswith(
        "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


class OnlyTwo:
    """A plugin of a user: keeps pods off nodes, and has them wait for a permit."""

    name = "OnlyTwo"

    def filter(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> Refusal | None:
        return None if node.name == "two" else Refusal(self.name, ("node(s) are not two",))

    def permit(self, cycle: CycleState, pod: PodInfo, node: str) -> Wait | None:
        return Wait(30.0) if pod.labels.get("patient") else None


@with_scheduler(ProfileConfig(), ProfileConfig("picky", add=[lambda handle: OnlyTwo()]))
async def test_a_plugin_of_a_user_has_its_say_in_its_profile(cluster: Cluster) -> None:
    for number in range(3):
        await cluster.pod(f"p{number}", schedulerName="picky")
        assert await cluster.node_of(f"p{number}") == "two"
    await cluster.pod("big", cpu="2", schedulerName="picky")
    assert (await cluster.refusal("big")).startswith(
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) are not two."
    )
    await cluster.pod("plain", cpu="3")
    assert await cluster.node_of("plain") in ("one", "three")


@with_scheduler(ProfileConfig(add=[lambda handle: OnlyTwo()]))
async def test_a_pod_that_nobody_permits_is_refused_in_the_end(cluster: Cluster) -> None:
    await cluster.pod("p", labels={"patient": "yes"})
    assert await cluster.refusal("p") == (
        "0/1 nodes are available: 1 rejected due to timeout after waiting 30s at plugin OnlyTwo."
    )
    await cluster.pod("q", cpu="4")
    assert await cluster.node_of("q") == "two"


class Clumsy:
    """Takes the place of the binder: the first try goes wrong."""

    name = "DefaultBinder"

    def __init__(self, handle: Handle) -> None:
        self._binder = DefaultBinder(handle)
        self._tries = 0

    async def bind(self, cycle: CycleState, pod: PodInfo, node: str) -> bool:
        self._tries += 1
        if self._tries == 1:
            raise NotFound(404, "NotFound", "no such thing")
        return await self._binder.bind(cycle, pod, node)


@with_scheduler(ProfileConfig(add=[Clumsy]), nodes=("one",))
async def test_a_binding_that_goes_wrong_is_tried_again(cluster: Cluster) -> None:
    await cluster.pod("p", cpu="4")
    assert await cluster.refusal("p") == 'running Bind plugin "DefaultBinder": no such thing'
    assert await cluster.node_of("p") == "one"
    await cluster.pod("q", cpu="1")
    assert (await cluster.refusal("q")).startswith("0/1 nodes are available: 1 Insufficient cpu.")


@with_scheduler(ProfileConfig(add=[lambda handle: OnlyTwo()]))
async def test_a_pod_that_goes_while_it_waits_for_a_permit_leaves_its_place(cluster: Cluster) -> None:
    await cluster.pod("p", cpu="4", labels={"patient": "yes"})
    await cluster.pod("q", cpu="4")
    await cluster.refusal("q")
    await cluster.client.delete(PODS, "p", grace_s=0)
    async with asyncio.timeout(20):
        assert await cluster.node_of("q") == "two"


@with_scheduler()
async def test_a_new_scheduler_carries_on_where_the_last_one_stopped(cluster: Cluster) -> None:
    async with cluster.scheduler():
        # Two at once: what one has bound, the other finds bound.
        for number in range(12):
            await cluster.pod(f"p{number}")
        places = Counter([await cluster.node_of(f"p{number}") for number in range(12)])
    assert sorted(places.values()) == [4, 4, 4]
