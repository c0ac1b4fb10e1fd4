"""Validation of PersistentVolumes and PersistentVolumeClaims: what rules.txt cannot say about them.

Pods and StatefulSets call `validate_claim_spec` for the claims they make, VolumeAttachments call
`validate_volume_spec` for the volumes they hold inline.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Any, Final

from steersman.cluster.schema.validation.compiled import compiled_check
from steersman.cluster.schema.validation.pods.affinity import validate_node_selector
from steersman.cluster.schema.validation.pods.internal import (
    internal_diff,
    internal_form,
    semantically_equal,
)
from steersman.cluster.schema.validation.resource_names import is_native, validate_amount
from steersman.cluster.schema.validation.rules import invalids
from steersman.cluster.schema.validation.volume_sources import (
    SOURCES,
    source_diff,
    source_of,
)
from steersman.objects.fields import FieldError, Path, forbidden, invalid, not_supported, required
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_immutable, validate_label_selector
from steersman.objects.names import is_dns1123_subdomain, is_label_key, is_label_value
from steersman.objects.quantities import Quantity

__all__ = [
    "facts_of_volume",
    "tolerance_of",
    "validate_affinity",
    "validate_capacity",
    "validate_claim_change",
    "validate_claim_spec",
    "validate_claim_status",
    "validate_inline_source",
    "validate_mount_options",
    "validate_origin",
    "validate_recycling",
    "validate_same_origin",
    "validate_selector",
    "validate_single_pod_mode",
    "validate_storage_request",
    "validate_volume_change",
    "validate_volume_source",
    "validate_volume_spec",
]

_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_RESIZE_STATES: Final = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
_MOUNT_OPTIONS: Final = "volume.beta.kubernetes.io/mount-options"
_MOUNTED_WITH_OPTIONS: Final = (
    *("gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi", "cinder"),
    *("cephfs", "azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk"),
)
_validate_spec = compiled_check("core.v1.PersistentVolumeSpec")
_validate_inline_spec = compiled_check("core.v1.PersistentVolumeSpec inline")
_validate_claim_spec = compiled_check("core.v1.PersistentVolumeClaimSpec")
#: Where Kubernetes names a source differently from its field: when it is one too many, and inside it.
_SURPLUS_NAMES: Final = {"cephfs": "cephFS"}
_INNER_NAMES: Final = {"gcePersistentDisk": "persistentDisk"}
#: Labels of nodes that were renamed; a volume may follow.
_RENAMED_LABELS: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def validate_single_pod_mode(modes: list[str], path: Path) -> list[FieldError]:
    known = {mode for mode in modes if mode in _ACCESS_MODES}
    if "ReadWriteOncePod" not in known or len(known) == 1:
        return []
    return [forbidden(path, "may not use ReadWriteOncePod with other access modes")]


def _basic_amount_errors(amount: str, path: Path) -> list[FieldError]:
    value = Quantity.parse(amount).value
    return [invalid(path, value, "must be a valid resource quantity")] if value < 0 else []


def _positive_amount_errors(amount: str, path: Path) -> list[FieldError]:
    quantity = Quantity.parse(amount)
    return [] if quantity.sign > 0 else [invalid(path, str(quantity), "must be greater than zero")]


# --- PersistentVolume


def validate_mount_options(volume: Object, path: Path) -> list[FieldError]:
    annotations = volume["metadata"].get("annotations") or {}
    if _MOUNT_OPTIONS not in annotations:
        return []
    if any(volume["spec"].get(field) is not None for field in _MOUNTED_WITH_OPTIONS):
        return []
    here = path.child("metadata", "annotations", _MOUNT_OPTIONS)
    return [forbidden(here, "may not specify mount options for this volume type")]


@dataclass(frozen=True, slots=True)
class _Volume:
    """What the rules of a volume's spec need to know of the volume."""

    name: str = ""
    allow_invalid_labels: bool = False


def facts_of_volume(new: Object, old: Object | None) -> _Volume:
    odd_labels = old is not None and _has_odd_labels(old["spec"])
    return _Volume(new["metadata"].get("name", ""), odd_labels)


