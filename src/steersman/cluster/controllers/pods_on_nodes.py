"""An index of pods by `spec.nodeName`, shared by controllers."""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.objects.kinds.views.pods import PlacedPodView
from steersman.runtime import Cache, Cached

__all__ = ["index_by_node", "node_of", "pods_on"]

_INDEX: Final = "node"


_decode = msgspec.json.Decoder(PlacedPodView).decode


def node_of(pod: Cached) -> str:
    """Where a pod runs; empty if that is not decided."""
    return _decode(pod.data).spec.node_name


def index_by_node(pods: Cache) -> None:
    """Have `pods_on` find the pods of this cache. May be called by each of its users."""
    try:
        pods.by_index(_INDEX, "")
    except KeyError:
        pods.add_index(_INDEX, _values)


def _values(pod: Cached) -> tuple[str, ...]:
    node = node_of(pod)
    return (node,) if node else ()


def pods_on(pods: Cache, node: str) -> list[Cached]:
    return pods.by_index(_INDEX, node)
