"""The node IPAM controller: sets `spec.podCIDRs` of nodes, one CIDR from each cluster CIDR."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from steersman.client import NotFound
from steersman.cluster.controllers.nodeipam.cidr_set import cluster_ranges
from steersman.cluster.controllers.reconciling import retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.kinds.views.nodes import NodeRangesView
from steersman.objects.resources import NODES
from steersman.runtime import Cached, Change, Key, Request, RetryPolicy

__all__ = ["add"]


_decode = msgspec.json.Decoder(NodeRangesView).decode


def add(setup: Setup) -> None:
    """Nothing if the cluster has no network for pods."""
    if not setup.options.pod_cidr:
        return
    ipam = _NodeIpam(setup)
    controller = setup.controller(
        "nodeipam", retrying_conflicts(ipam.reconcile), retry=RetryPolicy.client_go()
    )
    controller.watches(ipam.nodes, ipam.on_node)


class _NodeIpam:
    """Reconciles the pod CIDRs of nodes."""

    def __init__(self, setup: Setup) -> None:
        self.nodes = setup.informer(NODES)
        self._ranges = cluster_ranges(setup.options.pod_cidr, setup.options.node_mask)
        self._writes = setup.writes("nodeipam", self.nodes)
        self._recorder = setup.recorder("cidrAllocator")
        #: Nodes for which nothing was left.
        self._waiting: set[Key] = set()
        self.nodes.add_handler(self._follow)

    def _follow(self, change: Change) -> None:
        """Also while not leading: what a node has is never given to another one."""
        before, after = set(_cidrs(change.old)), set(_cidrs(change.new))
        for ranges in self._ranges:
            for cidr in before - after:
                ranges.free(cidr)
            for cidr in after:
                ranges.keep(cidr)

    def on_node(self, change: Change) -> Iterable[Key]:
        """The node itself if it has no range; those that wait for one, if one was freed."""
        if change.new is None:
            waiting, self._waiting = self._waiting, set()
            return waiting
        return () if _cidrs(change.new) else (change.key,)

    async def reconcile(self, request: Request) -> None:
        cached = self.nodes.cache.get(request.key)
        if cached is None or _cidrs(cached) or "deletionTimestamp" in cached.metadata():
            return
        taken = [ranges.take() for ranges in self._ranges]
        given = [cidr for cidr in taken if cidr is not None]
        try:
            if len(given) == len(taken):
                patch = {"metadata": {"uid": cached.uid}, "spec": {"podCIDR": given[0], "podCIDRs": given}}
                await self._writes.patch(NODES, request.key, patch)
                given = []
        except NotFound:
            return
        finally:
            for ranges, cidr in zip(self._ranges, given, strict=False):
                ranges.free(cidr)
        if None in taken:
            self._waiting.add(request.key)
            note = f"Node {request.name} status is now: CIDRNotAvailable"
            self._recorder.event(cached.object(), "Normal", "CIDRNotAvailable", note)


def _cidrs(node: Cached | None) -> Sequence[str]:
    return () if node is None else _decode(node.data).spec.pod_cidrs