def validate_volume_spec(
    spec: Object, name: str, path: Path, *, inline: bool = False, allow_invalid_labels: bool = False
) -> list[FieldError]:
    """What is wrong with a volume. `inline` ones stand in a VolumeAttachment and are of a CSI driver."""
    check = _validate_inline_spec if inline else _validate_spec
    return check(spec, path, _Volume(name, allow_invalid_labels))


def validate_recycling(spec: Object, path: Path) -> list[FieldError]:
    host_path, policy = spec.get("hostPath"), spec.get("persistentVolumeReclaimPolicy")
    if host_path is None or policy != "Recycle" or not _is_root(host_path.get("path", "")):
        return []
    detail = "may not be 'recycle' for a hostPath mount of '/'"
    return [forbidden(path.child("persistentVolumeReclaimPolicy"), detail)]


def _is_root(path: str) -> bool:
    return bool(path) and posixpath.normpath(path) in ("/", "//")


def validate_capacity(spec: Object, path: Path) -> list[FieldError]:
    given, path = spec.get("capacity"), path.child("capacity")
    capacity = dict(sorted((given or {}).items()))
    errors = [] if capacity else [required(path)]
    if set(capacity) != {"storage"}:
        errors.append(not_supported(path, None if given is None else capacity, ("storage",)))
    for resource, amount in capacity.items():
        errors += _basic_amount_errors(amount, path.key(resource))
        errors += _positive_amount_errors(amount, path.key(resource))
    return errors


def validate_affinity(selector: Object, path: Path, volume: _Volume) -> list[FieldError]:
    return validate_node_selector(selector, path, any_values=volume.allow_invalid_labels)


def validate_volume_source(spec: Object, path: Path, volume: _Volume) -> list[FieldError]:
    return _source_errors(spec, path, volume, inline=False)


def validate_inline_source(spec: Object, path: Path, volume: _Volume) -> list[FieldError]:
    return _source_errors(spec, path, volume, inline=True)


def _source_errors(spec: Object, path: Path, volume: _Volume, *, inline: bool) -> list[FieldError]:
    """Exactly one source. A flexVolume is let pass after another, an old oversight."""
    errors = []
    chosen = ""
    for field, check in SOURCES.items():
        source = spec.get(field)
        if source is None:
            continue
        if chosen and field != "flexVolume":
            here = path.child(_SURPLUS_NAMES.get(field, field))
            errors.append(forbidden(here, "may not specify more than 1 volume type"))
            continue
        chosen = field
        here = path.child(_INNER_NAMES.get(field, field))
        errors += check(source, here, volume.name)
        # Inline volumes cannot have an affinity, so it does not count for them.
        if field == "local" and (inline or spec.get("nodeAffinity") is None):
            errors.append(required(path.child("nodeAffinity"), "Local volume requires node affinity"))
    return errors if chosen else [*errors, required(path, "must specify a volume type")]


