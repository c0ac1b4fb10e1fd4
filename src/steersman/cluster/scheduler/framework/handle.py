"""What a plugin is given: the nodes, the caches of other resources, and how to write."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from steersman.aio import Clock
from steersman.client import Client
from steersman.cluster.scheduler.model.nodes import Nodes
from steersman.cluster.scheduler.model.nominations import Nominations
from steersman.cluster.scheduler.model.pod import Pod
from steersman.cluster.scheduler.permits import Permits
from steersman.objects.resource_type import ResourceType
from steersman.runtime import Cache

if TYPE_CHECKING:
    from steersman.cluster.scheduler.framework.cycle import Cycle
    from steersman.cluster.scheduler.framework.verdicts import Refusal
    from steersman.cluster.scheduler.model.node import Node

__all__ = ["Handle"]


def _no_labels(_: str) -> Mapping[str, str]:
    return {}


@dataclass(slots=True)
class Handle:
    """One for each profile. Reading never waits; what is written shows in the caches by and by."""

    client: Client
    clock: Clock
    nodes: Nodes
    #: The cache of a resource; the scheduler follows those its plugins name in `resources`.
    cache: Callable[[ResourceType], Cache]
    nominations: Nominations = field(default_factory=Nominations)
    #: For plugins that have pods wait: `allow` and `reject`.
    permits: Permits = field(default_factory=Permits)
    namespace_labels: Callable[[str], Mapping[str, str]] = _no_labels
    #: Grows when labels of namespaces change.
    namespaces_changed: Callable[[], int] = lambda: 0
    #: Whether a node would take the pod, asked of all filters; for post-filters that try things.
    check: Callable[[Cycle, Pod, Node], Refusal | None] = lambda cycle, pod, node: None
    #: What filters look at in the pod, if one node is all they look at besides; None if not.
    sign: Callable[[Cycle, Pod], Hashable | None] = lambda cycle, pod: None
    #: Run all plugins' part of adding (1) or removing (-1) a pod in a simulation.
    simulate: Callable[[Cycle, Pod, Pod, Node, int], None] = lambda cycle, pod, other, node, sign: None
    #: Evict pods so that the pod can go to a node; the work goes on in the background.
    evict: Callable[[Pod, str, list[Pod]], None] = lambda pod, node, victims: None

    def find(self, resource: ResourceType, name: str, namespace: str = "") -> dict[str, Any] | None:
        cached = self.cache(resource).get((namespace, name))
        return None if cached is None else cached.object()
