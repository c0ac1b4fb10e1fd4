"""The volumes of a pod: names, exactly one source each, and the sources that live in the pod."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.compiled import compiled_check
from steersman.cluster.schema.validation.pods.mounts import Volumes
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    quote,
    required,
)
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_annotations, validate_labels
from steersman.objects.names import is_dns1123_label, is_dns1123_subdomain
from steersman.objects.quantities import Quantity

__all__ = [
    "validate_claim_template",
    "validate_size_limit",
    "validate_volumes",
]


_ISCSI_NAME_TOO_LONG: Final = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
    "if iscsi.initiatorName is specified."
)
#: Metadata of a claim template besides labels and annotations, in the order of the Go type.
_TEMPLATE_METADATA: Final = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
#: Where Kubernetes names a source differently from its field: (when it is one too many, inside it).
_ODD_NAMES: Final = {
    "gcePersistentDisk": ("gcePersistentDisk", "persistentDisk"),
    "cephfs": ("cephFS", "cephfs"),
    "downwardAPI": ("downwarAPI", "downwardAPI"),
}


def validate_volumes(volumes: list[Object], pod_name: str, path: Path) -> tuple[Volumes, list[FieldError]]:
    """The volumes that containers may refer to, and what is wrong with the others.

    `pod_name` is empty for templates: then the names of claims made for the pod are not known.
    """
    errors: list[FieldError] = []
    found: Volumes = {}
    created = {
        f"{pod_name}-{volume.get('name', '')}" for volume in volumes if pod_name and "ephemeral" in volume
    }
    for number, volume in enumerate(volumes):
        here = path.index(number)
        name = volume.get("name", "")
        wrong = _validate_source(volume, name, pod_name, here)
        if not name:
            wrong.append(required(here.child("name")))
        else:
            wrong += invalids(here.child("name"), name, is_dns1123_label(name))
        if name in found:
            wrong.append(duplicate(here.child("name"), name))
        if wrong:
            errors += wrong
        else:
            found[name] = volume
        claim = volume.get("persistentVolumeClaim")
        if created and claim is not None and claim.get("claimName") in created:
            text = "must not reference a PVC that gets created for an ephemeral volume"
            claim_path = here.child("persistentVolumeClaim", "claimName")
            errors.append(invalid(claim_path, claim["claimName"], text))
    return found, errors


def _validate_source(volume: Object, name: str, pod_name: str, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    count = 0
    for key, check in _CHECKS.items():
        source = volume.get(key)
        if source is None:
            continue
        surplus, inside = _ODD_NAMES.get(key, (key, key))
        count += 1
        if count > 1:
            errors.append(forbidden(path.child(surplus), "may not specify more than 1 volume type"))
        else:
            errors += check(source, path.child(inside))
            if key == "ephemeral" and pod_name and name:
                claim = f"{pod_name}-{name}"
                texts = (f"PVC name {quote(claim)}: {text}" for text in is_dns1123_subdomain(claim))
                errors += invalids(path.child("name"), name, texts)
        if key == "iscsi":
            errors += _validate_iscsi_length(source, name, path)
        if count == len(volume) - 1:
            break
    if count == 0:
        errors.append(required(path, "must specify a volume type"))
    return errors


def _validate_iscsi_length(source: Object, name: str, path: Path) -> list[FieldError]:
    together = f"{name}:{source.get('targetPortal', '')}"
    if source.get("initiatorName") is None or len(together) <= 64:
        return []
    return [invalid(path.child("name"), name, _ISCSI_NAME_TOO_LONG)]


def validate_size_limit(limit: str, path: Path) -> list[FieldError]:
    if Quantity.parse(limit).sign >= 0:
        return []
    return [forbidden(path, "SizeLimit field must be a valid resource quantity")]


def validate_claim_template(template: Object, path: Path) -> list[FieldError]:
    # The claim's rules are with the claims; most pods have no need to load them.
    from steersman.cluster.schema.validation.storage_core import validate_claim_spec

    metadata: Object = template.get("metadata") or {}
    meta_path = path.child("metadata")
    errors = validate_annotations(metadata.get("annotations") or {}, meta_path.child("annotations"))
    errors += validate_labels(metadata.get("labels") or {}, meta_path.child("labels"))
    errors += (
        forbidden(meta_path.child(_go_field_path(field)), "cannot be set")
        for field in _TEMPLATE_METADATA
        if metadata.get(field)
    )
    return errors + validate_claim_spec(template.get("spec") or {}, path.child("spec"))


def _go_field_path(field: str) -> str:
    """Kubernetes derives these paths from Go names, of which only `UID` differs from JSON's."""
    return "uID" if field == "uid" else field


#: The type of each source, in Kubernetes' order, which decides which of two sources is one too many.
_TYPES: Final = {
    "emptyDir": "EmptyDirVolumeSource",
    "hostPath": "HostPathVolumeSource",
    "gitRepo": "GitRepoVolumeSource",
    "gcePersistentDisk": "GCEPersistentDiskVolumeSource",
    "awsElasticBlockStore": "AWSElasticBlockStoreVolumeSource",
    "secret": "SecretVolumeSource",
    "nfs": "NFSVolumeSource",
    "iscsi": "ISCSIVolumeSource",
    "glusterfs": "GlusterfsVolumeSource",
    "flocker": "FlockerVolumeSource",
    "persistentVolumeClaim": "PersistentVolumeClaimVolumeSource",
    "rbd": "RBDVolumeSource",
    "cinder": "CinderVolumeSource",
    "cephfs": "CephFSVolumeSource",
    "quobyte": "QuobyteVolumeSource",
    "downwardAPI": "DownwardAPIVolumeSource",
    "fc": "FCVolumeSource",
    "flexVolume": "FlexVolumeSource",
    "configMap": "ConfigMapVolumeSource",
    "azureFile": "AzureFileVolumeSource",
    "vsphereVolume": "VsphereVirtualDiskVolumeSource",
    "photonPersistentDisk": "PhotonPersistentDiskVolumeSource",
    "portworxVolume": "PortworxVolumeSource",
    "azureDisk": "AzureDiskVolumeSource",
    "storageos": "StorageOSVolumeSource",
    "projected": "ProjectedVolumeSource",
    "scaleIO": "ScaleIOVolumeSource",
    "csi": "CSIVolumeSource",
    "ephemeral": "EphemeralVolumeSource",
    "image": "ImageVolumeSource",
}
_CHECKS: Final = {field: compiled_check(f"core.v1.{name}") for field, name in _TYPES.items()}
