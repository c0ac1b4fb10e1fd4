"""One node: keeps its Node object and Lease current and assigns its pods to workers.

`NodeAgent` gets pods and its Node from the informers' owner (`Nodes`), sends heartbeats in turn with other
nodes, and leaves everything about a single pod to that pod's worker.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, cast

from steersman.client import AlreadyExists, ClientError, Conflict, NotFound
from steersman.cluster.node.container_statuses import time_text
from steersman.cluster.node.cri import ContainerEvent
from steersman.cluster.node.eviction import EvictionCandidate, eviction, victim
from steersman.cluster.node.node_context import NodeContext
from steersman.cluster.node.node_object import NodeHealth, initial_node, node_status_patch, node_transitions
from steersman.cluster.node.pod_head import PodHead
from steersman.cluster.node.worker import PodWorker
from steersman.objects.kinds.types.core_v1 import Node, NodeCondition, Pod
from steersman.objects.pod_lifecycle import is_terminal
from steersman.objects.resources import LEASES, NODES
from steersman.objects.times import format_micro_time
from steersman.runtime import Cached, Change, Key, Writes

__all__ = ["Heartbeat", "NodeAgent"]

_log = logging.getLogger(__name__)

_LEASE_NAMESPACE: Final = "kube-node-lease"
_USUAL_LEASE_S: Final = 40
#: The status is sent this often though nothing has changed.
_REPORT_S: Final = 300.0
#: A status that others have changed is put right after this long.
_DRIFT_S: Final = 10.0
#: How often a node under pressure looks for a pod to evict.
_EVICTION_S: Final = 10.0
#: In what pods look like that have an address.
_ADDRESS: Final = b'"podIP"'


class Heartbeat:
    """The period and duration of node leases and status updates."""

    __slots__ = ("duration_s", "period_s")

    def __init__(self, period_s: float = 10.0, duration_s: int | None = None) -> None:
        self.period_s = period_s
        self.duration_s = int(4 * period_s) if duration_s is None else duration_s


class NodeAgent:
    """The agent of one node."""

    def __init__(
        self,
        host: NodeContext,
        writes: Writes,
        *,
        heartbeat: Heartbeat | None = None,
        feel: Callable[[Mapping[str, str]], NodeHealth | None] = lambda _: NodeHealth(),
    ) -> None:
        """`feel` says how the node is, given its annotations; None: it is cut off from everything."""
        self.host = host
        self.heartbeat = heartbeat or Heartbeat()
        self.workers: dict[str, PodWorker] = {}
        self._writes = writes
        self._feel = feel
        self.registered = False
        self._reported_at = 0.0
        self._lease_version = ""
        #: The versions of the node and its images, and how it felt, when it was looked at last.
        self._seen: tuple[int, int, NodeHealth | None] = (0, 0, None)
        for reporter in (host.runtime, host.prober, host.preparation):
            reporter.subscribe(self._on_container)

    @property
    def name(self) -> str:
        return self.host.name

    @property
    def known(self) -> bool:
        """Whether the node is registered and can be seen to be."""
        return self.registered and self._cached() is not None

    # --- pods

    def on_pod(self, change: Change, head: PodHead) -> None:
        """A pod of this node is new or has changed."""
        worker = self.workers.get(head.uid)
        if worker is None:
            worker = self.workers[head.uid] = PodWorker(self.host, change.key, head.uid, self._on_gone)
            if change.initial and change.new is not None:
                self._recall(change.new)
        if change.old is None or change.resync or head.asks_more_than(PodHead(change.old)):
            worker.changed(head)
        else:
            self.host.timers.after(_DRIFT_S, (worker, "drift"), worker.poke)

    def _recall(self, cached: Cached) -> None:
        """Show the engine what it ran before this process was started, before it starts anything new: that
        must not get the address of something that runs."""
        if _ADDRESS in cached.data:
            pod = cast("Pod", cached.object())
            if not is_terminal(pod):
                self.host.notice(pod)

    def on_pod_gone(self, uid: str) -> None:
        worker = self.workers.get(uid)
        if worker is not None:
            worker.changed(None)

    def _on_container(self, event: ContainerEvent) -> None:
        worker = self.workers.get(event.pod_uid)
        if worker is not None:
            worker.poke()

    def _on_gone(self, worker: PodWorker) -> None:
        self.workers.pop(worker.uid, None)

    # --- the node itself

    def on_node(self, cached: Cached | None) -> None:
        """The node's object has changed."""
        online = self._health(cached) is not None
        if online and not self.host.online:
            self.host.online = True
            for worker in list(self.workers.values()):
                worker.poke()
            self._promise(self.heartbeat.duration_s)
        elif self.host.online and not online:
            self._promise(_USUAL_LEASE_S)
        self.host.online = online
        self.host.timers.after(0, (self, "node"), self._start_report)

    def _promise(self, duration_s: int) -> None:
        """Where leases are long, a node that is cut off leaves one as those have that renew it often, so that
        it is missed as soon; and one that is back says so at once."""
        if self.registered and self.heartbeat.duration_s > _USUAL_LEASE_S:
            self.host.start(self._renew_at_once(duration_s))

    async def _renew_at_once(self, duration_s: int) -> None:
        try:
            await self._renew(duration_s)
        except ClientError as error:
            _log.warning("cannot renew the lease of node %s: %s", self.name, error)

    def _start_report(self) -> None:
        self.host.start(self._report_now())

    async def _report_now(self) -> None:
        try:
            await self._report()
        except ClientError as error:
            # With the next beat it is.
            _log.warning("cannot write the status of node %s: %s", self.name, error)

    def _relieve(self) -> None:
        """While the node is under pressure, evict a pod every now and then."""
        health = self._health(self._cached())
        if health is None or not health.starved:
            self.host.timers.cancel((self, "evict"))
            return
        found = victim(health.starved, self._candidates())
        if found is not None:
            ending = eviction(health.starved, found)
            self.host.events.warning(found.pod, ending.reason, ending.message)
            self.workers[found.pod["metadata"]["uid"]].end(ending)
        self.host.timers.after(_EVICTION_S, (self, "evict"), self._relieve)

    def _candidates(self) -> Iterator[EvictionCandidate]:
        for worker in self.workers.values():
            cached = self.host.pods.get(worker.key)
            if cached is not None and cached.uid == worker.uid and not worker.ended:
                yield EvictionCandidate(
                    cast("Pod", cached.object()), self.host.runtime.pod_sandbox_stats(worker.uid)
                )

    def _health(self, cached: Cached | None) -> NodeHealth | None:
        annotations = {} if cached is None else cached.metadata().get("annotations") or {}
        return self._feel(annotations)

    def _cached(self) -> Cached | None:
        return self.host.nodes.get(("", self.name))

    def _now(self) -> str:
        return time_text(self.host.now())

    async def beat(self) -> None:
        """Renew the lease and see to the node's status."""
        if not self.registered:
            await self._register()
        if self.host.online and self.known:
            await self._renew()
            await self._report()

    async def _register(self) -> None:
        cached = self._cached()
        health = self._health(cached)
        if health is None:
            self.host.online = False
            return
        wanted = initial_node(self.host.config, self.host.runtime.version(), health, self._now())
        if cached is None:
            try:
                await self._writes.create(NODES, wanted)
                self._reported_at = self.host.timers.clock.monotonic()
                self.host.events.normal(_reference(self.name), "Starting", "Starting kubelet.")
                self._record_transitions((), wanted["status"]["conditions"])
            except AlreadyExists:
                _log.info("node %s was registered before", self.name)
        else:
            await self._relabel(cached, wanted["metadata"]["labels"])
        self.registered = True

    async def _relabel(self, cached: Cached, wanted: Mapping[str, str]) -> None:
        labels = cached.labels()
        missing = {name: value for name, value in wanted.items() if labels.get(name) != value}
        if missing:
            await self._writes.patch(NODES, cached.key, {"metadata": {"labels": missing}})

    async def _renew(self, duration_s: int | None = None) -> None:
        """Say that the node lives; the lease is the node's, so that both go together."""
        cached = self._cached()
        if cached is None:
            return
        lease: dict[str, Any] = {
            "metadata": {
                "name": self.name,
                "namespace": _LEASE_NAMESPACE,
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Node", "name": self.name, "uid": cached.uid}
                ],
            },
            "spec": {
                "holderIdentity": self.name,
                "leaseDurationSeconds": duration_s or self.heartbeat.duration_s,
                "renewTime": format_micro_time(datetime.fromtimestamp(self.host.now(), UTC)),
            },
        }
        client = self._writes.client
        try:
            if self._lease_version:
                lease["metadata"]["resourceVersion"] = self._lease_version
                lease = await client.replace(lease, kind=LEASES)
            else:
                lease = await client.create(lease, kind=LEASES)
        except (AlreadyExists, Conflict):
            lease = await client.get(LEASES, self.name, _LEASE_NAMESPACE)
            self._lease_version = lease["metadata"]["resourceVersion"]
            await self._renew(duration_s)
        except NotFound:
            self._lease_version = ""
            await self._renew(duration_s)
        else:
            self._lease_version = lease["metadata"]["resourceVersion"]

    async def _report(self) -> None:
        """Send the node's status if it is not right, or not been sent for long."""
        cached = self._cached()
        health = self._health(cached)
        if cached is None or health is None or not self.registered:
            return
        images = self.host.images.list_images()
        now_s = self.host.timers.clock.monotonic()
        due = now_s - self._reported_at >= _REPORT_S
        seen = (cached.resource_version, len(images), health)
        if health != self._seen[2]:
            self._relieve()
        if seen == self._seen and not due:
            return
        version = self.host.runtime.version()
        node = cast("Node", cached.object())
        patch = node_status_patch(self.host.config, version, health, images, node, self._now(), due=due)
        if patch:
            body = {"status": patch}
            answer = await self._writes.patch(
                NODES, Key("", self.name), body, type="strategic", subresource="status"
            )
            self._reported_at = now_s
            seen = (int(answer["metadata"]["resourceVersion"]), len(images), health)
            self._record_transitions(node["status"].get("conditions") or (), patch.get("conditions") or ())
        self._seen = seen

    def _record_transitions(self, old: Iterable[NodeCondition], new: Iterable[NodeCondition]) -> None:
        for reason in node_transitions(old, new):
            note = f"Node {self.name} status is now: {reason}"
            self.host.events.normal(_reference(self.name), reason, note)


def _reference(name: str) -> dict[str, Any]:
    """The node, as its own events name it."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}}
