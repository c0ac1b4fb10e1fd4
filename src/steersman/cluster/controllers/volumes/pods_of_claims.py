"""Which pods use a claim, found by an index."""

from __future__ import annotations

from typing import Final

from steersman.cluster.controllers.pod_states import PodState
from steersman.runtime import Cache, Cached

__all__ = ["index_by_claim", "pods_using", "unscheduled_pods"]

_INDEX: Final = "volume-claim"


def index_by_claim(pods: Cache) -> None:
    """Have pods found by their claims. May be called by each user of the cache."""
    try:
        pods.by_index(_INDEX, "")
    except KeyError:
        pods.add_index(_INDEX, _claims_of)


def _claims_of(pod: Cached) -> list[str]:
    if b'"persistentVolumeClaim"' not in pod.data:
        return []
    return [
        f"{pod.key.namespace}/{volume.persistent_volume_claim.claim_name}"
        for volume in PodState.read(pod).spec.volumes or ()
        if volume.persistent_volume_claim is not None
    ]


def pods_using(pods: Cache, namespace: str, claim: str) -> list[Cached]:
    return pods.by_index(_INDEX, f"{namespace}/{claim}")


def unscheduled_pods(pods: Cache, namespace: str, claim: str) -> list[str]:
    """The names of the pods that use a claim and have no node yet."""
    found = map(PodState.read, pods_using(pods, namespace, claim))
    return sorted(pod.name for pod in found if not pod.node and not pod.terminal)
