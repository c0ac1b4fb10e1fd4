"""The taint eviction controller: deletes pods from nodes with NoExecute taints that they do not tolerate, at
once or after tolerationSeconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from steersman.client import NotFound
from steersman.cluster.controllers.pods_on_nodes import index_by_node, pods_on
from steersman.cluster.controllers.reconciling import moment, retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.cluster.controllers.taints import NO_EXECUTE, Taint, Toleration
from steersman.objects.conditions import condition_patch
from steersman.objects.kinds.types.core_v1 import PodCondition
from steersman.objects.kinds.views.nodes import NodePlacementView
from steersman.objects.kinds.views.pods import TaintedPodView
from steersman.objects.resources import NODES, PODS
from steersman.objects.times import format_time
from steersman.runtime import Cached, Change, Key, Request, Result, RetryPolicy

__all__ = ["add", "tolerated_s"]


_FOREVER: Final = float("inf")


_decode_node = msgspec.json.Decoder(NodePlacementView).decode
_decode_pod = msgspec.json.Decoder(TaintedPodView).decode


def tolerated_s(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> float:
    """How long a pod may stay: 0 if not at all, infinity if for ever."""
    shortest = _FOREVER
    for taint in taints:
        matching = next((one for one in tolerations if one.tolerates(taint)), None)
        if matching is None:
            return 0.0
        if matching.toleration_seconds is not None:
            shortest = min(shortest, max(matching.toleration_seconds, 0))
    return shortest


def add(setup: Setup) -> None:
    eviction = _TaintEviction(setup)
    controller = setup.controller(
        "taint-eviction",
        retrying_conflicts(eviction.reconcile),
        concurrency=16,
        retry=RetryPolicy.client_go(),
    )
    # Nodes first, so that pods find out where they are.
    controller.watches(eviction.nodes, eviction.on_node)
    controller.watches(eviction.pods, eviction.on_pod)


@dataclass(frozen=True, slots=True)
class _Planned:
    """A scheduled deletion of a pod, and the time it was scheduled at."""

    uid: str
    since: float
    due: float


class _TaintEviction:
    """Reconciles pods on nodes with NoExecute taints."""

    def __init__(self, setup: Setup) -> None:
        self.nodes = setup.informer(NODES)
        self.pods = setup.informer(PODS)
        index_by_node(self.pods.cache)
        self._writes = setup.writes("taint-eviction", self.pods)
        self._recorder = setup.recorder("taint-eviction-controller")
        self._clock = setup.clock
        #: The NoExecute taints of nodes that have any.
        self._taints: dict[str, list[Taint]] = {}
        self._planned: dict[Key, _Planned] = {}

    def on_node(self, change: Change) -> Iterable[Key]:
        """The pods of a node whose taints have changed."""
        name = change.key.name
        before = self._taints.pop(name, [])
        taints = _no_execute(change.new)
        if taints:
            self._taints[name] = taints
        if taints == before and not change.initial:
            return ()
        return [pod.key for pod in pods_on(self.pods.cache, name)]

    def on_pod(self, change: Change) -> Iterable[Key]:
        if change.initial:
            self._planned.pop(change.key, None)  # of an earlier term; who knows what happened since
        if change.key in self._planned:
            return (change.key,)
        if not self._taints or change.new is None:
            return ()
        return (change.key,) if _decode_pod(change.new.data).spec.node_name in self._taints else ()

    async def reconcile(self, request: Request) -> Result | None:
        key = request.key
        cached = self.pods.cache.get(key)
        pod = _decode_pod(cached.data) if cached is not None else None
        if cached is None or pod is None or pod.metadata.deletion_timestamp is not None:
            self._planned.pop(key, None)
            return None
        planned = self._planned.get(key)
        if planned is not None and planned.uid != pod.metadata.uid:
            planned = None  # of another pod of this name
        stays_s = tolerated_s(self._taints.get(pod.spec.node_name, ()), pod.spec.tolerations)
        if stays_s == _FOREVER:
            if self._planned.pop(key, None) is not None:
                self._record_event(cached, f"Cancelling deletion of Pod {key}")
            return None
        now = self._clock.monotonic()
        since = planned.since if planned is not None else now
        planned = self._planned[key] = _Planned(pod.metadata.uid, since, since + stays_s)
        if planned.due > now:
            return Result.requeue(planned.due - now)
        self._record_event(cached, f"Marking for deletion Pod {key}")
        await self._evict(cached, pod)
        self._planned.pop(key, None)
        return None

    async def _evict(self, cached: Cached, pod: TaintedPodView) -> None:
        condition: PodCondition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
            "lastTransitionTime": format_time(moment(self._clock)),
        }
        if pod.metadata.generation:
            condition["observedGeneration"] = pod.metadata.generation
        present = (cached.object().get("status") or {}).get("conditions")
        patch = {"metadata": {"uid": pod.metadata.uid}, "status": condition_patch(present, condition)}
        try:
            await self._writes.patch(PODS, cached.key, patch, type="strategic", subresource="status")
        except NotFound:
            return
        await self._writes.delete(PODS, cached.key, pod.metadata.uid, propagation=None)

    def _record_event(self, cached: Cached, note: str) -> None:
        # As Kubernetes tells it: the pod of that name, whichever it is.
        metadata = {"namespace": cached.key.namespace, "name": cached.key.name}
        reference = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
        self._recorder.event(reference, "Normal", "TaintManagerEviction", note)


def _no_execute(node: Cached | None) -> list[Taint]:
    if node is None:
        return []
    return [taint for taint in _decode_node(node.data).spec.taints if taint.effect == NO_EXECUTE]
