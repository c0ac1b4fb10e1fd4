"""The local-path provisioner: PersistentVolumes that are directories of this machine, for the StorageClass
`local-path`.

It is an external provisioner, outside the binder: it creates volumes for claims annotated for it, deletes
released ones, and expands them. It runs only where a folder for volumes is configured.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final, cast

from steersman.client import AlreadyExists, ClientError
from steersman.cluster.controllers.reconciling import retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.cluster.controllers.volumes.growth import wants_more
from steersman.objects.kinds.types.core_v1 import (
    NodeSelectorRequirement,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
)
from steersman.objects.kinds.types.meta_v1 import ObjectMeta
from steersman.objects.kinds.types.storage_v1 import StorageClass
from steersman.objects.labels import annotations_of
from steersman.objects.lifetime import is_deleting
from steersman.objects.resources import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
)
from steersman.objects.volume_claims import (
    LOCAL_PATH,
    PROVISIONED_BY,
    PROVISIONER,
    SELECTED_NODE,
    capacity,
    claim_key,
    claim_reference,
    class_of,
    phase_of,
    requested,
    volume_mode,
)
from steersman.runtime import Change, Key, Request, Requeue, RetryPolicy, remove_finalizer

__all__ = ["NAME", "STORAGE_CLASS", "add", "new_volume"]


NAME: Final = LOCAL_PATH
_FINALIZER: Final = "steersman.dev/local-path"
_HOSTNAME: Final = "kubernetes.io/hostname"
_RETRY_S: Final = 5.0

STORAGE_CLASS: Final[StorageClass] = {
    "metadata": {
        "name": "local-path",
        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
    },
    "provisioner": NAME,
    "reclaimPolicy": "Delete",
    "volumeBindingMode": "WaitForFirstConsumer",
    "allowVolumeExpansion": True,
}


def add(setup: Setup) -> None:
    """Nothing if there is no place for volumes."""
    if not setup.options.volumes:
        return
    provisioner = _LocalPath(setup, Path(setup.options.volumes))
    claims = setup.controller(
        "local-path-provisioner",
        retrying_conflicts(provisioner.reconcile_claim),
        retry=RetryPolicy.exponential(1.0, 60.0),
    )
    claims.primary(provisioner.claims, _is_marked).watches(provisioner.classes, provisioner.waiting_claims)
    volumes = setup.controller(
        "local-path-deleter",
        retrying_conflicts(provisioner.reconcile_volume),
        retry=RetryPolicy.exponential(1.0, 60.0),
    )
    volumes.primary(provisioner.volumes, _is_ours)
    setup.manager.add_service("local-path storage class", provisioner.keep_class, leader_only=True)


def _is_marked(change: Change) -> bool:
    return (
        change.new is not None
        and annotations_of({"metadata": change.new.metadata()}).get(PROVISIONER) == NAME
    )


def _is_ours(change: Change) -> bool:
    return (
        change.new is not None
        and annotations_of({"metadata": change.new.metadata()}).get(PROVISIONED_BY) == NAME
    )


class _LocalPath:
    """Reconciles the claims and volumes of the class `local-path`."""

    def __init__(self, setup: Setup, root: Path) -> None:
        self.claims = setup.informer(PERSISTENT_VOLUME_CLAIMS)
        self.volumes = setup.informer(PERSISTENT_VOLUMES)
        self.classes = setup.informer(STORAGE_CLASSES)
        self._nodes = setup.informer(NODES)
        self._writes = setup.writes("local-path-provisioner", self.claims, self.volumes)
        self._recorder = setup.recorder(NAME)
        self._client = setup.client
        self._clock = setup.clock
        self._root = root

    async def keep_class(self) -> None:
        """Make the storage class if there is none; whoever deletes it later does not want it."""
        while True:
            try:
                await self._client.create(STORAGE_CLASS, kind=STORAGE_CLASSES)
                return
            except AlreadyExists:
                return
            except ClientError:
                await self._clock.sleep(_RETRY_S)

    def waiting_claims(self, change: Change) -> Iterable[Key]:
        if change.initial or change.new is None or change.new.object().get("provisioner") != NAME:
            return ()
        claims = (cast("PersistentVolumeClaim", cached.object()) for cached in self.claims.cache)
        return [
            Key.of(one) for one in claims if class_of(one) == change.key.name and phase_of(one) == "Pending"
        ]

    # --- claims

    async def reconcile_claim(self, request: Request) -> None:
        cached = self.claims.cache.get(request.key)
        if cached is None:
            return
        claim = cast("PersistentVolumeClaim", cached.object())
        if is_deleting(claim):
            return
        if claim["spec"].get("volumeName"):
            await self._expand(claim)
            return
        storage_class = self._class_of(claim)
        if storage_class is None or annotations_of(claim).get(PROVISIONER) != NAME:
            return
        waits = storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        if waits and SELECTED_NODE not in annotations_of(claim):
            return
        if self.volumes.cache.get(("", _name_for(claim))) is None:
            await self._provision(claim, storage_class)

    def _class_of(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        cached = self.classes.cache.get(("", class_of(claim)))
        found = cast("StorageClass", cached.object()) if cached is not None else None
        return found if found is not None and found.get("provisioner") == NAME else None

    async def _provision(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> None:
        event = self._recorder.event
        name = _name_for(claim)
        failed = f'failed to provision volume with StorageClass "{storage_class["metadata"]["name"]}"'
        if volume_mode(claim) != "Filesystem":
            event(claim, "Warning", "ProvisioningFailed", f"{failed}: block volumes are not supported")
            return
        note = f'External provisioner is provisioning volume for claim "{claim_key(claim)}"'
        event(claim, "Normal", "Provisioning", note)
        path = self._root / name
        try:
            await asyncio.to_thread(_make_folder, path)
        except OSError as error:
            event(claim, "Warning", "ProvisioningFailed", f"{failed}: {error}")
            raise Requeue from error
        volume = new_volume(claim, storage_class, str(path), self._hostname(claim))
        try:
            await self._writes.create(PERSISTENT_VOLUMES, volume)
        except AlreadyExists:
            return
        event(claim, "Normal", "ProvisioningSucceeded", f"Successfully provisioned volume {name}")

    def _hostname(self, claim: PersistentVolumeClaim) -> str:
        """The label of the node that was chosen for the claim's first pod."""
        node = annotations_of(claim).get(SELECTED_NODE)
        cached = self._nodes.cache.get(("", node)) if node else None
        return cached.labels().get(_HOSTNAME, "") if cached is not None else ""

    async def _expand(self, claim: PersistentVolumeClaim) -> None:
        """A directory has room for whatever the machine has room for: only the objects have to say so."""
        if not wants_more(claim):
            return
        cached = self.volumes.cache.get(("", claim["spec"]["volumeName"]))
        volume = cast("PersistentVolume", cached.object()) if cached is not None else None
        if volume is None or annotations_of(volume).get(PROVISIONED_BY) != NAME:
            return
        size = {"storage": str(requested(claim))}
        if capacity(volume) < requested(claim):
            grown = {**volume["spec"], "capacity": {**volume["spec"]["capacity"], **size}}
            await self._writes.replace(PERSISTENT_VOLUMES, {**volume, "spec": grown})
        status = {**claim["status"], "capacity": {**claim["status"]["capacity"], **size}}
        await self._writes.replace(
            PERSISTENT_VOLUME_CLAIMS, {**claim, "status": status}, subresource="status"
        )
        self._recorder.event(claim, "Normal", "VolumeResizeSuccessful", "Resize volume succeeded")

    # --- volumes

    async def reconcile_volume(self, request: Request) -> None:
        cached = self.volumes.cache.get(request.key)
        if cached is None:
            return
        volume = cast("PersistentVolume", cached.object())
        spec = volume["spec"]
        if annotations_of(volume).get(PROVISIONED_BY) != NAME or phase_of(volume) not in (
            "Released",
            "Failed",
        ):
            return
        if spec.get("persistentVolumeReclaimPolicy") != "Delete":
            return
        path = Path((spec.get("hostPath") or {}).get("path", ""))
        if path.parent == self._root and path.name == request.name:  # a directory that was made here
            await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)
        left = await remove_finalizer(self._writes, PERSISTENT_VOLUMES, volume, _FINALIZER)
        if left is not None and not is_deleting(left):
            await self._writes.delete(
                PERSISTENT_VOLUMES, request.key, volume["metadata"]["uid"], propagation=None
            )


