"""The order in which pods are evicted under node pressure, and the eviction message. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from steersman.cluster.node.pod_admission import CRITICAL
from steersman.cluster.node.pod_status import NodeTermination
from steersman.objects.amounts import parsed
from steersman.objects.kinds.types.core_v1 import Container, Pod
from steersman.objects.pods import container_totals
from steersman.objects.quantities import Quantity
from steersman.objects.usage import Usage

__all__ = ["EvictionCandidate", "eviction", "victim"]

#: For how long containers of an evicted pod may go on.
_GRACE_S: Final = 1


class EvictionCandidate(NamedTuple):
    """A pod and the usage of its containers."""

    pod: Pod
    usage: Mapping[str, Usage]


def victim(starved: str, candidates: Iterable[EvictionCandidate]) -> EvictionCandidate | None:
    """The pod to evict when the node is short of `starved`; None if there is none that may be.

    Those that use more memory than they asked for come first, then the less important, then whoever uses
    most beyond its request.
    """
    ranked = [one for one in candidates if _priority(one.pod) < CRITICAL]
    if starved != "memory":
        return min(ranked, key=lambda one: (_priority(one.pod), -_excess(one)), default=None)
    return min(ranked, key=lambda one: (_excess(one) <= 0, _priority(one.pod), -_excess(one)), default=None)


def eviction(starved: str, candidate: EvictionCandidate) -> NodeTermination:
    """The end of that pod."""
    message = f"The node was low on resource: {starved}. "
    if starved == "memory":
        spec = candidate.pod["spec"]
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            used = candidate.usage.get(container["name"])
            asked = _memory_of(container)
            if used is not None and used.memory_bytes > asked.value:
                shown = Quantity(used.memory_bytes, 0, "BinarySI")
                message += (
                    f"Container {container['name']} was using {shown}, request is {asked}, "
                    f"has larger consumption of {starved}. "
                )
    return NodeTermination("Evicted", message, _GRACE_S, disruption=True)


def _priority(pod: Pod) -> int:
    return int(pod["spec"].get("priority") or 0)


def _excess(candidate: EvictionCandidate) -> int:
    """By how much it uses more memory than it asked for."""
    requests = container_totals(
        dict(candidate.pod["spec"]), lambda one: (one.get("resources") or {}).get("requests")
    )
    asked = requests["memory"].value if "memory" in requests else 0
    return sum(usage.memory_bytes for usage in candidate.usage.values()) - asked


def _memory_of(container: Container) -> Quantity:
    requests = (container.get("resources") or {}).get("requests")
    return parsed(requests).get("memory", Quantity(0))
