"""The sources of PersistentVolumes: what rules.txt cannot say, and the form in which messages show them.

`storage_core` decides which one applies and that there is only one.
"""

from __future__ import annotations

import re
from typing import Final

from steersman.cluster.schema.validation.compiled import compiled_check
from steersman.cluster.schema.validation.internal_values import as_internal
from steersman.cluster.schema.validation.pods.internal import internal_diff, internal_form
from steersman.cluster.schema.validation.pods.paths import validate_no_backsteps
from steersman.cluster.schema.validation.pods.volume_sources import validate_csi_driver_name, validate_options
from steersman.cluster.schema.validation.values import OBJECT_REFERENCE
from steersman.objects.fields import FieldError, Path, invalid
from steersman.objects.kinds import Object

__all__ = [
    "SOURCES",
    "source_diff",
    "source_of",
    "validate_csi_driver_name",
    "validate_iscsi_name",
    "validate_name_length",
    "validate_no_backsteps",
    "validate_options",
]

_ISCSI_NAME: Final = re.compile(
    r"(?=iqn).*iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)|eui.[A-Za-z0-9]{16}|naa.[A-Za-z0-9]{32}",
    re.ASCII,
)


def validate_name_length(source: Object, path: Path, volume: str) -> list[FieldError]:
    """`volume` is the name of the PersistentVolume, which becomes part of the initiator's."""
    portal = source.get("targetPortal", "")
    if source.get("initiatorName") is None or len(f"{volume}:{portal}") <= 64:
        return []
    detail = (
        "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
        "if iscsi.initiatorName is specified."
    )
    return [invalid(path.child("targetportal"), portal, detail)]


def validate_iscsi_name(name: str, path: Path) -> list[FieldError]:
    return [] if _ISCSI_NAME.fullmatch(name) else [invalid(path, name, "must be valid format")]


#: The type of each source, in the order in which Kubernetes looks for them.
_TYPES: Final = {
    "hostPath": "HostPathVolumeSource",
    "gcePersistentDisk": "GCEPersistentDiskVolumeSource",
    "awsElasticBlockStore": "AWSElasticBlockStoreVolumeSource",
    "glusterfs": "GlusterfsPersistentVolumeSource",
    "flocker": "FlockerVolumeSource",
    "nfs": "NFSVolumeSource",
    "rbd": "RBDPersistentVolumeSource",
    "quobyte": "QuobyteVolumeSource",
    "cephfs": "CephFSPersistentVolumeSource",
    "iscsi": "ISCSIPersistentVolumeSource",
    "cinder": "CinderPersistentVolumeSource",
    "fc": "FCVolumeSource",
    "flexVolume": "FlexPersistentVolumeSource",
    "azureFile": "AzureFilePersistentVolumeSource",
    "vsphereVolume": "VsphereVirtualDiskVolumeSource",
    "photonPersistentDisk": "PhotonPersistentDiskVolumeSource",
    "portworxVolume": "PortworxVolumeSource",
    "azureDisk": "AzureDiskVolumeSource",
    "scaleIO": "ScaleIOPersistentVolumeSource",
    "local": "LocalVolumeSource",
    "storageos": "StorageOSPersistentVolumeSource",
    "csi": "CSIPersistentVolumeSource",
}
#: The check of each source. The context is the name of the volume.
SOURCES: Final = {field: compiled_check(f"core.v1.{name}") for field, name in _TYPES.items()}


# --- The form in which sources are compared and shown

