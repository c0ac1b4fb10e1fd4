"""Profiles: which plugins there are, in which order, and what users can change."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from steersman.cluster.scheduler import ProfileConfig
from steersman.cluster.scheduler.framework import CycleState, Refusal
from steersman.cluster.scheduler.model import NodeInfo, PodInfo

from .worlds import World


def test_the_default_profile_is_that_of_kube_scheduler() -> None:
    profile = World().profile
    assert [plugin.name for plugin in profile.plugins] == [
        "SchedulingGates", "PrioritySort", "NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity",
        "NodePorts", "NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone",
        "PodTopologySpread", "InterPodAffinity", "DefaultPreemption", "NodeResourcesBalancedAllocation",
        "ImageLocality", "DefaultBinder",
    ]  # fmt: skip
    assert {each.plugin.name: each.weight for each in profile.scores} == {
        "TaintToleration": 3, "NodeAffinity": 2, "NodeResourcesFit": 1, "PodTopologySpread": 2,
        "InterPodAffinity": 2, "NodeResourcesBalancedAllocation": 1, "ImageLocality": 1,
    }  # fmt: skip


class Nearest:
    """Prefers nodes by the number in their name; asked about each node for each pod."""

    name = "Nearest"

    def score(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return int(node.name[1:])

    def normalize(self, cycle: CycleState, pod: PodInfo, scores: Sequence[int]) -> Sequence[int]:
        return [100 - score for score in scores]


class Quota:
    """Remembered: at most two pods on a node."""

    name = "Quota"
    asked = 0

    def sign(self, pod: PodInfo) -> None:
        return None

    def filter(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> Refusal | None:
        Quota.asked += 1
        return Refusal(self.name, ("node(s) have two pods",)) if len(node.pods) >= 2 else None


def _world(config: ProfileConfig) -> World:
    world = World(config)
    for number in range(4):
        world.add_node(f"n{number}")
    return world


def test_a_users_score_counts_with_its_weight() -> None:
    world = _world(ProfileConfig(add=[lambda handle: Nearest()], weights={"Nearest": 50}))
    world.add_pod("n0", "p", cpu="2")
    assert world.node_for() == "n0"
    assert (
        _world(ProfileConfig(add=[lambda handle: Nearest()], weights={"Nearest": 0}))
        .profile.scores[-1]
        .weight
    )


def test_a_users_filter_that_signs_is_asked_about_changed_nodes_only() -> None:
    world = _world(ProfileConfig(add=[lambda handle: Quota()]))
    Quota.asked = 0
    for number in range(8):
        node = world.node_for(f"p{number}")
        world.add_pod(node, f"p{number}")
    assert Quota.asked == 4 + 7
    assert world.node_for() == "0/4 nodes are available: 4 node(s) have two pods."


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (ProfileConfig(without=["DefaultBinder"]), "one that binds"),
        (ProfileConfig(without=["Nobody"]), "there is no plugin Nobody"),
        (ProfileConfig(weights={"Nobody": 1}), "weights for no plugins: Nobody"),
    ],
    ids=["nobody binds", "unknown plugin", "unknown weight"],
)
def test_a_profile_that_could_not_work_is_refused(config: ProfileConfig, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        World(config)


def test_a_plugin_can_be_left_out() -> None:
    world = World(ProfileConfig(without=["TaintToleration"]))
    world.add_node("a", taints=[{"key": "k", "effect": "NoSchedule"}])
    assert world.node_for() == "a"
