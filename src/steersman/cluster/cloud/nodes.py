"""The cloud node controller: initializes new nodes with addresses, labels and provider ID, then removes their
taint.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, cast

from steersman.cluster.cloud.provider import InstanceMetadata, Instances
from steersman.cluster.cloud.setup import CloudSetup
from steersman.objects.kinds.types.core_v1 import Node, NodeAddress, NodeSpec
from steersman.objects.labels import labels_of
from steersman.objects.resources import NODES
from steersman.runtime import Change, Request, Result

__all__ = ["UNINITIALIZED", "add", "addresses", "initialized"]


UNINITIALIZED: Final = "node.cloudprovider.kubernetes.io/uninitialized"
#: How often the addresses of a machine are looked at.
_PERIOD_S: Final = 300.0
_is_reserved = re.compile(r"(^|\.)(kubernetes|k8s)\.io/").search
#: What a machine is, by the labels that say so.
_LABELS: Final = (
    ("instance_type", ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type")),
    ("zone", ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")),
    ("region", ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")),
)


def add(setup: CloudSetup) -> None:
    instances = setup.provider.instances
    if instances is None:
        return
    nodes = _CloudNodes(setup, instances)
    setup.controller("cloud-node", nodes.reconcile).primary(nodes.nodes, _concerns)


def _concerns(change: Change) -> bool:
    return change.new is not None and (change.old is None or _is_tainted(cast("Node", change.new.object())))


def _is_tainted(node: Node) -> bool:
    return any(taint["key"] == UNINITIALIZED for taint in node["spec"].get("taints") or ())


def initialized(node: Node, metadata: InstanceMetadata) -> Node:
    """The node with what the cloud knows, and without the taint."""
    spec: NodeSpec = {**node["spec"]}
    labels = dict(labels_of(node))
    taints = [taint for taint in spec.get("taints") or () if taint["key"] != UNINITIALIZED]
    spec["taints"] = taints
    if not spec.get("providerID") and metadata.provider_id:
        spec["providerID"] = metadata.provider_id
    for attribute, names in _LABELS:
        value = getattr(metadata, attribute)
        labels.update(dict.fromkeys(names, value) if value else {})
    for name, value in metadata.labels.items():
        if not _is_reserved(name):
            labels.setdefault(name, value)
    return {**node, "metadata": {**node["metadata"], "labels": labels}, "spec": spec}


def addresses(node: Node, found: Sequence[NodeAddress]) -> list[NodeAddress]:
    """A node's addresses: what the cloud says, and its own name for itself if the cloud has none."""
    told: list[NodeAddress] = [{**address} for address in found]
    if told and all(address["type"] != "Hostname" for address in told):
        own = (node.get("status") or {}).get("addresses") or ()
        told += [address for address in own if address["type"] == "Hostname"]
    return told


class _CloudNodes:
    """Reconciles nodes with the taint node.cloudprovider.kubernetes.io/uninitialized."""

    def __init__(self, setup: CloudSetup, instances: Instances) -> None:
        self.nodes = setup.informer(NODES)
        self._instances = instances
        self._writes = setup.writes("cloud-node", self.nodes)
        self._recorder = setup.recorder("cloud-node-controller")

    async def reconcile(self, request: Request) -> Result | None:
        cached = self.nodes.cache.get(request.key)
        if cached is None:
            return None
        node = cast("Node", cached.object())
        metadata = await self._instances.metadata(node)
        if metadata is None:
            return Result.requeue(_PERIOD_S)
        if _is_tainted(node):
            if not metadata.provider_id and not node["spec"].get("providerID"):
                raise ValueError(f"cloud provider does not set node provider ID for node {request.name}")
            node = await self._writes.replace(NODES, initialized(node, metadata))
            self._recorder.event(cached.object(), "Normal", "Synced", "Node synced successfully")
        told = addresses(node, metadata.addresses)
        status = node.get("status") or {}
        if told and told != status.get("addresses"):
            await self._writes.replace(
                NODES, {**node, "status": {**status, "addresses": told}}, subresource="status"
            )
        return Result.requeue(_PERIOD_S)
