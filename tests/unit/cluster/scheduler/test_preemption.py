"""Who has to go."""

from __future__ import annotations

import pytest

from steersman.cluster.scheduler.framework import CycleState, NoFit
from steersman.cluster.scheduler.preemption import DisruptionBudget, PreemptionCandidate, cheapest, violating
from steersman.objects.resources import POD_DISRUPTION_BUDGETS
from steersman.objects.selectors import LabelSelector

from .worlds import World, a_pod


def _preempt(world: World, **parts: object) -> tuple[str | None, str]:
    """The node that is promised to an important pod, and what is said."""
    pod = a_pod("vip", priority=100, **parts)
    cycle = CycleState()
    failure = world.placer.place(cycle, pod)
    assert isinstance(failure, NoFit)
    unasked = failure.pod or failure.unasked
    nomination = world.profile.post_filters[0].post_filter(cycle, pod, failure.refusals, unasked)
    assert nomination is not None
    return nomination.node, nomination.message


def test_as_few_and_as_unimportant_pods_as_possible_go() -> None:
    world = World().add_node("a").add_node("b")
    world.add_pod("a", "a1", cpu="2", priority=5).add_pod("a", "a2", cpu="2", priority=1)
    world.add_pod("b", "b1", cpu="2", priority=7).add_pod("b", "b2", cpu="2", priority=2)
    node, message = _preempt(world, cpu="2")
    assert (node, world.evicted) == ("a", [("vip", "a", ["a2"])])
    assert message == "preemption: found a potential placement for pod on node a, preempting 1 victims"


def test_the_younger_of_equals_goes() -> None:
    world = World().add_node("a")
    for name, started in (("old", "2026-01-01T00:00:00Z"), ("young", "2026-02-01T00:00:00Z")):
        world.add_pod("a", name, cpu="2", status={"startTime": started})
    _preempt(world, cpu="2")
    assert world.evicted == [("vip", "a", ["young"])]


def test_pods_under_a_budget_go_last() -> None:
    world = World().add_node("a")
    world.add_pod("a", "kept", cpu="2", labels={"app": "x"}).add_pod("a", "other", cpu="2", priority=50)
    budget = {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}},
    }
    world.store(POD_DISRUPTION_BUDGETS, {**budget, "status": {"disruptionsAllowed": 0}})
    _preempt(world, cpu="2")
    assert world.evicted == [("vip", "a", ["other"])]


def test_preemption_counts_with_spreading() -> None:
    constraint = {
        "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
    }  # fmt: skip
    world = World().add_node("a", labels={"zone": "1"}).add_node("b", labels={"zone": "2"})
    world.add_pod("a", "a1", labels={"app": "x"}, priority=1)
    world.add_pod("b", "b1", cpu="4", priority=200)
    node, _ = _preempt(world, cpu="1", labels={"app": "x"}, topologySpreadConstraints=[constraint])
    assert (node, world.evicted) == ("a", [("vip", "a", ["a1"])])


def test_preemption_counts_with_anti_affinity_of_both_sides() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    far = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    world = World().add_node("a").add_pod("a", "hermit", labels={"app": "y"}, affinity=far)
    node, _ = _preempt(world, labels={"app": "x"})
    assert (node, world.evicted) == ("a", [("vip", "a", ["hermit"])])
    world = World().add_node("a").add_pod("a", "crowd", labels={"app": "x"})
    node, _ = _preempt(world, affinity=far)
    assert (node, world.evicted) == ("a", [("vip", "a", ["crowd"])])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        pytest.param(
            {"cpu": "5"},
            "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
            id="the node is too small",
        ),
        pytest.param(
            {"cpu": "4"},
            "preemption: 0/1 nodes are available: 1 Insufficient cpu.",
            id="too much is taken by important pods",
        ),
        pytest.param(
            {"cpu": "3", "preemptionPolicy": "Never"},
            "preemption: not eligible due to preemptionPolicy=Never.",
            id="it must not",
        ),
    ],
)
def test_preemption_may_not_help(parts: dict[str, object], message: str) -> None:
    world = World().add_node("a").add_pod("a", "king", cpu="1", priority=1000).add_pod("a", "low", cpu="2")
    assert _preempt(world, **parts)[1] == message
    assert world.evicted == []


def test_a_pod_waits_for_those_that_are_leaving_its_node() -> None:
    world = World().add_node("a")
    world.add_pod("a", "low", cpu="4", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    node, message = _preempt(world, cpu="3", status={"nominatedNodeName": "a"})
    assert (node, message) == (
        None,
        "preemption: not eligible due to a terminating pod on the nominated node.",
    )


def test_promised_room_is_kept_for_the_more_important() -> None:
    world = World().add_node("a")
    world.handle.nominations.put(a_pod("vip", cpu="3", priority=100), "a")
    assert world.node_for(cpu="2", priority=1) == "0/1 nodes are available: 1 Insufficient cpu."
    assert world.node_for(cpu="2", priority=101) == "a"
    assert world.node_for(cpu="1", priority=1) == "a"


def test_budgets_are_used_up_one_by_one() -> None:
    budget = DisruptionBudget("default", LabelSelector.parse("app=x"), 1, frozenset({"done"}))
    pods = [a_pod(name, labels={"app": "x"}) for name in ("done", "first", "second")] + [a_pod("free")]
    protected, others = violating(pods, [budget])
    assert [pod.name for pod in protected] == ["second"]
    assert [pod.name for pod in others] == ["done", "first", "free"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(([1], 0), ([1], 1), id="fewer budgets are violated"),
        pytest.param(([1, 1], 0), ([2], 0), id="the most important victim is less important"),
        pytest.param(([5, 1], 0), ([5, 2], 0), id="the others are less important"),
        pytest.param(([-5], 0), ([-5, -5], 0), id="fewer go"),
    ],
)
def test_the_cheapest_node_is_chosen(one: tuple[list[int], int], other: tuple[list[int], int]) -> None:
    candidates = [
        PreemptionCandidate(
            name, tuple(a_pod(str(number), priority=number) for number in priorities), violations
        )
        for name, (priorities, violations) in (("other", other), ("one", one))
    ]
    assert cheapest(candidates).node == "one"


def test_what_was_found_out_for_a_pod_holds_for_the_next_one_alike_unless_the_node_has_changed() -> None:
    world = World().add_node("a").add_node("b")
    for name in ("a", "b"):
        world.add_pod(name, f"low-{name}", cpu="4", priority=1)
    first, _ = _preempt(world, cpu="3")
    assert first is not None
    other = {"a": "b", "b": "a"}[first]
    # The promised node is not offered twice, and the other one has become more expensive to have.
    world.handle.nominations.put(a_pod("vip", cpu="3", priority=100), first)
    world.add_pod(other, f"low-{other}", cpu="4", priority=100)
    again = a_pod("second", cpu="3", priority=100)
    cycle = CycleState()
    failure = world.placer.place(cycle, again)
    assert isinstance(failure, NoFit)
    nomination = world.profile.post_filters[0].post_filter(cycle, again, failure.refusals, None)
    assert nomination is not None
    assert nomination.node == ""
    assert world.evicted == [("vip", first, [f"low-{first}"])]