def validate_volume_change(new: Object, path: Path, old: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    spec, before = new["spec"], old["spec"]
    source, old_source = source_of(spec), source_of(before)
    csi = source.get("csi")
    key = "controllerExpandSecretRef"
    if csi is not None and key in csi and old_source.get("csi") and key not in old_source["csi"]:
        # A secret for expanding may be added later.
        source = {**source, "csi": {field: value for field, value in csi.items() if field != key}}
    if source != old_source:
        detail = f"spec.persistentvolumesource is immutable after creation\n{source_diff(old_source, source)}"
        errors.append(forbidden(_SPEC.child("persistentvolumesource"), detail))
    errors += validate_immutable(spec.get("volumeMode"), before.get("volumeMode"), Path("volumeMode"))
    errors += _affinity_change_errors(spec.get("nodeAffinity"), before.get("nodeAffinity"))
    field = "volumeAttributesClassName"
    if before.get(field) is not None and spec.get(field) is None:
        errors.append(forbidden(_SPEC.child(field), "update from non-nil value to nil is forbidden"))
    return errors


def _has_odd_labels(spec: Object) -> bool:
    """Whether older versions let in values that are no label values, which may then stay."""
    terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or []
    return any(
        is_label_value(value)
        for term in terms
        for requirement in term.get("matchExpressions") or []
        for value in requirement.get("values") or []
    )


def _affinity_change_errors(new: Object | None, old: Object | None) -> list[FieldError]:
    """A volume's place stays, except that renamed labels may be followed."""
    if old is None or _with_renamed_labels(old, new) == new:
        return []
    shown = None
    if new is not None:
        selector = new.get("required")
        shown = {"Required": None if selector is None else internal_form("NodeSelector", selector)}
    detail = "field is immutable, except for updating from beta label to GA"
    return [invalid(Path("nodeAffinity"), shown, detail)]


def _with_renamed_labels(old: Any, new: Any) -> Any:
    """`old` with those label keys renamed that `new` has renamed at the same place."""
    if isinstance(old, dict) and isinstance(new, dict):
        renamed = {key: _with_renamed_labels(value, new.get(key)) for key, value in old.items()}
        if _RENAMED_LABELS.get(old.get("key", "")) == new.get("key", ""):
            renamed["key"] = new["key"]
        return renamed
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [_with_renamed_labels(before, after) for before, after in zip(old, new, strict=True)]
    return old


# --- PersistentVolumeClaim


@dataclass(frozen=True, slots=True)
class _Tolerance:
    """What the claim being replaced held already and may therefore stay, wrong as it is."""

    odd_label_values: bool = False
    odd_api_groups: bool = False


def tolerance_of(new: Object, old: Object | None) -> _Tolerance:
    if old is None:
        return _Tolerance()
    before = old["spec"]
    origins = (before.get("dataSource") or {}, before.get("dataSourceRef") or {})
    return _Tolerance(
        odd_label_values=bool(validate_label_selector(before.get("selector"), Path())),
        odd_api_groups=any(origin.get("apiGroup") is not None for origin in origins),
    )


def validate_claim_spec(spec: Object, path: Path) -> list[FieldError]:
    """What is wrong with the spec of a claim, also of one made from a template."""
    return _validate_claim_spec(spec, path, _Tolerance())


def validate_selector(selector: Object, path: Path, tolerance: _Tolerance) -> list[FieldError]:
    return validate_label_selector(selector, path, allow_invalid_values=tolerance.odd_label_values)


def validate_storage_request(spec: Object, path: Path) -> list[FieldError]:
    amount = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    here = path.child("resources").key("storage")
    if amount is None:
        return [required(here)]
    return _positive_amount_errors(amount, here) or validate_amount("storage", amount, here)


def validate_same_origin(spec: Object, path: Path) -> list[FieldError]:
    """The value in these messages is always empty: Kubernetes shows a path, which prints as nothing."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None or reference is None:
        return []
    if reference.get("namespace"):
        return [invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified")]
    if any(source.get(field) != reference.get(field) for field in ("apiGroup", "kind", "name")):
        return [invalid(path, {}, "must match dataSourceRef")]
    return []


def validate_origin(reference: Object, path: Path, tolerance: _Tolerance) -> list[FieldError]:
    group, kind = reference.get("apiGroup") or "", reference.get("kind", "")
    if group:
        if tolerance.odd_api_groups:
            return []
        return invalids(path.child("apiGroup"), group, is_dns1123_subdomain(group))
    if kind == "PersistentVolumeClaim":
        return []
    return [invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")]


def validate_claim_change(new: Object, path: Path, old: Object) -> list[FieldError]:
    spec, before = new["spec"], old["spec"]
    errors: list[FieldError] = []
    errors += _class_annotation_errors(new, old)
    comparable, comparable_before = _comparable_specs(new, old)
    if not semantically_equal("PersistentVolumeClaimSpec", comparable, comparable_before):
        diff = internal_diff("PersistentVolumeClaimSpec", comparable_before, comparable)
        detail = (
            "spec is immutable after creation except resources.requests and "
            f"volumeAttributesClassName for bound claims\n{diff}"
        )
        errors.append(forbidden(_SPEC, detail))
    size, old_size = _requested(spec), _requested(before)
    status = old.get("status") or {}
    reached = Quantity.parse((status.get("capacity") or {}).get("storage", "0"))
    if size < old_size and size <= reached:
        path = _SPEC.child("resources", "requests", "storage")
        errors.append(forbidden(path, "field can not be less than status.capacity"))
    errors += validate_immutable(spec.get("volumeMode"), before.get("volumeMode"), Path("volumeMode"))
    field = "volumeAttributesClassName"
    name = spec.get(field)
    applied = status.get("currentVolumeAttributesClassName") is not None
    if name != before.get(field) and applied and not name:
        target = "nil" if name is None else "empty string"
        detail = f"update to {target} is forbidden when status.currentVolumeAttributesClassName is not nil"
        errors.append(forbidden(_SPEC.child(field), detail))
    return errors


def _requested(spec: Object) -> Quantity:
    return Quantity.parse(((spec.get("resources") or {}).get("requests") or {}).get("storage", "0"))


def _class_moves_to_field(new: Object, old: Object) -> bool:
    """Whether the storage class only moves from the old annotation to the field."""
    annotations, before = (claim["metadata"].get("annotations") or {} for claim in (new, old))
    name = before.get(_CLASS_ANNOTATION)
    return (
        name is not None
        and old["spec"].get("storageClassName") is None
        and new["spec"].get("storageClassName") == name
        and annotations.get(_CLASS_ANNOTATION, name) == name
    )


def _class_annotation_errors(new: Object, old: Object) -> list[FieldError]:
    if _class_moves_to_field(new, old):
        return []
    name, before = (
        (claim["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION, "") for claim in (new, old)
    )
    return validate_immutable(name, before, Path("metadata").child("annotations", _CLASS_ANNOTATION))


def _comparable_specs(new: Object, old: Object) -> tuple[Object, Object]:
    """Both specs with what may change made equal; what then differs may not."""
    spec, before = dict(new["spec"]), dict(old["spec"])
    if not before.get("volumeName"):
        before["volumeName"] = spec.get("volumeName", "")
    class_name, old_class = spec.get("storageClassName"), before.get("storageClassName")
    if _class_moves_to_field(new, old):
        spec["storageClassName"] = None
    elif class_name is not None and old_class is None:
        annotation = (old["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
        if annotation is None or annotation == class_name:
            spec["storageClassName"] = None
    if (new.get("status") or {}).get("phase") == "Bound":
        requests = (spec.get("resources") or {}).get("requests")
        if requests is not None:
            storage = ((before.get("resources") or {}).get("requests") or {}).get("storage", "0")
            spec["resources"] = {**spec["resources"], "requests": {**requests, "storage": storage}}
        spec["volumeAttributesClassName"] = before.get("volumeAttributesClassName")
    return spec, before


def validate_claim_status(claim: Object, path: Path) -> list[FieldError]:
    status = claim.get("status") or {}
    errors: list[FieldError] = []
    for resource, amount in sorted((status.get("capacity") or {}).items()):
        errors += _basic_amount_errors(amount, _STATUS.child("capacity").key(resource))
    path = _STATUS.child("allocatedResourceStatuses")
    for resource, state in sorted((status.get("allocatedResourceStatuses") or {}).items()):
        errors += _claim_resource_errors(resource, path)
        if state not in _RESIZE_STATES:
            errors.append(not_supported(path, resource, sorted(_RESIZE_STATES)))
    path = _STATUS.child("allocatedResources")
    for resource, amount in sorted((status.get("allocatedResources") or {}).items()):
        errors += (
            _claim_resource_errors(resource, path)
            or _basic_amount_errors(amount, path.key(resource))
            or validate_amount("storage", amount, path.key(resource))
        )
    return errors


def _claim_resource_errors(name: str, path: Path) -> list[FieldError]:
    found = is_label_key(name)
    if found:
        return invalids(path, name, found)
    if is_native(name) and name != "storage":
        return [not_supported(path, name, ("storage",))]
    return []
