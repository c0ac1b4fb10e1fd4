"""The attach/detach controller: attaches CSI volumes to the nodes whose pods use them, and detaches them
afterwards.

The CSI driver does the attaching: a VolumeAttachment requests it, and the result goes into the node's status.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

import msgspec

from steersman.client import AlreadyExists, NotFound
from steersman.cluster.controllers.pod_states import PodState
from steersman.cluster.controllers.pods_of_claims import claims_of, index_by_claim, users_of
from steersman.cluster.controllers.pods_on_nodes import index_by_node, pods_on
from steersman.cluster.controllers.reconciling import retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.cluster.controllers.volumes.attachments import (
    Attachable,
    attached_volumes,
    is_ours,
    new_attachment,
    plan_attachments,
    volume_of,
)
from steersman.objects.conditions import is_ready
from steersman.objects.kinds.types.core_v1 import AttachedVolume, Node, PersistentVolume, Pod
from steersman.objects.kinds.types.storage_v1 import VolumeAttachment
from steersman.objects.kinds.views.volumes import (
    AttachmentView,
    ClaimedVolumeView,
    ClaimVolumeView,
    NodeVolumesView,
)
from steersman.objects.lifetime import is_deleting
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    VOLUME_ATTACHMENTS,
)
from steersman.runtime import Cached, Change, Controller, Key, Request, Result, RetryPolicy

__all__ = ["add"]


_CSI_DRIVERS: Final = ResourceType("storage.k8s.io", "v1", "CSIDriver", "csidrivers", namespaced=False)
_BY_NODE, _BY_VOLUME = "node", "volume"
#: A node that is not ready and still claims to use a volume loses it after this long.
_PATIENCE_S: Final = 360.0


def add(setup: Setup) -> None:
    attaching = _AttachDetach(setup)
    controller = setup.controller(
        "attachdetach", retrying_conflicts(attaching.reconcile), retry=RetryPolicy.client_go()
    )
    controller.watches(attaching.pods, attaching.on_pod)
    controller.watches(attaching.claims, attaching.on_claim)
    controller.watches(attaching.attachments, attaching.on_attachment)
    controller.watches(attaching.nodes, attaching.on_node)
    attaching.controller = controller


class _AttachDetach:
    """Reconciles the VolumeAttachments of nodes."""

    controller: Controller

    def __init__(self, setup: Setup) -> None:
        self.pods = setup.informer(PODS)
        self.claims = setup.informer(PERSISTENT_VOLUME_CLAIMS)
        self.nodes = setup.informer(NODES)
        self.attachments = setup.informer(VOLUME_ATTACHMENTS)
        self._volumes = setup.informer(PERSISTENT_VOLUMES)
        self._drivers = setup.informer(_CSI_DRIVERS)
        self._writes = setup.writes("attachdetach", self.attachments, self.nodes)
        self._recorder = setup.recorder("attachdetach-controller")
        self._clock = setup.clock
        #: Since when a volume is to be detached from a node that still uses it: by attachment.
        self._overdue: dict[str, float] = {}
        index_by_node(self.pods.cache)
        index_by_claim(self.pods.cache)
        self.attachments.cache.add_index(_BY_NODE, lambda one: (_decode_attachment(one.data).spec.node_name,))
        self.attachments.cache.add_index(_BY_VOLUME, _volumes_of)

    # --- who is concerned

    def on_pod(self, change: Change) -> Iterable[Key]:
        seen = [cached for cached in (change.old, change.new) if cached is not None]
        if not any(map(claims_of, seen)):
            return ()
        states = [PodState.read(cached) for cached in seen]
        if len(states) == 2 and not change.resync and _use(states[0]) == _use(states[1]):
            return ()
        return {Key("", state.node) for state in states if state.node}

    def on_claim(self, change: Change) -> Iterable[Key]:
        old, new = change.old, change.new
        if old is not None and new is not None and _decode_claim(old.data) == _decode_claim(new.data):
            return ()
        return self._nodes_using(change.key)

    def on_attachment(self, change: Change) -> Iterable[Key]:
        """The node itself; when a volume is free again, also those that wait for it."""
        seen = [cached for cached in (change.old, change.new) if cached is not None]
        attachments = [_decode_attachment(cached.data).spec for cached in seen]
        keys = {Key("", spec.node_name) for spec in attachments}
        if change.new is None:
            keys |= self._users_of(attachments[0].source.persistent_volume_name or "")
        return keys

    def _users_of(self, volume: str) -> set[Key]:
        """The nodes with pods that use a volume."""
        cached = self._volumes.cache.get(("", volume))
        reference = _decode_volume(cached.data).spec.claim_ref if cached is not None else None
        if reference is None:
            return set()
        return self._nodes_using(Key(reference.namespace, reference.name))

    def _nodes_using(self, claim: Key) -> set[Key]:
        users = users_of(self.pods.cache, claim)
        return {Key("", pod.spec.node_name) for pod in users if pod.spec.node_name}

    def on_node(self, change: Change) -> Iterable[Key]:
        """A node that uses other volumes than before, or is gone."""
        if not self.attachments.cache.by_index(_BY_NODE, change.key.name):
            return ()
        seen = [cached for cached in (change.old, change.new) if cached is not None]
        uses = [set(_decode_node(cached.data).status.volumes_in_use) for cached in seen]
        return () if len(uses) == 2 and uses[0] == uses[1] else (change.key,)

    # --- one node

    async def reconcile(self, request: Request) -> Result | None:
        name = request.name
        cached = self.nodes.cache.get(request.key)
        node = cast("Node", cached.object()) if cached is not None else None
        wanted = {} if node is None else self._wanted(name)
        present = self._present(name)
        known = {**wanted, **self._known(present)}
        used = (
            set()
            if node is None
            else {volume.volume for volume in known.values() if volume.unique_name in _in_use(node)}
        )
        wait_s = self._let_go(node, present, set(wanted), used)
        plan = plan_attachments(name, wanted.values(), present, used, self._holders(wanted))
        for volume in plan.refused:
            self._refuse(name, volume)
        for volume in plan.attach:
            await self._attach(volume, name)
        for attachment in plan.detach:
            if not is_deleting(attachment):
                await self._detach(attachment)
        if node is not None:
            await self._write_attached(node, attached_volumes(self._present(name), known), wanted)
        return None if wait_s is None else Result.requeue(wait_s)

    def _present(self, node: str) -> list[VolumeAttachment]:
        found = (
            cast("VolumeAttachment", one.object()) for one in self.attachments.cache.by_index(_BY_NODE, node)
        )
        return [one for one in found if is_ours(one)]

    def _wanted(self, node: str) -> dict[str, Attachable]:
        """The volumes of a node's pods, by name."""
        found = {}
        for cached in pods_on(self.pods.cache, node):
            claims = claims_of(cached)
            if not claims or PodState.read(cached).terminal:
                continue
            for claim in claims:
                if one := self._of_claim(cached.key.namespace, claim):
                    found[one.volume] = one
        return found

    def _of_claim(self, namespace: str, name: str) -> Attachable | None:
        cached = self.claims.cache.get((namespace, name))
        return None if cached is None else self._attachable(cached.object()["spec"].get("volumeName") or "")

    def _attachable(self, volume: str) -> Attachable | None:
        cached = self._volumes.cache.get(("", volume))
        found = Attachable.of(cast("PersistentVolume", cached.object())) if cached is not None else None
        if found is None:
            return None
        driver = self._drivers.cache.get(("", found.driver))
        needed = driver is None or driver.object()["spec"].get("attachRequired", True)
        return found if needed else None

    def _known(self, attachments: Iterable[VolumeAttachment]) -> dict[str, Attachable]:
        names = map(volume_of, attachments)
        return {name: found for name in names if (found := self._attachable(name)) is not None}

    def _holders(self, volumes: Iterable[str]) -> dict[str, set[str]]:
        return {
            volume: {
                _decode_attachment(one.data).spec.node_name
                for one in self.attachments.cache.by_index(_BY_VOLUME, volume)
            }
            for volume in volumes
        }

    def _let_go(
        self, node: Node | None, present: list[VolumeAttachment], wanted: set[str], used: set[str]
    ) -> float | None:
        """Take from `used` what a dead node will not let go of; how long until that is to be seen again."""
        waits = []
        now = self._clock.monotonic()
        ready = node is not None and is_ready(node)
        for attachment in present:
            volume, name = volume_of(attachment), attachment["metadata"]["name"]
            if volume in wanted or volume not in used:
                self._overdue.pop(name, None)
                continue
            since = self._overdue.setdefault(name, now)
            left_s = since + _PATIENCE_S - now
            if left_s > 0:
                waits.append(left_s)
            elif not ready:
                used.discard(volume)
        return min(waits, default=None)

    # --- writing

    async def _attach(self, volume: Attachable, node: str) -> None:
        try:
            await self._writes.create(VOLUME_ATTACHMENTS, new_attachment(volume, node))
        except AlreadyExists:
            return  # one that is being deleted; its end is heard of

    async def _detach(self, attachment: VolumeAttachment) -> None:
        """Those that wait for the volume are told: the watch tells nobody of their own writes."""
        metadata = attachment["metadata"]
        self._overdue.pop(metadata["name"], None)
        await self._writes.delete(
            VOLUME_ATTACHMENTS, Key("", metadata["name"]), metadata["uid"], propagation=None
        )
        for key in self._users_of(volume_of(attachment)):
            self.controller.enqueue(key, "detached")

    def _refuse(self, node: str, volume: Attachable) -> None:
        note = (
            f'Multi-Attach error for volume "{volume.volume}" Volume is already exclusively attached '
            "to one node and can't be attached to another"
        )
        for pod in self._users(node, volume):
            self._recorder.event(pod, "Warning", "FailedAttachVolume", note)

    def _users(self, node: str, volume: Attachable) -> list[Pod]:
        """The pods of a node that use a volume."""
        return [
            cast("Pod", cached.object())
            for cached in pods_on(self.pods.cache, node)
            if any(self._of_claim(cached.key.namespace, claim) == volume for claim in claims_of(cached))
        ]

    async def _write_attached(
        self, node: Node, attached: list[AttachedVolume], wanted: dict[str, Attachable]
    ) -> None:
        before = (node.get("status") or {}).get("volumesAttached") or []
        if attached == before:
            return
        patch = {"status": {"volumesAttached": attached or None}}
        try:
            await self._writes.patch(NODES, Key.of(node), patch, subresource="status")
        except NotFound:
            return
        new = {one["name"] for one in attached} - {one["name"] for one in before}
        for volume in wanted.values():
            if volume.unique_name in new:
                note = f'AttachVolume.Attach succeeded for volume "{volume.volume}" '
                for pod in self._users(node["metadata"]["name"], volume):
                    self._recorder.event(pod, "Normal", "SuccessfulAttachVolume", note)


def _use(pod: PodState) -> tuple[str, str, bool]:
    return pod.uid, pod.node, pod.terminal


def _in_use(node: Node) -> set[str]:
    return set((node.get("status") or {}).get("volumesInUse") or ())


def _volumes_of(attachment: Cached) -> tuple[str, ...]:
    name = _decode_attachment(attachment.data).spec.source.persistent_volume_name
    return (name,) if name else ()


_decode_attachment = msgspec.json.Decoder(AttachmentView).decode
_decode_claim = msgspec.json.Decoder(ClaimVolumeView).decode
_decode_node = msgspec.json.Decoder(NodeVolumesView).decode
_decode_volume = msgspec.json.Decoder(ClaimedVolumeView).decode
