"""Validation of PersistentVolume and PersistentVolumeClaim.

The package's `__init__` finds `RULES` here. Pods and StatefulSets call `validate_claim_spec` for the
claims they make, VolumeAttachments call `validate_volume_spec` for the volumes they hold inline.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Any, Final

from steersman.cluster.schema.validation.pods.affinity import validate_node_selector
from steersman.cluster.schema.validation.pods.internal import (
    internal_diff,
    internal_form,
    semantically_equal,
)
from steersman.cluster.schema.validation.resource_names import is_native, validate_amount
from steersman.cluster.schema.validation.rules import Object, Rules, invalids
from steersman.cluster.schema.validation.volume_sources import (
    SOURCES,
    source_diff,
    source_of,
    validate_iscsi,
)
from steersman.objects.fields import FieldError, Path, forbidden, invalid, not_supported, required
from steersman.objects.metadata import validate_immutable, validate_label_selector
from steersman.objects.names import is_dns1123_label, is_dns1123_subdomain, is_label_key, is_label_value
from steersman.objects.quantities import Quantity

__all__ = ["RULES", "validate_claim_spec", "validate_volume_spec"]

_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_RECLAIM_POLICIES: Final = ("Delete", "Recycle", "Retain")
_VOLUME_MODES: Final = ("Block", "Filesystem")
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


def _access_mode_errors(modes: list[str], path: Path) -> list[FieldError]:
    errors = [not_supported(path, mode, _ACCESS_MODES) for mode in modes if mode not in _ACCESS_MODES]
    known = {mode for mode in modes if mode in _ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        errors.append(forbidden(path, "may not use ReadWriteOncePod with other access modes"))
    return errors


def _basic_amount_errors(amount: str, path: Path) -> list[FieldError]:
    value = Quantity.parse(amount).value
    return [invalid(path, value, "must be a valid resource quantity")] if value < 0 else []


def _positive_amount_errors(amount: str, path: Path) -> list[FieldError]:
    quantity = Quantity.parse(amount)
    return [] if quantity.sign > 0 else [invalid(path, str(quantity), "must be greater than zero")]


# --- PersistentVolume


def _create_volume(volume: Object) -> list[FieldError]:
    errors = _volume_errors(volume, odd_labels=False)
    return errors + _mount_option_errors(volume)


def _volume_errors(volume: Object, *, odd_labels: bool) -> list[FieldError]:
    name = volume["metadata"].get("name", "")
    return validate_volume_spec(volume["spec"], name, _SPEC, allow_invalid_labels=odd_labels)


def _mount_option_errors(volume: Object) -> list[FieldError]:
    annotations = volume["metadata"].get("annotations") or {}
    if _MOUNT_OPTIONS not in annotations:
        return []
    if any(volume["spec"].get(field) is not None for field in _MOUNTED_WITH_OPTIONS):
        return []
    path = Path("metadata").child("annotations", _MOUNT_OPTIONS)
    return [forbidden(path, "may not specify mount options for this volume type")]


def validate_volume_spec(
    spec: Object, name: str, path: Path, *, inline: bool = False, allow_invalid_labels: bool = False
) -> list[FieldError]:
    """What is wrong with a volume. `inline` ones stand in a VolumeAttachment and are of a CSI driver."""
    errors = _inline_errors(spec, path) if inline else []
    modes = spec.get("accessModes") or []
    if not modes:
        errors.append(required(path.child("accessModes")))
    errors += _access_mode_errors(modes, path.child("accessModes"))
    if not inline:
        errors += _capacity_errors(spec.get("capacity"), path.child("capacity"))
    errors += _reclaim_errors(spec, path, inline)
    errors += _node_affinity_errors(spec, path, inline, allow_invalid_labels)
    errors += _source_errors(spec, name, path, inline)
    host_path, policy = spec.get("hostPath"), spec.get("persistentVolumeReclaimPolicy")
    if host_path is not None and policy == "Recycle" and _is_root(host_path.get("path", "")):
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(forbidden(path.child("persistentVolumeReclaimPolicy"), detail))
    return errors + _class_and_mode_errors(spec, path, inline)


def _is_root(path: str) -> bool:
    return bool(path) and posixpath.normpath(path) in ("/", "//")


def _inline_errors(spec: Object, path: Path) -> list[FieldError]:
    detail = "may not be specified in the context of inline volumes"
    errors = []
    if spec.get("claimRef") is not None:
        errors.append(forbidden(path.child("claimRef"), detail))
    if spec.get("capacity"):
        errors.append(forbidden(path.child("capacity"), detail))
    if spec.get("csi") is None:
        errors.append(required(path.child("csi"), "has to be specified in the context of inline volumes"))
    return errors


def _capacity_errors(given: dict[str, str] | None, path: Path) -> list[FieldError]:
    capacity = dict(sorted((given or {}).items()))
    errors = [] if capacity else [required(path)]
    if set(capacity) != {"storage"}:
        errors.append(not_supported(path, None if given is None else capacity, ("storage",)))
    for resource, amount in capacity.items():
        errors += _basic_amount_errors(amount, path.key(resource))
        errors += _positive_amount_errors(amount, path.key(resource))
    return errors


def _reclaim_errors(spec: Object, path: Path, inline: bool) -> list[FieldError]:
    policy = spec.get("persistentVolumeReclaimPolicy", "")
    path = path.child("persistentVolumeReclaimPolicy")
    if inline:
        detail = "may only be Retain in the context of inline volumes"
        return [] if policy in ("", "Retain") else [forbidden(path, detail)]
    if not policy or policy in _RECLAIM_POLICIES:
        return []
    return [not_supported(path, policy, _RECLAIM_POLICIES)]


def _node_affinity_errors(
    spec: Object, path: Path, inline: bool, allow_invalid_labels: bool
) -> list[FieldError]:
    affinity = spec.get("nodeAffinity")
    path = path.child("nodeAffinity")
    if affinity is None:
        return []
    if inline:
        return [forbidden(path, "may not be specified in the context of inline volumes")]
    path = path.child("required")
    if affinity.get("required") is None:
        return [required(path, "must specify required node constraints")]
    return validate_node_selector(affinity["required"], path, any_values=allow_invalid_labels)


def _source_errors(spec: Object, name: str, path: Path, inline: bool) -> list[FieldError]:
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
        errors += validate_iscsi(source, name, here) if field == "iscsi" else check(source, here)
        # Inline volumes cannot have an affinity, so it does not count for them.
        if field == "local" and (inline or spec.get("nodeAffinity") is None):
            errors.append(required(path.child("nodeAffinity"), "Local volume requires node affinity"))
    return errors if chosen else [*errors, required(path, "must specify a volume type")]


def _class_and_mode_errors(spec: Object, path: Path, inline: bool) -> list[FieldError]:
    errors = []
    name, here = spec.get("storageClassName", ""), path.child("storageClassName")
    if name and inline:
        errors.append(forbidden(here, "may not be specified in the context of inline volumes"))
    elif name:
        errors += invalids(here, name, is_dns1123_subdomain(name))
    mode, here = spec.get("volumeMode"), path.child("volumeMode")
    if mode is not None and inline and mode != "Filesystem":
        detail = "may not specify volumeMode other than Filesystem in the context of inline volumes"
        errors.append(forbidden(here, detail))
    elif mode is not None and not inline and mode not in _VOLUME_MODES:
        errors.append(not_supported(here, mode, _VOLUME_MODES))
    attributes, here = spec.get("volumeAttributesClassName"), path.child("volumeAttributesClassName")
    if attributes is None:
        return errors
    if attributes:
        errors += invalids(here, attributes, is_dns1123_subdomain(attributes))
    else:
        errors.append(required(here, "an empty string is disallowed"))
    if spec.get("csi") is None:
        detail = "has to be specified when using volumeAttributesClassName"
        errors.append(required(path.child("csi"), detail))
    return errors


def _update_volume(new: Object, old: Object) -> list[FieldError]:
    """The new volume is looked at twice, with and without its past, and reported twice too."""
    odd_labels = _has_odd_labels(old["spec"])
    errors = _volume_errors(new, odd_labels=odd_labels)
    errors += _mount_option_errors(new)
    errors += _volume_errors(new, odd_labels=odd_labels)
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


def _volume_status(new: Object, old: Object) -> list[FieldError]:
    return [] if new["metadata"].get("resourceVersion") else [required(Path("resourceVersion"))]


# --- PersistentVolumeClaim


@dataclass(frozen=True, slots=True)
class _Tolerance:
    """What the claim being replaced held already and may therefore stay, wrong as it is."""

    odd_label_values: bool = False
    odd_api_groups: bool = False


def validate_claim_spec(spec: Object, path: Path) -> list[FieldError]:
    """What is wrong with the spec of a claim, also of one made from a template."""
    return _claim_spec_errors(spec, path, _Tolerance())


def _create_claim(claim: Object) -> list[FieldError]:
    return validate_claim_spec(claim["spec"], _SPEC)


def _claim_spec_errors(spec: Object, path: Path, tolerance: _Tolerance) -> list[FieldError]:
    modes = spec.get("accessModes") or []
    errors = []
    if not modes:
        errors.append(required(path.child("accessModes"), "at least 1 access mode is required"))
    errors += validate_label_selector(
        spec.get("selector"), path.child("selector"), allow_invalid_values=tolerance.odd_label_values
    )
    errors += _access_mode_errors(modes, path.child("accessModes"))
    amount = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    here = path.child("resources").key("storage")
    if amount is None:
        errors.append(required(here))
    else:
        errors += _positive_amount_errors(amount, here) or validate_amount("storage", amount, here)
    name = spec.get("storageClassName") or ""
    if name:
        errors += invalids(path.child("storageClassName"), name, is_dns1123_subdomain(name))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in _VOLUME_MODES:
        errors.append(not_supported(path.child("volumeMode"), mode, _VOLUME_MODES))
    errors += _data_source_errors(spec, path, tolerance)
    attributes = spec.get("volumeAttributesClassName") or ""
    if attributes:
        here = path.child("volumeAttributesClassName")
        errors += invalids(here, attributes, is_dns1123_subdomain(attributes))
    return errors


def _data_source_errors(spec: Object, path: Path, tolerance: _Tolerance) -> list[FieldError]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    errors = []
    if source is not None:
        errors += _origin_errors(source, path.child("dataSource"), tolerance)
    if reference is None:
        return errors
    here = path.child("dataSourceRef")
    errors += _origin_errors(reference, here, tolerance)
    namespace = reference.get("namespace") or ""
    if namespace:
        errors += invalids(here.child("namespace"), namespace, is_dns1123_label(namespace))
    # The value in these messages is always empty: Kubernetes shows a path, which prints as nothing.
    if source is not None and namespace:
        errors.append(invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified"))
    elif source is not None and any(
        source.get(field) != reference.get(field) for field in ("apiGroup", "kind", "name")
    ):
        errors.append(invalid(path, {}, "must match dataSourceRef"))
    return errors


def _origin_errors(reference: Object, path: Path, tolerance: _Tolerance) -> list[FieldError]:
    errors = [required(path.child(field)) for field in ("name", "kind") if not reference.get(field)]
    group, kind = reference.get("apiGroup") or "", reference.get("kind", "")
    if not group and kind != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid(path, kind, detail))
    if group and not tolerance.odd_api_groups:
        errors += invalids(path.child("apiGroup"), group, is_dns1123_subdomain(group))
    return errors


def _update_claim(new: Object, old: Object) -> list[FieldError]:
    spec, before = new["spec"], old["spec"]
    errors = _claim_spec_errors(spec, _SPEC, _tolerance_of(before))
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


def _tolerance_of(before: Object) -> _Tolerance:
    origins = (before.get("dataSource") or {}, before.get("dataSourceRef") or {})
    return _Tolerance(
        odd_label_values=bool(validate_label_selector(before.get("selector"), Path())),
        odd_api_groups=any(origin.get("apiGroup") is not None for origin in origins),
    )


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


def _claim_status(new: Object, old: Object) -> list[FieldError]:
    status = new.get("status") or {}
    errors = [] if new["metadata"].get("resourceVersion") else [required(Path("resourceVersion"))]
    if not new["spec"].get("accessModes"):
        errors.append(required(Path("Spec").child("accessModes")))
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


RULES: Final = {
    ("", "PersistentVolume"): Rules(create=_create_volume, update=_update_volume, status=_volume_status),
    ("", "PersistentVolumeClaim"): Rules(create=_create_claim, update=_update_claim, status=_claim_status),
}