def _make_folder(path: Path) -> None:
    """Whoever a pod runs as may write to its volume, whatever this process' umask is."""
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o777)


def _name_for(claim: PersistentVolumeClaim) -> str:
    return f"pvc-{claim['metadata']['uid']}"


def new_volume(
    claim: PersistentVolumeClaim, storage_class: StorageClass, path: str, hostname: str
) -> PersistentVolume:
    """The volume for a claim; with a hostname, only for pods of that node."""
    policy = storage_class.get("reclaimPolicy") or "Delete"
    metadata: ObjectMeta = {"name": _name_for(claim), "annotations": {PROVISIONED_BY: NAME}}
    if policy == "Delete":
        metadata["finalizers"] = [_FINALIZER]
    spec: PersistentVolumeSpec = {
        "accessModes": claim["spec"]["accessModes"],
        "capacity": {"storage": str(requested(claim))},
        "claimRef": claim_reference(claim),
        "hostPath": {"path": path, "type": "DirectoryOrCreate"},
        "persistentVolumeReclaimPolicy": policy,
        "storageClassName": storage_class["metadata"]["name"],
        "volumeMode": "Filesystem",
    }
    if hostname:
        here: NodeSelectorRequirement = {"key": _HOSTNAME, "operator": "In", "values": [hostname]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}
    return {"metadata": metadata, "spec": spec}
