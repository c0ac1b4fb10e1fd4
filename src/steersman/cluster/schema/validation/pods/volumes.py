"""The volumes of a pod: names, exactly one source each, and the sources that live in the pod."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.pods.mounts import Volumes
from steersman.cluster.schema.validation.pods.projected import (
    validate_config_map,
    validate_downward_api,
    validate_projected,
    validate_secret,
)
from steersman.cluster.schema.validation.pods.volume_sources import SOURCES, Source
from steersman.cluster.schema.validation.rules import Object, invalids
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    quote,
    required,
)
from steersman.objects.metadata import validate_annotations, validate_labels
from steersman.objects.names import is_dns1123_label, is_dns1123_subdomain
from steersman.objects.quantities import Quantity

__all__ = ["PULL_POLICIES", "validate_pull_policy", "validate_volumes"]

PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")

_EMPTY_DIR_MODE: Final = "must be a number between 0 and 01777 (octal), both inclusive"
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


def _validate_empty_dir(source: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    limit, mode = source.get("sizeLimit"), source.get("mode")
    if limit is not None and Quantity.parse(limit).sign < 0:
        text = "SizeLimit field must be a valid resource quantity"
        errors.append(forbidden(path.child("sizeLimit"), text))
    if mode is not None and not 0 <= mode <= 0o1777:
        errors.append(invalid(path.child("mode"), mode, _EMPTY_DIR_MODE))
    return errors


def _validate_ephemeral(source: Object, path: Path) -> list[FieldError]:
    # The claim's rules are with the claims; most pods have no need to load them.
    from steersman.cluster.schema.validation.storage_core import validate_claim_spec

    template = source.get("volumeClaimTemplate")
    here = path.child("volumeClaimTemplate")
    if template is None:
        return [required(here)]
    metadata: Object = template.get("metadata") or {}
    meta_path = here.child("metadata")
    errors = validate_annotations(metadata.get("annotations") or {}, meta_path.child("annotations"))
    errors += validate_labels(metadata.get("labels") or {}, meta_path.child("labels"))
    errors += (
        forbidden(meta_path.child(_go_field_path(field)), "cannot be set")
        for field in _TEMPLATE_METADATA
        if metadata.get(field)
    )
    return errors + validate_claim_spec(template.get("spec") or {}, here.child("spec"))


def _go_field_path(field: str) -> str:
    """Kubernetes derives these paths from Go names, of which only `UID` differs from JSON's."""
    return "uID" if field == "uid" else field


def _validate_image(source: Object, path: Path) -> list[FieldError]:
    errors = [] if source.get("reference") else [required(path.child("reference"))]
    return errors + validate_pull_policy(source.get("pullPolicy"), path.child("pullPolicy"))


def validate_pull_policy(policy: str | None, path: Path) -> list[FieldError]:
    if policy in PULL_POLICIES:
        return []
    return [not_supported(path, policy, PULL_POLICIES)] if policy else [required(path)]


_ALL_SOURCES: Final[dict[str, Source]] = {
    **SOURCES,
    "emptyDir": _validate_empty_dir,
    "secret": validate_secret,
    "downwardAPI": validate_downward_api,
    "configMap": validate_config_map,
    "projected": validate_projected,
    "ephemeral": _validate_ephemeral,
    "image": _validate_image,
}
#: In Kubernetes' order, which decides which of two sources is one too many.
_ORDER: Final = (
    "emptyDir hostPath gitRepo gcePersistentDisk awsElasticBlockStore secret nfs iscsi glusterfs flocker "
    "persistentVolumeClaim rbd cinder cephfs quobyte downwardAPI fc flexVolume configMap azureFile "
    "vsphereVolume photonPersistentDisk portworxVolume azureDisk storageos projected scaleIO csi ephemeral "
    "image"
)
_CHECKS: Final = {key: _ALL_SOURCES[key] for key in _ORDER.split()}