#: Field, Go name and type of each source, in the order of the Go type. Types are those of pods where the
#: volume's own differs only by its secret or a last field: `_own_form` adds that.
_FORMS: Final = (
    ("gcePersistentDisk", "GCEPersistentDisk", "GCEPersistentDiskVolumeSource"),
    ("awsElasticBlockStore", "AWSElasticBlockStore", "AWSElasticBlockStoreVolumeSource"),
    ("hostPath", "HostPath", "HostPathVolumeSource"),
    ("glusterfs", "Glusterfs", "GlusterfsVolumeSource"),
    ("nfs", "NFS", "NFSVolumeSource"),
    ("rbd", "RBD", "RBDVolumeSource"),
    ("iscsi", "ISCSI", "ISCSIVolumeSource"),
    ("cinder", "Cinder", "CinderVolumeSource"),
    ("cephfs", "CephFS", "CephFSVolumeSource"),
    ("fc", "FC", "FCVolumeSource"),
    ("flocker", "Flocker", "FlockerVolumeSource"),
    ("flexVolume", "FlexVolume", "FlexVolumeSource"),
    ("azureFile", "AzureFile", "AzureFileVolumeSource"),
    ("vsphereVolume", "VsphereVolume", "VsphereVirtualDiskVolumeSource"),
    ("quobyte", "Quobyte", "QuobyteVolumeSource"),
    ("azureDisk", "AzureDisk", "AzureDiskVolumeSource"),
    ("photonPersistentDisk", "PhotonPersistentDisk", "PhotonPersistentDiskVolumeSource"),
    ("portworxVolume", "PortworxVolume", "PortworxVolumeSource"),
    ("scaleIO", "ScaleIO", "ScaleIOVolumeSource"),
    ("local", "Local", ""),
    ("storageos", "StorageOS", "StorageOSVolumeSource"),
    ("csi", "CSI", ""),
)
_LAST_FIELDS: Final = {
    "glusterfs": ("EndpointsNamespace", "endpointsNamespace"),
    "azureFile": ("SecretNamespace", "secretNamespace"),
}
_SECRET: Final = (("name", "Name", ""), ("namespace", "Namespace", ""))
_LOCAL: Final = (("path", "Path", ""), ("fsType", "FSType", None))
_CSI: Final = (
    ("driver", "Driver", ""),
    ("volumeHandle", "VolumeHandle", ""),
    ("readOnly", "ReadOnly", False),
    ("fsType", "FSType", ""),
    ("volumeAttributes", "VolumeAttributes", None),
    ("controllerPublishSecretRef", "ControllerPublishSecretRef", None),
    ("nodeStageSecretRef", "NodeStageSecretRef", None),
    ("nodePublishSecretRef", "NodePublishSecretRef", None),
    ("controllerExpandSecretRef", "ControllerExpandSecretRef", None),
    ("nodeExpandSecretRef", "NodeExpandSecretRef", None),
)


def source_of(spec: Object) -> Object:
    """The part of a volume's spec that says where the data is."""
    return {field: spec[field] for field, _, _ in _FORMS if spec.get(field) is not None}


def source_diff(old: Object, new: Object) -> str:
    """How two specs differ in their sources, as Kubernetes appends it to the message."""
    return internal_diff("n", _source_form(old), _source_form(new))


def _source_form(spec: Object) -> Object:
    form: Object = {}
    for field, name, kind in _FORMS:
        source = spec.get(field)
        form[name] = None if source is None else _own_form(field, kind, source)
    return form


def _own_form(field: str, kind: str, source: Object) -> Object | None:
    if field == "local":
        return as_internal(source, _LOCAL)
    if field == "csi":
        secrets = {
            key: as_internal(value, _SECRET) for key, value in source.items() if key.endswith("SecretRef")
        }
        attributes = source.get("volumeAttributes")
        # Go prints maps in the order of their keys.
        ordered = None if attributes is None else dict(sorted(attributes.items()))
        return as_internal({**source, **secrets, "volumeAttributes": ordered}, _CSI)
    form: Object = internal_form(kind, source)
    if "SecretRef" in form:
        form["SecretRef"] = as_internal(
            source.get("secretRef"), OBJECT_REFERENCE if field == "storageos" else _SECRET
        )
    if field in _LAST_FIELDS:
        name, key = _LAST_FIELDS[field]
        form[name] = source.get(key)
    return form
