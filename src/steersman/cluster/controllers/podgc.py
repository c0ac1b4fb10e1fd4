"""The pod garbage collector: deletes orphaned, unscheduled terminating and too many terminated pods.

| a pod                                                       | is deleted                              |
|-------------------------------------------------------------|-----------------------------------------|
| is being deleted and has no node                            | at once                                 |
| is being deleted on a node that is not ready and tainted    | at once                                 |
| `node.kubernetes.io/out-of-service`                         |                                         |
| is on a node that does not exist                            | when that was so for 40 s               |
| has ended                                                   | when there are too many, oldest first   |
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, cast

from steersman.client import NotFound
from steersman.cluster.controllers.nodelifecycle.health import NodeState
from steersman.cluster.controllers.pod_states import PodState
from steersman.cluster.controllers.pods_on_nodes import index_by_node, pods_on
from steersman.cluster.controllers.reconciling import moment, retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.conditions import condition_patch
from steersman.objects.kinds.types.core_v1 import Pod, PodCondition, PodStatus
from steersman.objects.resources import NODES, PODS
from steersman.objects.times import format_time
from steersman.runtime import Cached, Change, Key, Request, Result

__all__ = ["add", "excess", "verdict_on"]

Verdict = Literal["unscheduled", "orphaned", "out of service"]

#: A node that is missing may only be missing from a cache, or be about to come back.
_QUARANTINE_S: Final = 40.0
_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
#: Stands for all pods that have ended.
_ENDED: Final = Key("", "ended")


def verdict_on(pod: PodState, node: Cached | None) -> Verdict | None:
    """Why a pod cannot end by itself; `node` is the one it is on, as far as known."""
    if not pod.node:
        return "unscheduled" if pod.deleting else None
    if node is None:
        return "orphaned"
    if not pod.deleting:
        return None
    state = NodeState.read(node)
    gone = state.ready != "True" and any(taint.key == _OUT_OF_SERVICE for taint in state.taints)
    return "out of service" if gone else None


def excess(pods: Iterable[Pod], limit: int) -> list[Pod]:
    """Those of the ended pods that are too many: evicted ones first, then the oldest."""
    ordered = sorted(
        pods,
        key=lambda pod: (
            not (pod["status"].get("phase") == "Failed" and pod["status"].get("reason") == "Evicted"),
            pod["metadata"].get("creationTimestamp") or "",
            pod["metadata"]["name"],
        ),
    )
    return ordered[: max(len(ordered) - limit, 0)]


def add(setup: Setup) -> None:
    _PodCollector(setup)


class _PodCollector:
    """Reconciles pods that may be orphaned or surplus."""

    def __init__(self, setup: Setup) -> None:
        pods, nodes = setup.informer(PODS), setup.informer(NODES)
        self._client = setup.client
        self._clock = setup.clock
        self._pods, self._nodes = pods.cache, nodes.cache
        self._limit = setup.options.terminated_pods
        self._writes = setup.writes("podgc", pods)
        #: Pods that have ended; some may be gone.
        self._ended: set[Key] = set()
        #: Nodes that pods are on and that do not exist: since when.
        self._missing: dict[str, float] = {}
        index_by_node(self._pods)
        controller = setup.controller("podgc", retrying_conflicts(self._reconcile))
        controller.watches(pods, self._on_pod)
        controller.watches(nodes, self._on_node)

    def _on_pod(self, change: Change) -> list[Key]:
        if change.new is None:
            self._ended.discard(change.key)
            return []
        pod = PodState.read(change.new)
        keys = [change.key] if verdict_on(pod, self._node(pod)) is not None else []
        if pod.terminal and change.key not in self._ended:
            self._ended.add(change.key)
            if 0 < self._limit < len(self._ended):
                keys.append(_ENDED)
        return keys

    def _on_node(self, change: Change) -> list[Key]:
        if change.new is not None:
            self._missing.pop(change.key.name, None)
            if not any(taint.key == _OUT_OF_SERVICE for taint in NodeState.read(change.new).taints):
                return []
        return [cached.key for cached in pods_on(self._pods, change.key.name)]

    def _node(self, pod: PodState) -> Cached | None:
        return self._nodes.get(("", pod.node))

    async def _reconcile(self, request: Request) -> Result | None:
        if request.key == _ENDED:
            await self._delete_excess()
            return None
        cached = self._pods.get(request.key)
        if cached is None:
            return None
        pod = PodState.read(cached)
        verdict = verdict_on(pod, self._node(pod))
        if verdict == "orphaned":
            wait_s = await self._quarantine_s(pod.node)
            if wait_s > 0:
                return Result.requeue(wait_s)
        if verdict is not None:
            await self._delete(cached, pod, verdict)
            if not pods_on(self._pods, pod.node):
                self._missing.pop(pod.node, None)
        return None

    async def _quarantine_s(self, node: str) -> float:
        """How long pods of a missing node are left alone; the API is asked in the end."""
        now = self._clock.monotonic()
        since = self._missing.setdefault(node, now)
        left_s = since + _QUARANTINE_S - now
        if left_s <= 0 and await self._client.find(NODES, node) is not None:
            return _QUARANTINE_S
        return left_s

    async def _delete_excess(self) -> None:
        there = [cached for key in self._ended if (cached := self._pods.get(key)) is not None]
        ended = [cast("Pod", cached.object()) for cached in there if PodState.read(cached).terminal]
        self._ended = {Key.of(pod) for pod in ended}
        for pod in excess(ended, self._limit):
            key = Key.of(pod)
            await self._writes.delete(PODS, key, pod["metadata"]["uid"], propagation=None, grace_s=0)
            self._ended.discard(key)

    async def _delete(self, cached: Cached, pod: PodState, verdict: Verdict) -> None:
        """End a pod in its node's stead, then delete it; finalizers may still keep it."""
        if not pod.terminal:
            status: PodStatus = {"phase": "Failed"}
            generation = cached.metadata().get("generation")
            if generation:
                status["observedGeneration"] = generation
            changes: dict[str, Any] = {}
            if verdict == "orphaned":
                present = (cached.object().get("status") or {}).get("conditions")
                changes = condition_patch(present, self._disruption(generation))
            patch = {"metadata": {"uid": pod.uid}, "status": {**status, **changes}}
            try:
                await self._writes.patch(PODS, cached.key, patch, type="strategic", subresource="status")
            except NotFound:
                return
        elif cached.metadata().get("deletionGracePeriodSeconds") == 0:
            return
        await self._writes.delete(PODS, cached.key, pod.uid, propagation=None, grace_s=0)

    def _disruption(self, generation: int | None) -> PodCondition:
        condition: PodCondition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByPodGC",
            "message": "PodGC: node no longer exists",
            "lastTransitionTime": format_time(moment(self._clock)),
        }
        return {**condition, "observedGeneration": generation} if generation else condition
