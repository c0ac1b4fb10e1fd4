"""The sources of PersistentVolumes: their checks, and the form in which their difference is shown.

Most sources are those pods have, with the same rules; here are the ones that differ. `storage_core`
decides which one applies and that there is only one.
"""

from __future__ import annotations

import re
from typing import Final

from steersman.cluster.schema.validation.internal_values import as_internal
from steersman.cluster.schema.validation.pods.internal import internal_diff, internal_form
from steersman.cluster.schema.validation.pods.paths import validate_no_backsteps
from steersman.cluster.schema.validation.pods.volume_sources import SOURCES as POD_SOURCES
from steersman.cluster.schema.validation.pods.volume_sources import Source, validate_csi_driver_name
from steersman.cluster.schema.validation.rules import Object, invalids
from steersman.cluster.schema.validation.values import OBJECT_REFERENCE
from steersman.objects.fields import FieldError, Path, invalid, required
from steersman.objects.names import is_dns1123_label, is_dns1123_subdomain, range_message

__all__ = ["SOURCES", "source_diff", "source_of", "validate_iscsi"]

_ISCSI_NAME: Final = re.compile(
    r"(?=iqn).*iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)|eui.[A-Za-z0-9]{16}|naa.[A-Za-z0-9]{32}",
    re.ASCII,
)
_CSI_SECRETS: Final = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)


def _glusterfs_errors(source: Object, path: Path) -> list[FieldError]:
    errors = POD_SOURCES["glusterfs"](source, path)
    namespace = source.get("endpointsNamespace")
    path = path.child("endpointsNamespace")
    if namespace == "":
        detail = "if the endpointnamespace is set, it must be a valid namespace name"
        errors.append(invalid(path, namespace, detail))
    elif namespace is not None:
        errors += invalids(path, namespace, is_dns1123_label(namespace))
    return errors


def validate_iscsi(source: Object, volume: str, path: Path) -> list[FieldError]:
    """`volume` is the name of the PersistentVolume, which becomes part of the initiator's."""
    portal, name, initiator = (source.get(field) for field in ("targetPortal", "iqn", "initiatorName"))
    errors = [] if portal else [required(path.child("targetPortal"))]
    if initiator is not None and len(f"{volume}:{portal or ''}") > 64:
        detail = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
            "if iscsi.initiatorName is specified."
        )
        errors.append(invalid(path.child("targetportal"), portal or "", detail))
    if not name:
        errors.append(required(path.child("iqn")))
    elif not _ISCSI_NAME.fullmatch(name):
        errors.append(invalid(path.child("iqn"), name, "must be valid format"))
    number = source.get("lun", 0)
    if not 0 <= number <= 255:
        errors.append(invalid(path.child("lun"), number, range_message(0, 255)))
    secret = source.get("secretRef")
    if secret is None and (source.get("chapAuthDiscovery") or source.get("chapAuthSession")):
        errors.append(required(path.child("secretRef")))
    errors += _secret_errors(source, path, "name")
    if initiator is not None and not _ISCSI_NAME.fullmatch(initiator):
        errors.append(invalid(path.child("initiatorname"), initiator, "must be valid format"))
    return errors


def _secret_errors(source: Object, path: Path, *fields: str) -> list[FieldError]:
    secret = source.get("secretRef")
    if secret is None:
        return []
    return [required(path.child("secretRef", field)) for field in fields if not secret.get(field)]


def _cinder_errors(source: Object, path: Path) -> list[FieldError]:
    errors = [] if source.get("volumeID") else [required(path.child("volumeID"))]
    return errors + _secret_errors(source, path, "name", "namespace")


def _azure_file_errors(source: Object, path: Path) -> list[FieldError]:
    errors = POD_SOURCES["azureFile"](source, path)
    return (
        [*errors, required(path.child("secretNamespace"))] if source.get("secretNamespace") == "" else errors
    )


def _local_errors(source: Object, path: Path) -> list[FieldError]:
    target = source.get("path", "")
    path = path.child("path")
    return validate_no_backsteps(target, path) if target else [required(path)]


def _storage_os_errors(source: Object, path: Path) -> list[FieldError]:
    without_secret = {key: value for key, value in source.items() if key != "secretRef"}
    errors = POD_SOURCES["storageos"](without_secret, path)
    return errors + _secret_errors(source, path, "name", "namespace")


def _csi_errors(source: Object, path: Path) -> list[FieldError]:
    errors = validate_csi_driver_name(source.get("driver", ""), path.child("driver"))
    if not source.get("volumeHandle"):
        errors.append(required(path.child("volumeHandle")))
    for field in _CSI_SECRETS:
        reference = source.get(field)
        if reference is None:
            continue
        for part, rule in (("name", is_dns1123_subdomain), ("namespace", is_dns1123_label)):
            value, here = reference.get(part, ""), path.child(field, part)
            errors += invalids(here, value, rule(value)) if value else [required(here)]
    return errors


#: In the order in which Kubernetes looks for them. ISCSI also needs the volume's name: see validate_iscsi.
SOURCES: Final[dict[str, Source]] = {
    "hostPath": POD_SOURCES["hostPath"],
    "gcePersistentDisk": POD_SOURCES["gcePersistentDisk"],
    "awsElasticBlockStore": POD_SOURCES["awsElasticBlockStore"],
    "glusterfs": _glusterfs_errors,
    "flocker": POD_SOURCES["flocker"],
    "nfs": POD_SOURCES["nfs"],
    "rbd": POD_SOURCES["rbd"],
    "quobyte": POD_SOURCES["quobyte"],
    "cephfs": POD_SOURCES["cephfs"],
    "iscsi": POD_SOURCES["iscsi"],
    "cinder": _cinder_errors,
    "fc": POD_SOURCES["fc"],
    "flexVolume": POD_SOURCES["flexVolume"],
    "azureFile": _azure_file_errors,
    "vsphereVolume": POD_SOURCES["vsphereVolume"],
    "photonPersistentDisk": POD_SOURCES["photonPersistentDisk"],
    "portworxVolume": POD_SOURCES["portworxVolume"],
    "azureDisk": POD_SOURCES["azureDisk"],
    "scaleIO": POD_SOURCES["scaleIO"],
    "local": _local_errors,
    "storageos": _storage_os_errors,
    "csi": _csi_errors,
}


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
