"""Handlers of informer events: they update the node table, the scheduling queue and the nominations.

They run in every replica, also while another one leads, so that a new leader starts with a full queue.
Assumed pods (decided here, not yet shown by the API) take precedence over the caches until the API shows
them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from steersman.aio import Clock
from steersman.cluster.scheduler.framework.events import ClusterEvent, EventKind
from steersman.cluster.scheduler.model.node import NodeFacts, read_node
from steersman.cluster.scheduler.model.nodes import NodeTable
from steersman.cluster.scheduler.model.nominations import Nominations
from steersman.cluster.scheduler.model.pod import PodInfo, read_pod
from steersman.cluster.scheduler.permits import Permits
from steersman.cluster.scheduler.plugins.storage import CSI_CAPACITIES, CSI_DRIVERS
from steersman.cluster.scheduler.queue import SchedulingQueue
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import (
    CSI_NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
)
from steersman.runtime import Change, Key

__all__ = ["EventHandlers"]

_KINDS: Final[Mapping[ResourceType, EventKind]] = {
    PERSISTENT_VOLUME_CLAIMS: EventKind.CLAIM,
    PERSISTENT_VOLUMES: EventKind.VOLUME,
    STORAGE_CLASSES: EventKind.STORAGE_CLASS,
    CSI_NODES: EventKind.CSI_NODE,
    CSI_DRIVERS: EventKind.CSI_DRIVER,
    CSI_CAPACITIES: EventKind.CSI_CAPACITY,
}


class EventHandlers:
    """Handlers for informers. They call `wake` when there may be a pod to schedule."""

    def __init__(
        self,
        nodes: NodeTable,
        queue: SchedulingQueue,
        nominations: Nominations,
        permits: Permits,
        clock: Clock,
        schedulers: Collection[str],
    ) -> None:
        self.nodes = nodes
        self.queue = queue
        self.nominations = nominations
        self._permits = permits
        self._clock = clock
        self._schedulers = frozenset(schedulers)
        self.wake: Callable[[], None] = lambda: None
        #: Pods that were given a node which the API has not shown yet, by key: their uid.
        self.assumed: dict[Key, str] = {}
        #: The labels of namespaces, and how often they have changed.
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self.namespaces_changed = 0

    # --- pods

    def on_pod(self, change: Change) -> None:
        key = change.key
        pod = None if change.new is None else read_pod(change.new)
        old = self.nodes.placed(key)
        if pod is not None and old is not None and old.uid != pod.uid:
            # Deleted and made anew while nobody looked.
            self._gone(key)
        if pod is None or pod.over:
            self._gone(key)
        elif pod.node_name:
            self._placed(pod)
        elif self.assumed.get(key) == pod.uid:
            return
        elif pod.scheduler in self._schedulers:
            self._waits(pod)

    def _gone(self, key: Key) -> None:
        if self.assumed.pop(key, None) is not None:
            self._permits.reject(key, "", "the pod is gone")
        self.nominations.drop(key)
        self.queue.remove(key)
        old = self.nodes.placed(key)
        if old is not None:
            self.nodes.displace(key)
            self.happened(ClusterEvent(EventKind.POD_DELETED, old))

    def _placed(self, pod: PodInfo) -> None:
        key = pod.key
        self.queue.remove(key)
        self.nominations.drop(key)
        assumed = self.assumed.pop(key, None) == pod.uid
        old = self.nodes.placed(key)
        if old is not None and self.nodes.place_of(key) == pod.node_name and _takes_the_same(old, pod):
            self.nodes.exchange(pod)
        else:
            self.nodes.place(pod, pod.node_name)
        if old is None or assumed:
            self.happened(ClusterEvent(EventKind.POD_ADDED, None, pod))
            return
        if old.labels != pod.labels:
            self.happened(ClusterEvent(EventKind.POD_LABELS, old, pod))
        if pod.requests.cpu < old.requests.cpu or pod.requests.memory < old.requests.memory:
            self.happened(ClusterEvent(EventKind.POD_SHRUNK, old, pod))

    def _waits(self, pod: PodInfo) -> None:
        if pod.deleting:
            self._gone(pod.key)
            return
        if pod.nominated != self.nominations.node_of(pod.key):
            known = self.queue.get(pod.key)
            if known is None or known.pod.nominated != pod.nominated:
                self.nominations.put(pod, pod.nominated)
        self.queue.add(pod, self._clock.monotonic())
        self.wake()

    # --- nodes

    def on_node(self, change: Change) -> None:
        known = self.nodes.get(change.key.name)
        old = None if known is None else known.facts
        if change.new is None:
            self.nodes.remove(change.key.name)
            self.happened(ClusterEvent(EventKind.NODE_DELETED, old))
            return
        new = read_node(change.new)
        if known is None or old is None:
            self.nodes.put(new)
            self.happened(ClusterEvent(EventKind.NODE_ADDED, None, new))
            return
        kinds = _differences(old, new)
        if not kinds and old.images == new.images:
            # A heartbeat: nothing that matters is different.
            known.facts = new
            return
        self.nodes.put(new)
        for kind in kinds:
            self.happened(ClusterEvent(kind, old, new))

    # --- everything else

    def on_namespace(self, change: Change) -> None:
        labels = {} if change.new is None else change.new.labels()
        if self.namespaces.get(change.key.name, {}) != labels:
            self.namespaces_changed += 1
        if change.new is None:
            self.namespaces.pop(change.key.name, None)
        else:
            self.namespaces[change.key.name] = labels

    def on_other(self, resource: ResourceType) -> Callable[[Change], None] | None:
        """What to do with changes of a resource that may help waiting pods."""
        if resource is VOLUME_ATTACHMENTS:
            return self._on_attachment
        kind = _KINDS.get(resource)
        if kind is None:
            return None

        def on_change(change: Change) -> None:
            if change.new is not None and len(self.queue):
                old = None if change.old is None else change.old.object()
                self.happened(ClusterEvent(kind, old, change.new.object()))

        return on_change

    def _on_attachment(self, change: Change) -> None:
        if change.new is None:
            self.happened(ClusterEvent(EventKind.ATTACHMENT_DELETED))

    def happened(self, what: ClusterEvent) -> None:
        self.queue.happened(what, self._clock.monotonic())
        self.wake()


def _takes_the_same(old: PodInfo, new: PodInfo) -> bool:
    """Whether nothing that others see of a placed pod has changed; equal parts are the same object."""
    return (
        old.requests is new.requests
        and old.labels is new.labels
        and old.affinity is new.affinity
        and old.ports == new.ports
        and old.volumes is new.volumes
        and old.deleting == new.deleting
    )


def _differences(old: NodeFacts, new: NodeFacts) -> list[EventKind]:
    kinds = []
    if old.allocatable != new.allocatable:
        kinds.append(EventKind.NODE_ALLOCATABLE)
    if old.labels != new.labels:
        kinds.append(EventKind.NODE_LABELS)
    if old.taints != new.taints or old.unschedulable != new.unschedulable:
        kinds.append(EventKind.NODE_TAINTS)
    return kinds
