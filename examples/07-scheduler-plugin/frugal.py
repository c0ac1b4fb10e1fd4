"""A scheduler that minds the price of nodes: kube-scheduler's plugins, and one more.

Nodes say in a label what an hour of them costs. Pods that ask for the scheduler `frugal` go to the cheapest
node that suits them, and a pod may say in a label what it is worth at most.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from steersman import Client
from steersman.aio import Clock
from steersman.cluster.scheduler import ProfileConfig, add_scheduler
from steersman.cluster.scheduler.framework import (
    MAX_SCORE,
    ClusterEvent,
    CycleState,
    EventKind,
    Hints,
    Refusal,
)
from steersman.cluster.scheduler.model.node import NodeInfo
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.election.lease import LeaseElector
from steersman.runtime import Manager

SCHEDULER: Final = "frugal"
#: On nodes: cents an hour.
PRICE: Final = "example.com/cents-per-hour"
#: On pods: what the node may cost.
MOST: Final = "example.com/most-cents-per-hour"

#: One for all nodes that are refused. Evicting others does not make a node cheaper.
TOO_EXPENSIVE: Final = Refusal("Price", ("node(s) were too expensive",), resolvable=False)


def cents(labels: Mapping[str, str], name: str) -> int | None:
    text = labels.get(name, "")
    return int(text) if text.isdigit() else None


class Price:
    """Looks at one node and one label of the pod: `sign` says so, and its answers are remembered."""

    name = "Price"

    def sign(self, pod: PodInfo) -> str | None:
        return pod.labels.get(MOST)

    def filter(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> Refusal | None:
        return None if affordable(pod, node.facts.labels) else TOO_EXPENSIVE

    def score(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return cents(node.facts.labels, PRICE) or 0

    def normalize(self, cycle: CycleState, pod: PodInfo, scores: Sequence[int]) -> Sequence[int]:
        """The cheapest gets 100, the dearest 0."""
        low, high = min(scores), max(scores)
        span = high - low
        return [MAX_SCORE * (high - score) // span if span else MAX_SCORE for score in scores]

    @property
    def hints(self) -> Hints:
        """When to look again at pods that were refused here."""
        return {EventKind.NODE_ADDED: is_cheap_enough, EventKind.NODE_LABELS: is_cheap_enough}


def affordable(pod: PodInfo, node_labels: Mapping[str, str]) -> bool:
    most, price = cents(pod.labels, MOST), cents(node_labels, PRICE)
    return most is None or (price is not None and price <= most)


def is_cheap_enough(pod: PodInfo, what: ClusterEvent) -> bool:
    return what.new_node is not None and affordable(pod, what.new_node.labels)


def frugal(client: Client, elector: LeaseElector | None = None, clock: Clock | None = None) -> Manager:
    """All that a process with this scheduler runs."""
    manager = Manager(client, elector=elector, clock=clock, address=None)
    add_scheduler(manager, [ProfileConfig(SCHEDULER, add=[lambda handle: Price()], weights={"Price": 10})])
    return manager


async def main() -> None:
    async with Client.load() as client:
        await frugal(client, LeaseElector(client, SCHEDULER)).run_until_signalled()


if __name__ == "__main__":
    asyncio.run(main())
