"""The cloud node lifecycle controller: deletes nodes whose instances no longer exist, and taints those that
are shut down.
"""

from __future__ import annotations

from typing import Final, cast

from steersman.client import ClientError
from steersman.cluster.cloud.provider import Instances
from steersman.cluster.cloud.setup import CloudSetup
from steersman.objects.conditions import is_ready
from steersman.objects.kinds.types.core_v1 import Node
from steersman.objects.resources import NODES
from steersman.runtime import Change, Request, Result

__all__ = ["SHUTDOWN", "add"]


SHUTDOWN: Final = "node.cloudprovider.kubernetes.io/shutdown"
#: How often the cloud is asked about a node that is not ready.
_PERIOD_S: Final = 5.0


def add(setup: CloudSetup) -> None:
    instances = setup.provider.instances
    if instances is None:
        return
    lifecycle = _CloudNodeLifecycle(setup, instances)
    setup.controller("cloud-node-lifecycle", lifecycle.reconcile).primary(lifecycle.nodes, _concerns)


def _is_marked(node: Node) -> bool:
    return any(taint["key"] == SHUTDOWN for taint in node["spec"].get("taints") or ())


def _concerns(change: Change) -> bool:
    if change.new is None:
        return False
    node = cast("Node", change.new.object())
    return not is_ready(node) or _is_marked(node)


class _CloudNodeLifecycle:
    """Reconciles nodes with their instances."""

    def __init__(self, setup: CloudSetup, instances: Instances) -> None:
        self.nodes = setup.informer(NODES)
        self._instances = instances
        self._now = setup.now
        self._writes = setup.writes("cloud-node-lifecycle", self.nodes)
        self._recorder = setup.recorder("cloud-node-lifecycle-controller")

    async def reconcile(self, request: Request) -> Result | None:
        cached = self.nodes.cache.get(request.key)
        if cached is None:
            return None
        node = cast("Node", cached.object())
        if is_ready(node):
            await self._mark(node, shut_down=False)
            return None
        if not await self._instances.exists(node):
            await self._delete(request, node)
            return None
        if await self._instances.is_shut_down(node):
            await self._mark(node, shut_down=True)
        return Result.requeue(_PERIOD_S)

    async def _mark(self, node: Node, *, shut_down: bool) -> None:
        if _is_marked(node) == shut_down:
            return
        taints = [taint for taint in node["spec"].get("taints") or () if taint["key"] != SHUTDOWN]
        if shut_down:
            taints.append({"key": SHUTDOWN, "effect": "NoSchedule", "timeAdded": self._now()})
        await self._writes.replace(NODES, {**node, "spec": {**node["spec"], "taints": taints}})

    async def _delete(self, request: Request, node: Node) -> None:
        name = request.name
        note = f"Deleting node {name} because it does not exist in the cloud provider"
        self._recorder.event(node, "Normal", "DeletingNode", note)
        try:
            await self._writes.delete(NODES, request.key, node["metadata"]["uid"], propagation=None)
        except ClientError as error:
            note = f"Failed deleting node {name}: {error}"
            self._recorder.event(node, "Warning", "DeletingNodeFailed", note)
            raise
