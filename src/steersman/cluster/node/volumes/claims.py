"""The folder of a PersistentVolumeClaim's volume on this node.

Claims are read when a pod starts, not watched: a bound volume stays so while it is used.
"""

from __future__ import annotations

from typing import Final, NamedTuple, cast

from steersman.client import Client, ClientError
from steersman.cluster.node.volumes.errors import VolumeProblem
from steersman.cluster.node.volumes.host_paths import check_host_path, refuse_backsteps
from steersman.objects.kinds.types.core_v1 import PersistentVolume, PersistentVolumeClaim, Pod, Volume
from steersman.objects.labels import annotations_of
from steersman.objects.lifetime import is_deleting
from steersman.objects.ownership import is_controlled_by
from steersman.objects.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from steersman.objects.volume_claims import LOCAL_PATH, PROVISIONED_BY

__all__ = ["ClaimProblem", "ClaimedFolder", "claimed_folder", "ephemeral_claim"]


_PROTECTION: Final = "kubernetes.io/pvc-protection"
#: What a volume has besides the one field that says what it is.
_NOT_SOURCES: Final = frozenset(
    ("accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy",
     "storageClassName", "volumeAttributesClassName", "volumeMode")
)  # fmt: skip


class ClaimProblem(VolumeProblem):
    """A claim is not bound, or its volume cannot be used."""


class ClaimedFolder(NamedTuple):
    """The folder of a claim's volume: path, read-only, and whether fsGroup applies."""

    path: str
    readonly: bool
    #: Whether fsGroup is for it.
    owned: bool


def ephemeral_claim(pod: Pod, volume: str) -> str:
    """The name of the claim that is made for an ephemeral volume."""
    return f"{pod['metadata']['name']}-{volume}"


async def claimed_folder(
    client: Client, pod: Pod, volume: Volume, *, wants_device: bool = False
) -> ClaimedFolder:
    """Where the volume of a claim is. Raises `VolumeProblem`."""
    namespace = pod["metadata"]["namespace"]
    source = volume.get("persistentVolumeClaim")
    name = ephemeral_claim(pod, volume["name"]) if source is None else source["claimName"]
    try:
        claim = await _bound_claim(client, namespace, name)
        if source is None:
            _check_owner(pod, claim)
        found = await _volume(client, claim)
    except ClientError as error:
        raise ClaimProblem(f"error processing PVC {namespace}/{name}: {error}") from error
    except ClaimProblem as problem:
        raise ClaimProblem(f"error processing PVC {namespace}/{name}: {problem}") from problem
    mode = found["spec"].get("volumeMode", "Filesystem")
    if mode != "Filesystem":
        where = "volumeDevices, but this node has no block devices" if wants_device else "volumeMounts"
        raise VolumeProblem(f"volume {volume['name']} has volumeMode {mode}, but is specified in {where}")
    readonly = bool((source or {}).get("readOnly"))
    # Directories that somebody else made, and that only are shown, stay as they are.
    owned = "local" in found["spec"] or annotations_of(found).get(PROVISIONED_BY) == LOCAL_PATH
    return ClaimedFolder(_folder(found), readonly, owned)


async def _bound_claim(client: Client, namespace: str, name: str) -> PersistentVolumeClaim:
    try:
        claim = await client.get(PERSISTENT_VOLUME_CLAIMS, name, namespace)
    except ClientError as error:
        raise ClaimProblem(f"failed to fetch PVC from API server: {error}") from error
    if is_deleting(claim) and _PROTECTION not in (claim["metadata"].get("finalizers") or ()):
        raise ClaimProblem("PVC is being deleted")
    if (claim.get("status") or {}).get("phase") != "Bound":
        raise ClaimProblem("PVC is not bound")
    if not claim["spec"].get("volumeName"):
        raise ClaimProblem("PVC has empty pvc.Spec.VolumeName")
    return cast("PersistentVolumeClaim", claim)


def _check_owner(pod: Pod, claim: PersistentVolumeClaim) -> None:
    if not is_controlled_by(claim, pod["metadata"]["uid"]):
        where = f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
        whose = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        raise VolumeProblem(f"PVC {where} was not created for pod {whose} (pod is not owner)")


async def _volume(client: Client, claim: PersistentVolumeClaim) -> PersistentVolume:
    name = claim["spec"]["volumeName"]
    try:
        found = await client.get(PERSISTENT_VOLUMES, name)
    except ClientError as error:
        raise ClaimProblem(f"failed to fetch PV {name} from API server: {error}") from error
    reference = found["spec"].get("claimRef")
    if reference is None:
        raise ClaimProblem(
            f"found PV object {name} but it has a nil pv.Spec.ClaimRef "
            "indicating it is not yet bound to the claim"
        )
    uid = claim["metadata"]["uid"]
    if reference.get("uid") != uid:
        raise ClaimProblem(
            f"found PV object {name} but its pv.Spec.ClaimRef.UID {reference.get('uid', '')} "
            f"does not point to claim.UID {uid}"
        )
    return cast("PersistentVolume", found)


def _folder(volume: PersistentVolume) -> str:
    spec = volume["spec"]
    if (source := spec.get("hostPath")) is not None:
        path: str = source["path"]
        check_host_path(path, source.get("type") or "")
        return path
    if (local := spec.get("local")) is not None:
        path = local["path"]
        try:
            refuse_backsteps(path)
        except VolumeProblem as problem:
            raise VolumeProblem(f"invalid path: {path} {problem}") from problem
        check_host_path(path, "Directory")
        return path
    kind = next((field for field in spec if field not in _NOT_SOURCES), "unknown")
    name = volume["metadata"]["name"]
    raise VolumeProblem(
        f"persistent volume {name} is of type {kind}: this node has only hostPath and local volumes"
    )
