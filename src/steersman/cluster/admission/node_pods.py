"""The checks of NodeRestriction on pods: mirror pods, token audiences of volumes, claims in the status.
Called by `node_restriction` only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from steersman.cluster.admission.chain import Attributes, Reader
from steersman.objects.fields import quote
from steersman.objects.kinds import Object
from steersman.objects.kinds.types.core_v1 import Pod, Volume
from steersman.objects.pods import MIRROR_ANNOTATION, configmap_names, secret_names
from steersman.objects.status import not_found

__all__ = ["check_mirror_pod", "claims_status", "driver_audiences"]

#: Fields of a pod's status that say which devices it was given: not the node's to write.
claims_status: Final = (
    ("resourceClaimStatuses", "resource claim statues"),
    ("extendedResourceClaimStatus", "extended resource claim status"),
    ("nodeAllocatableResourceClaimStatuses", "node allocatable resource claim statuses"),
)

#: Volumes that need nothing from the API.
_SELF_CONTAINED: Final = frozenset(
    {
        "awsElasticBlockStore", "azureDisk", "cephfs", "cinder", "downwardAPI", "emptyDir", "fc",
        "flexVolume", "flocker", "gcePersistentDisk", "gitRepo", "hostPath", "image", "iscsi", "nfs",
        "photonPersistentDisk", "portworxVolume", "quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume",
    }
)  # fmt: skip
_VOLUME_REFERENCES: Final = {
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}
_PROJECTED_REFERENCES: Final = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


def check_mirror_pod(node: str, attributes: Attributes, reader: Reader) -> None:
    """A pod that a node creates: a mirror of its own, owned by the node itself, touching nothing else."""
    pod = attributes.object
    assert pod is not None
    metadata, spec, who = pod["metadata"], pod["spec"], f"node {quote(node)}"
    if MIRROR_ANNOTATION not in metadata.get("annotations", {}):
        raise attributes.refusal(
            f"pod does not have {quote(MIRROR_ANNOTATION)} annotation, {who} can only create mirror pods"
        )
    if spec.get("nodeName", "") != node:
        raise attributes.refusal(f"{who} can only create pods with spec.nodeName set to itself")
    owners = metadata.get("ownerReferences") or []
    if len(owners) > 1:
        raise attributes.refusal(f"{who} can only create pods with a single owner reference set to itself")
    if not owners or (owners[0].get("apiVersion"), owners[0].get("kind"), owners[0].get("name")) != (
        "v1",
        "Node",
        node,
    ):
        raise attributes.refusal(f"{who} can only create pods with an owner reference set to itself")
    _check_owner(node, attributes, owners[0], reader)
    reference = _first_reference(attributes, spec)
    if reference:
        raise attributes.refusal(f"{who} can not create pods that reference {reference}")


def _check_owner(node: str, attributes: Attributes, owner: Object, reader: Reader) -> None:
    if not owner.get("controller"):
        raise attributes.refusal(
            f"node {quote(node)} can only create pods with a controller owner reference set to itself"
        )
    if owner.get("blockOwnerDeletion"):
        raise attributes.refusal(f"node {quote(node)} must not set blockOwnerDeletion on an owner reference")
    found = reader.get("", "nodes", "", node)
    if found is None:
        raise not_found("", "node", node)
    uid, real = owner.get("uid", ""), found["metadata"]["uid"]
    if uid != real:
        raise attributes.refusal(f"node {node} UID mismatch: expected {uid} got {real}")


def _first_reference(attributes: Attributes, spec: Object) -> str:
    """What kind of API object the pod mentions, in Kubernetes' words; empty when none."""
    if spec.get("serviceAccountName"):
        return "serviceaccounts"
    if any(secret_names(spec)):
        return "secrets"
    if any(configmap_names(spec)):
        return "configmaps"
    if spec.get("resourceClaims"):
        return "resourceclaims"
    for volume in spec.get("volumes") or ():
        if not _SELF_CONTAINED.isdisjoint(volume):
            continue
        found = next((text for source, text in _VOLUME_REFERENCES.items() if source in volume), "")
        if found:
            return found
        if "projected" not in volume:
            raise _unknown(attributes, f"unknown volume type for volume  {quote(volume['name'])}")
        if found := _first_projected(attributes, volume):
            return found
    return ""


def _first_projected(attributes: Attributes, volume: Volume) -> str:
    for source in volume["projected"].get("sources") or ():
        found = next((text for kind, text in _PROJECTED_REFERENCES.items() if kind in source), "")
        if found:
            return found
        if "downwardAPI" not in source:
            raise _unknown(attributes, f"unknown source for projected volume {quote(volume['name'])}")
    return ""


def _unknown(attributes: Attributes, why: str) -> Exception:
    return attributes.refusal(f"error checking mirror pod for API references: {why}")


# --- Audiences


def driver_audiences(pod: Pod, reader: Reader, wanted: str) -> set[str]:
    """The audiences that tokens for the pod may have: of its token volumes, and of the drivers of its
    other volumes. Raises what could not be looked up, unless `wanted` was found all the same."""
    found: set[str] = set()
    problems = []
    for volume in pod["spec"].get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if (token := source.get("serviceAccountToken")) is not None:
                found.add(token.get("audience", ""))
        try:
            found.update(_of_driver(_driver(pod, volume, reader), reader))
        except LookupError as error:
            problems.append(error.args[0])
    if problems and wanted not in found:
        first: Exception = problems[0]
        raise first
    return found


def _driver(pod: Pod, volume: Volume, reader: Reader) -> str:
    if (inline := volume.get("csi")) is not None:
        return str(inline.get("driver", ""))
    claim_name = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
    if (volume.get("ephemeral") or {}).get("volumeClaimTemplate") is not None:
        claim_name = f"{pod['metadata']['name']}-{volume['name']}"
    if not claim_name:
        return ""
    claim = _found(reader, "", "persistentvolumeclaims", pod["metadata"].get("namespace", ""), claim_name)
    bound = _found(reader, "", "persistentvolumes", "", claim["spec"].get("volumeName", ""))
    return str((bound["spec"].get("csi") or {}).get("driver", ""))


def _of_driver(name: str, reader: Reader) -> Iterator[str]:
    if name:
        driver = _found(reader, "storage.k8s.io", "csidrivers", "", name)
        for request in driver["spec"].get("tokenRequests") or ():
            yield request.get("audience", "")


def _found(reader: Reader, group: str, plural: str, namespace: str, name: str) -> Object:
    found = reader.get(group, plural, namespace, name)
    if found is None:
        raise LookupError(not_found(group, plural.removesuffix("s"), name))
    return found
