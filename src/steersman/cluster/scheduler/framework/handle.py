"""The handle that a plugin gets: the nodes, informer caches and the client."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from steersman.aio import Clock
from steersman.client import Client
from steersman.cluster.scheduler.model.nodes import NodeTable
from steersman.cluster.scheduler.model.nominations import Nominations
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.cluster.scheduler.permits import Permits
from steersman.objects.resource_type import ResourceType
from steersman.runtime import Cache

if TYPE_CHECKING:
    from steersman.cluster.scheduler.framework.cycle_state import CycleState
    from steersman.cluster.scheduler.framework.verdicts import Refusal
    from steersman.cluster.scheduler.model.node import NodeInfo

__all__ = ["Handle"]


def _no_labels(_: str) -> Mapping[str, str]:
    return {}


@dataclass(slots=True)
class Handle:
    """The handle of one profile. Reads never wait; writes show in the caches later."""

    client: Client
    clock: Clock
    nodes: NodeTable
    #: The cache of a resource; the scheduler follows those its plugins name in `resources`.
    cache: Callable[[ResourceType], Cache]
    nominations: Nominations = field(default_factory=Nominations)
    #: For plugins that have pods wait: `allow` and `reject`.
    permits: Permits = field(default_factory=Permits)
    namespace_labels: Callable[[str], Mapping[str, str]] = _no_labels
    #: Grows when labels of namespaces change.
    namespaces_changed: Callable[[], int] = lambda: 0
    #: Whether a node would take the pod, asked of all filters; for post-filters that try things.
    check: Callable[[CycleState, PodInfo, NodeInfo], Refusal | None] = lambda cycle, pod, node: None
    #: What filters look at in the pod, if one node is all they look at besides; None if not.
    sign: Callable[[CycleState, PodInfo], Hashable | None] = lambda cycle, pod: None
    #: Run all plugins' part of adding (1) or removing (-1) a pod in a simulation.
    simulate: Callable[[CycleState, PodInfo, PodInfo, NodeInfo, int], None] = (
        lambda cycle, pod, other, node, sign: None
    )
    #: Evict pods so that the pod can go to a node; the work goes on in the background.
    evict: Callable[[PodInfo, str, list[PodInfo]], None] = lambda pod, node, victims: None

    def find(self, resource: ResourceType, name: str, namespace: str = "") -> dict[str, Any] | None:
        cached = self.cache(resource).get((namespace, name))
        return None if cached is None else cached.object()
