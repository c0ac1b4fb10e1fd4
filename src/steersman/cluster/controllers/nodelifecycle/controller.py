"""The node lifecycle controller: sets conditions to Unknown for nodes without heartbeats, and taints nodes
according to their conditions.

It is two controllers that share their state. `nodelifecycle` reconciles single nodes when something about
them has changed. `nodelifecycle-monitor` checks all of them every few seconds: missing heartbeats, the state
of the zones, the next node to be tainted NoExecute; it only triggers reconciles and writes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

import msgspec

from steersman.client import NotFound
from steersman.cluster.controllers.nodelifecycle.health import (
    NodeHealthData,
    NodeState,
    ObservationGaps,
    silent_conditions,
)
from steersman.cluster.controllers.nodelifecycle.zones import EvictionRates, Zones
from steersman.cluster.controllers.pod_states import PodState
from steersman.cluster.controllers.pods_on_nodes import index_by_node, node_of, pods_on
from steersman.cluster.controllers.reconciling import moment, retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.cluster.controllers.taints import (
    NO_EXECUTE,
    NOT_READY,
    UNREACHABLE,
    Taint,
    changed_taints,
    condition_taints,
)
from steersman.objects.kinds import Object
from steersman.objects.kinds.types.core_v1 import Node
from steersman.objects.kinds.views.leases import LeaseView
from steersman.objects.resources import LEASES, NODES, PODS
from steersman.objects.times import format_time
from steersman.runtime import Cached, Change, Controller, Key, Request, Result, RetryPolicy

__all__ = ["add"]

_log = logging.getLogger(__name__)


_LEASE_NAMESPACE: Final = "kube-node-lease"
_MONITOR: Final = Key("", "all-nodes")
#: How long nodes that fall silent together are waited for before it is judged how bad that is.
_TOGETHER_S: Final = 0.1
#: Nodes are looked at this often in any case.
_LONGEST_S: Final = 3600.0
#: What the node's readiness asks for, by which pods may have to leave.
_NO_EXECUTE: Final = {
    "False": Taint(NOT_READY, effect=NO_EXECUTE),
    "Unknown": Taint(UNREACHABLE, effect=NO_EXECUTE),
}
_VERDICTS: Final = {
    "all lost": "no node is ready: no pods are evicted",
    "some back": "a node is ready again: pods are evicted from those that are not",
}
#: Labels that are kept equal to others.
_COPIED_LABELS: Final = {
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
}


_decode_lease = msgspec.json.Decoder(LeaseView).decode


def add(setup: Setup) -> None:
    lifecycle = _NodeLifecycle(setup)
    controller = setup.controller(
        "nodelifecycle",
        retrying_conflicts(lifecycle.reconcile),
        concurrency=16,
        retry=RetryPolicy.client_go(),
    )
    controller.watches(lifecycle.nodes, lifecycle.on_node)
    controller.watches(lifecycle.leases, lifecycle.on_lease)
    controller.watches(lifecycle.pods, lifecycle.on_pod)
    monitor = setup.controller("nodelifecycle-monitor", lifecycle.monitor)
    monitor.watches(lifecycle.nodes, lambda change: (_MONITOR,), lambda change: change.old is None)
    lifecycle.controllers = controller, monitor


class _NodeLifecycle:
    """Reconciles the conditions and taints of nodes."""

    controllers: tuple[Controller, Controller]

    def __init__(self, setup: Setup, rates: EvictionRates | None = None) -> None:
        self.nodes = setup.informer(NODES)
        self.leases = setup.informer(LEASES, namespace=_LEASE_NAMESPACE)
        self.pods = setup.informer(PODS)
        index_by_node(self.pods.cache)
        self._client = setup.client
        self._writes = setup.writes("nodelifecycle", self.nodes, self.pods)
        self._recorder = setup.recorder("node-controller")
        self._clock = setup.clock
        self._grace_s = setup.options.node_grace_s
        self._period_s = setup.options.node_period_s
        self._healths: dict[str, NodeHealthData] = {}
        self._zones = Zones(rates or EvictionRates())
        #: Nodes whose turn it is to be tainted.
        self._granted: set[str] = set()
        #: Nodes of which nothing is known.
        self._lost: set[str] = set()
        self._observation_gaps = ObservationGaps(self._period_s)

    # --- what is heard of nodes

    def on_node(self, change: Change) -> Iterable[Key]:
        if change.new is None:
            return (change.key,)
        new = NodeState.read(change.new)
        if change.initial:
            # What is known from an earlier term is too old to be judged by.
            self._healths.pop(change.key.name, None)
            self._observation_gaps.begin()
        self._see(new)
        if change.old is not None and not change.resync:
            old = NodeState.read(change.old)
            if _concerns(old) == _concerns(new):
                return ()
        return (change.key,)

    def on_lease(self, change: Change) -> Iterable[Key]:
        health = self._healths.get(change.key.name)
        if health is not None and change.new is not None:
            before = health.silent_at(self._grace_s)
            renewed, lease_s = _renewed(change.new)
            health.see_lease(renewed, self._clock.monotonic(), lease_s)
            if health.silent_at(self._grace_s) < before:
                self.controllers[1].enqueue(_MONITOR, "a shorter lease", after_s=_TOGETHER_S)
        return ()

    def on_pod(self, change: Change) -> Iterable[Key]:
        """A pod that comes to a node nobody hears of is not ready there either."""
        if not self._lost or change.new is None:
            return ()
        node = node_of(change.new)
        if node not in self._lost or (change.old is not None and node_of(change.old) == node):
            return ()
        return (Key("", node),)

    def _see(self, node: NodeState) -> NodeHealthData:
        name, now = node.metadata.name, self._clock.monotonic()
        health = self._healths.get(name)
        if health is None or health.uid != node.metadata.uid:
            health = self._healths[name] = NodeHealthData.first_seen(node, now, self._clock.wall())
            lease = self.leases.cache.get((_LEASE_NAMESPACE, name))
            if lease is not None:
                renewed, lease_s = _renewed(lease)
                health.see_lease(renewed, now, lease_s)
            self._record_node_event(
                node.metadata.uid, name, "RegisteredNode", f"Registered Node {name} in Controller"
            )
        else:
            before = health.ready, health.zone, health.counts
            health.see(node, now)
            if before != (health.ready, health.zone, health.counts):
                self.controllers[1].enqueue(_MONITOR, "node changed", after_s=_TOGETHER_S)
        (self._lost.add if health.ready == "Unknown" else self._lost.discard)(name)
        return health

    def _forget(self, name: str) -> None:
        health = self._healths.pop(name, None)
        if health is not None:
            self._record_node_event(health.uid, name, "RemovingNode", f"Removing Node {name} from Controller")
        self._zones.forget(name)
        self._granted.discard(name)
        self._lost.discard(name)

    # --- all nodes

    async def monitor(self, request: Request) -> Result:
        controller, _ = self.controllers
        now = self._clock.monotonic()
        if missed_s := self._observation_gaps.missed_s(now):
            for health in self._healths.values():
                health.heard_at += missed_s
        silent = {name for name, health in self._healths.items() if health.silent(now, self._grace_s)}
        for name in silent:
            if self._healths[name].ready != "Unknown":
                controller.enqueue(Key("", name), "silent")
        verdict = self._zones.judge(
            (
                (health.zone, health.ready == "True" and name not in silent)
                for name, health in self._healths.items()
                if health.counts
            ),
            now,
        )
        if verdict:
            _log.warning(_VERDICTS[verdict])
            for name, health in self._healths.items():
                if verdict == "some back":
                    health.heard_at = now
                controller.enqueue(Key("", name), verdict)
        for name in self._zones.grant(now):
            self._granted.add(name)
            controller.enqueue(Key("", name), "to be tainted")
        wait_s = self._next_check_s(now)
        self._observation_gaps.expect(now + wait_s)
        return Result.requeue(wait_s)

    def _next_check_s(self, now: float) -> float:
        """When the next node may be silent, or may be tainted; what else matters is told."""
        waits = [
            health.silent_at(self._grace_s) - now
            for health in self._healths.values()
            if health.ready != "Unknown"
        ]
        wait_s = min(max(min(waits, default=_LONGEST_S), self._period_s), _LONGEST_S)
        next_grant_s = self._zones.next_grant_s(now)
        return wait_s if next_grant_s is None else min(wait_s, next_grant_s)

    # --- one node

    async def reconcile(self, request: Request) -> None:
        name = request.name
        cached = self.nodes.cache.get(request.key)
        if cached is None:
            self._forget(name)
            return
        node = NodeState.read(cached)
        health = self._see(node)
        if node.ready != "Unknown" and await self._is_silent(name, health):
            node = await self._mark_silent(cached)
            health.marked_unknown(node)
            self._lost.add(name)
            self.controllers[1].enqueue(_MONITOR, "silent node", after_s=_TOGETHER_S)
        await self._update(node)
        if node.ready == "Unknown":
            await self._mark_pods(name)

    async def _is_silent(self, name: str, health: NodeHealthData) -> bool:
        """Ask the API itself before a node is given up: the watch may be behind."""
        if not health.silent(self._clock.monotonic(), self._grace_s):
            return False
        lease = await self._client.find(LEASES, name, _LEASE_NAMESPACE)
        spec = (lease or {}).get("spec") or {}
        lease_s = float(spec.get("leaseDurationSeconds") or 0)
        return not health.see_lease(spec.get("renewTime") or "", self._clock.monotonic(), lease_s)

    async def _mark_silent(self, cached: Cached) -> NodeState:
        node = cast("Node", cached.object())
        old = NodeState.read(cached)
        conditions = silent_conditions(node, self._now())
        status = {**(node.get("status") or {}), "conditions": conditions}
        await self._writes.replace(NODES, {**node, "status": status}, subresource="status")
        if old.ready == "True":
            reference = _reference(cached.key.name, cached.uid)
            note = f"Node {cached.key.name} status is now: NodeNotReady"
            self._recorder.event(reference, "Normal", "NodeNotReady", note)
        written = self.nodes.cache.get(cached.key)
        return old if written is None else NodeState.read(written)

    async def _update(self, node: NodeState) -> None:
        """Taints and labels, in one write if anything is to be written."""
        patch: Object = {}
        taints = self._taints(node)
        if taints is not None:
            patch["spec"] = {"taints": msgspec.to_builtins(taints) or None}
        labels = {
            copy: node.labels[source]
            for copy, source in _COPIED_LABELS.items()
            if source in node.labels and node.labels.get(copy) != node.labels[source]
        }
        if not patch and not labels:
            return
        patch["metadata"] = {"resourceVersion": node.metadata.resource_version}
        if labels:
            patch["metadata"]["labels"] = labels
        try:
            await self._writes.patch(NODES, Key("", node.metadata.name), patch)
        except NotFound:
            return
        self._granted.discard(node.metadata.name)

    def _taints(self, node: NodeState) -> Sequence[Taint] | None:
        wanted = condition_taints(node.conditions, unschedulable=node.spec.unschedulable)
        if not node.ready:
            return changed_taints(node.taints, wanted, (), self._now())
        kinds = {taint.kind for taint in _NO_EXECUTE.values()}
        leaving = self._no_execute(node, kinds)
        if leaving is not None:
            wanted.append(leaving)
        return changed_taints(node.taints, wanted, kinds, self._now())

    def _no_execute(self, node: NodeState, kinds: set[tuple[str, str]]) -> Taint | None:
        """The taint that makes pods leave, as soon as it is the node's turn."""
        name = node.metadata.name
        taint = _NO_EXECUTE.get(node.ready)
        if taint is None or self._zones.all_lost:
            self._zones.forget(name)
            self._granted.discard(name)
            return None
        if name in self._granted or any(present.kind in kinds for present in node.taints):
            self._zones.forget(name)
            return taint
        self._zones.wait(node.zone, name)
        self.controllers[1].enqueue(_MONITOR, "not ready", after_s=_TOGETHER_S)
        return None

    async def _mark_pods(self, node: str) -> None:
        """Nobody can tell any more that these pods are ready."""
        for cached in pods_on(self.pods.cache, node):
            if not PodState.read(cached).ready:
                continue
            condition = {"type": "Ready", "status": "False", "lastTransitionTime": self._now()}
            patch = {"metadata": {"uid": cached.uid}, "status": {"conditions": [condition]}}
            try:
                await self._writes.patch(PODS, cached.key, patch, type="strategic", subresource="status")
            except NotFound:
                continue
            reference = {"apiVersion": "v1", "kind": "Pod", "metadata": cached.metadata()}
            self._recorder.event(reference, "Warning", "NodeNotReady", "Node is not ready")

    def _record_node_event(self, uid: str, name: str, reason: str, what: str) -> None:
        self._recorder.event(_reference(name, uid), "Normal", reason, f"Node {name} event: {what}")

    def _now(self) -> str:
        return format_time(moment(self._clock))


def _concerns(node: NodeState) -> tuple[Any, ...]:
    """What a reconcile looks at."""
    return node.metadata.uid, node.conditions, node.taints, node.spec.unschedulable, node.metadata.labels


def _renewed(lease: Cached) -> tuple[str, float]:
    """When a lease was renewed, and for how long."""
    spec = _decode_lease(lease.data).spec
    return spec.renew_time or "", float(spec.lease_duration_seconds or 0)


def _reference(name: str, uid: str) -> Node:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": uid}}
