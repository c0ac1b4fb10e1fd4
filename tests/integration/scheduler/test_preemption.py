"""Important pods get room at the cost of others, as little as possible."""

from __future__ import annotations

import asyncio

from steersman.client import Client
from steersman.objects.conditions import find_condition
from steersman.objects.resources import POD_DISRUPTION_BUDGETS, PODS, PRIORITY_CLASSES

from .clusters import Cluster, with_scheduler

_FINALIZER = "example.com/wait"


async def _priorities(client: Client) -> None:
    for name, value in (("low", 1), ("middle", 50), ("high", 1000)):
        await client.create({"metadata": {"name": name}, "value": value}, kind=PRIORITY_CLASSES)


@with_scheduler(nodes=("one", "two"))
async def test_the_least_important_pod_makes_room_and_says_why(cluster: Cluster) -> None:
    await _priorities(cluster.client)
    await cluster.pod("middle", cpu="3", priorityClassName="middle")
    middle = await cluster.node_of("middle")
    await cluster.pod("low", cpu="3", priorityClassName="low", metadata={"finalizers": [_FINALIZER]})
    low = await cluster.node_of("low")
    assert low != middle
    high = await cluster.pod("high", cpu="3", priorityClassName="high")
    assert await cluster.nominated("high") == low
    message = await cluster.refusal("high")
    assert message == (
        "0/2 nodes are available: 2 Insufficient cpu. preemption: found a potential placement for pod on node "
        f"{low}, preempting 1 victims"
    )
    event = (await cluster.events("Preempted"))[0]
    assert event["note"] == f"Preempted by pod {high['metadata']['uid']} on node {low}"
    assert (event["action"], event["regarding"]["name"], "related" in event) == ("Preempting", "low", False)
    victim = await cluster.client.get(PODS, "low")
    condition = find_condition(victim["status"]["conditions"], "DisruptionTarget")
    assert condition is not None
    assert (condition["status"], condition["reason"]) == ("True", "PreemptionByScheduler")
    assert condition["message"] == "default-scheduler: preempting to accommodate a higher priority pod"
    assert victim["metadata"]["deletionTimestamp"]
    await cluster.client.patch(PODS, "low", {"metadata": {"finalizers": None}})
    assert await cluster.node_of("high") == low
    assert await cluster.node_of("middle") == middle


@with_scheduler(nodes=("one",))
async def test_room_that_was_made_is_not_taken_by_less_important_pods(cluster: Cluster) -> None:
    await _priorities(cluster.client)
    await cluster.pod("low", cpu="4", priorityClassName="low", metadata={"finalizers": [_FINALIZER]})
    await cluster.node_of("low")
    await cluster.pod("high", cpu="3", priorityClassName="high")
    assert await cluster.nominated("high") == "one"
    await cluster.pod("greedy", cpu="2", priorityClassName="middle")
    await cluster.refusal("greedy")
    await cluster.client.patch(PODS, "low", {"metadata": {"finalizers": None}})
    assert await cluster.node_of("high") == "one"
    await cluster.pod("modest", cpu="1", priorityClassName="middle")
    assert await cluster.node_of("modest") == "one"
    assert "nodeName" not in (await cluster.client.get(PODS, "greedy"))["spec"]


@with_scheduler(nodes=("one", "two"))
async def test_pods_under_a_budget_are_spared_if_others_will_do(cluster: Cluster) -> None:
    await _priorities(cluster.client)
    budget = {
        "metadata": {"name": "b"},
        "spec": {"selector": {"matchLabels": {"app": "kept"}}, "minAvailable": 1},
    }
    await cluster.client.create(budget, kind=POD_DISRUPTION_BUDGETS)
    await cluster.pod("kept", cpu="4", labels={"app": "kept"}, priorityClassName="low")
    kept = await cluster.node_of("kept")
    await cluster.pod("other", cpu="4", priorityClassName="middle")
    other = await cluster.node_of("other")
    await cluster.pod("high", cpu="4", priorityClassName="high")
    assert await cluster.node_of("high") == other
    assert await cluster.node_of("kept") == kept
    await cluster.gone("other")


@with_scheduler(nodes=("one",))
async def test_a_pod_that_must_not_preempt_waits(cluster: Cluster) -> None:
    await _priorities(cluster.client)
    await cluster.pod("low", cpu="4", priorityClassName="low")
    await cluster.node_of("low")
    polite = {"metadata": {"name": "polite"}, "value": 1000, "preemptionPolicy": "Never"}
    await cluster.client.create(polite, kind=PRIORITY_CLASSES)
    await cluster.pod("p", priorityClassName="polite")
    assert await cluster.refusal("p") == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."
    )
    await asyncio.sleep(60)
    await cluster.node_of("low")
