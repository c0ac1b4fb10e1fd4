"""Validation of storage.k8s.io: classes, drivers, their nodes, attachments and capacities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from steersman.cluster.schema.validation.internal_values import Shape, as_internal
from steersman.cluster.schema.validation.pods.volume_sources import validate_csi_driver_name
from steersman.cluster.schema.validation.rules import Object, Revalidation, Rules, invalids
from steersman.cluster.schema.validation.storage_core import validate_volume_spec
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
    too_long_text,
    too_many,
)
from steersman.objects.metadata import (
    validate_immutable,
    validate_label_name,
    validate_label_selector,
    validate_nonnegative,
)
from steersman.objects.names import (
    is_condition_reason,
    is_dns1123_subdomain,
    is_dns1123_subdomain_caseless,
    is_qualified_name,
    range_message,
)
from steersman.objects.quantities import Quantity

__all__ = ["RULES"]

_GROUP: Final = "storage.k8s.io"
_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_MOST_PARAMETERS: Final = 512
_LARGEST_MAP: Final = 256 * 1024
_LONGEST_ERROR: Final = 1024
_LONGEST_NODE_ID: Final = 256
_LONGEST_DRIVER: Final = 63
_RECLAIM_POLICIES: Final = ("Delete", "Retain")
_BINDING_MODES: Final = ("Immediate", "WaitForFirstConsumer")
_LIFECYCLE_MODES: Final = ("Persistent", "Ephemeral")
_FS_GROUP_POLICIES: Final = ("File", "None", "ReadWriteOnceWithFSType")
_IMMUTABLE: Final = "field is immutable"


def _size(entries: Mapping[str, str]) -> int:
    return sum(len(key.encode()) + len(value.encode()) for key, value in entries.items())


# --- Storage classes and volume attributes classes


def _storage_class(obj: Object) -> list[FieldError]:
    errors = _provisioner(obj.get("provisioner", ""), Path("provisioner"))
    errors += _parameters(obj.get("parameters") or {}, Path("parameters"))
    reclaim, mode = obj.get("reclaimPolicy"), obj.get("volumeBindingMode")
    if reclaim and reclaim not in _RECLAIM_POLICIES:
        errors.append(not_supported(Path("reclaimPolicy"), reclaim, _RECLAIM_POLICIES))
    if mode is not None and mode not in _BINDING_MODES:
        errors.append(not_supported(Path("volumeBindingMode"), mode, _BINDING_MODES))
    return errors + _topologies(obj.get("allowedTopologies") or [], Path("allowedTopologies"))


def _provisioner(name: str, path: Path) -> list[FieldError]:
    lower = name.lower()
    return invalids(path, lower, is_qualified_name(lower)) if name else []


def _parameters(parameters: Mapping[str, str], path: Path) -> list[FieldError]:
    if len(parameters) > _MOST_PARAMETERS:
        return [too_long(path, _MOST_PARAMETERS)]
    errors = [invalid(path, "", "field can not be empty.")] if "" in parameters else []
    if _size(parameters) > _LARGEST_MAP:
        errors.append(too_long(path, _LARGEST_MAP))
    return errors


def _topologies(terms: list[Object], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    # Kubernetes starts with as many empty terms as there are terms, so that an empty one repeats each.
    seen: list[dict[str, set[str]] | None] = [None] * len(terms)
    for number, term in enumerate(terms):
        at = path.index(number).child("matchLabelExpressions")
        meaning, wrong = _topology_term(term, at)
        errors += wrong
        errors += [duplicate(at, "") for other in seen if (other or {}) == meaning]
        seen.append(meaning)
    return errors


def _topology_term(term: Object, path: Path) -> tuple[dict[str, set[str]], list[FieldError]]:
    meaning: dict[str, set[str]] = {}
    errors: list[FieldError] = []
    for number, requirement in enumerate(term.get("matchLabelExpressions") or ()):
        at = path.index(number)
        key, values = requirement.get("key", ""), requirement.get("values") or []
        if not values:
            errors.append(required(at.child("values")))
        unique: set[str] = set()
        for position, value in enumerate(values):
            if value in unique:
                errors.append(duplicate(at.child("values").index(position), value))
            unique.add(value)
        errors += validate_label_name(key, at.child("key"))
        if key in meaning:
            errors.append(duplicate(at.child("key"), key))
        meaning[key] = unique
    return meaning, errors


def _declared_of_class(obj: Object, old: Object | None) -> list[FieldError]:
    if old is None:
        return [] if obj.get("provisioner") else [required(Path("provisioner"))]
    errors = []
    for field in ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"):
        if obj.get(field) != old.get(field):
            if field == "provisioner" and not obj.get(field):
                errors.append(required(Path(field)))
            errors.append(invalid(Path(field), None, _IMMUTABLE))
    return errors


def _attributes_class(obj: Object) -> list[FieldError]:
    name, parameters = obj.get("driverName", ""), obj.get("parameters") or {}
    errors = [] if name else [required(Path("driverName"))]
    errors += _provisioner(name, Path("driverName"))
    errors += _parameters(parameters, Path("parameters"))
    if not parameters:
        errors.append(required(Path("parameters"), "must contain at least one key/value pair"))
    return errors


def _attributes_class_update(obj: Object, old: Object) -> list[FieldError]:
    return [
        forbidden(Path(field), f"updates to {field} are forbidden.")
        for field in ("driverName", "parameters")
        if obj.get(field) != old.get(field)
    ]


# --- Attachments


def _attachment(obj: Object) -> list[FieldError]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    source, node = spec.get("source") or {}, spec.get("nodeName", "")
    errors = _attachment_source(source, _SPEC.child("source"))
    errors += invalids(_SPEC.child("nodeName"), node, is_dns1123_subdomain(node))
    if _size(status.get("attachmentMetadata") or {}) > _LARGEST_MAP:
        errors.append(too_long(_STATUS.child("attachmentMetadata"), _LARGEST_MAP))
    for field in ("attachError", "detachError"):
        errors += _volume_error(status.get(field) or {}, _STATUS.child(field))
    volume = source.get("persistentVolumeName")
    if volume is not None:
        path = _SPEC.child("source", "persistentVolumeName")
        errors += invalids(path, volume, is_dns1123_subdomain(volume))
    return errors


def _attachment_source(source: Object, path: Path) -> list[FieldError]:
    inline, volume = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if inline is None and volume is None:
        return [required(path, text)]
    if inline is not None and volume is not None:
        return [forbidden(path, text)]
    if volume == "":
        return [required(path.child("persistentVolumeName"), "must specify non empty persistentVolumeName")]
    if inline is not None:
        return validate_volume_spec(inline, "", path.child("inlineVolumeSpec"), inline=True)
    return []


def _volume_error(error: Object, path: Path) -> list[FieldError]:
    errors = []
    if len(error.get("message", "").encode()) > _LONGEST_ERROR:
        errors.append(too_long(path.child("message"), _LONGEST_ERROR))
    code = error.get("errorCode")
    if code is not None and code < 0:
        errors.append(invalid(path.child("errorCode"), code, range_message(0, 2**31 - 1)))
    return errors


def _attachment_update(obj: Object, old: Object) -> list[FieldError]:
    """The declared rules of the attacher are not asked about a spec that may not change anyway."""
    spec = obj.get("spec") or {}
    if spec == (old.get("spec") or {}):
        return []
    return validate_csi_driver_name(spec.get("attacher", ""), _SPEC.child("attacher"))


def _declared_of_attachment(obj: Object, old: Object | None) -> list[FieldError]:
    spec = obj.get("spec") or {}
    if old is not None:
        return [] if spec == (old.get("spec") or {}) else [invalid(_SPEC, None, _IMMUTABLE)]
    path, attacher = _SPEC.child("attacher"), spec.get("attacher", "")
    if not attacher:
        return [required(path)]
    errors = invalids(path, attacher, is_dns1123_subdomain_caseless(attacher))
    if len(attacher) > _LONGEST_DRIVER:
        errors.append(too_long_text(path, _LONGEST_DRIVER))
    return errors


# --- Drivers and the nodes they run on


def _driver(obj: Object) -> list[FieldError]:
    spec = obj.get("spec") or {}
    errors: list[FieldError] = []
    policy = spec.get("fsGroupPolicy")
    if policy is not None and policy not in _FS_GROUP_POLICIES:
        errors.append(not_supported(_SPEC.child("fsGroupPolicy"), policy, _FS_GROUP_POLICIES))
    errors += _token_requests(spec.get("tokenRequests") or (), _SPEC.child("tokenRequests"))
    for mode in spec.get("volumeLifecycleModes") or ():
        if mode not in _LIFECYCLE_MODES:
            errors.append(not_supported(_SPEC.child("volumeLifecycleModes"), mode, _LIFECYCLE_MODES))
    period, in_secrets = (
        spec.get("nodeAllocatableUpdatePeriodSeconds"),
        spec.get("serviceAccountTokenInSecrets"),
    )
    if period is not None and period < 10:
        path = _SPEC.child("nodeAllocatableUpdatePeriodSeconds")
        errors.append(invalid(path, period, "must be greater than or equal to 10 seconds"))
    if in_secrets is not None and not spec.get("tokenRequests"):
        text = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        errors.append(invalid(_SPEC.child("serviceAccountTokenInSecrets"), in_secrets, text))
    return errors


def _token_requests(requests: Any, path: Path) -> list[FieldError]:
    errors = []
    audiences: set[str] = set()
    for number, request in enumerate(requests):
        audience, seconds = request.get("audience", ""), request.get("expirationSeconds")
        if audience in audiences:
            errors.append(duplicate(path.index(number).child("audience"), audience))
            continue
        audiences.add(audience)
        at = path.index(number).child("expirationSeconds")
        if seconds is not None and seconds < 600:
            errors.append(invalid(at, seconds, "may not specify a duration less than 10 minutes"))
        if seconds is not None and seconds > 1 << 32:
            errors.append(invalid(at, seconds, "may not specify a duration larger than 2^32 seconds"))
    return errors


def _driver_update(obj: Object, old: Object) -> list[FieldError]:
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    errors = _driver(obj)
    for field, shown in (
        ("attachRequired", "attachedRequired"),
        ("volumeLifecycleModes", "volumeLifecycleModes"),
    ):
        errors += validate_immutable(spec.get(field), before.get(field), _SPEC.child(shown))
    return errors


_NODE_DRIVER_SHAPE: Final[Shape] = (
    ("name", "Name", ""),
    ("nodeID", "NodeID", ""),
    ("topologyKeys", "TopologyKeys", None),
    ("-", "Allocatable", None),
)


def _node(obj: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for number, driver in enumerate((obj.get("spec") or {}).get("drivers") or ()):
        errors += _node_driver(driver, names, _SPEC.child("drivers").index(number))
    return errors


def _node_driver(driver: Object, names: set[str], path: Path) -> list[FieldError]:
    name, node_id = driver.get("name", ""), driver.get("nodeID", "")
    errors = validate_csi_driver_name(name, path.child("name"))
    if not node_id:
        errors.append(required(path.child("nodeID")))
    if len(node_id) > _LONGEST_NODE_ID:
        errors.append(
            invalid(path.child("nodeID"), node_id, f"must be {_LONGEST_NODE_ID} characters or less")
        )
    count = (driver.get("allocatable") or {}).get("count")
    if count is not None:
        errors += validate_nonnegative(count, path.child("allocatable", "count"))
    if name in names:
        errors.append(duplicate(path.child("name"), name))
    names.add(name)
    keys: set[str] = set()
    for key in driver.get("topologyKeys") or ():
        if not key:
            errors.append(required(path))
        if key in keys:
            errors.append(duplicate(path, key))
        keys.add(key)
        errors += invalids(path, key, is_qualified_name(key))
    return errors


def _node_update(obj: Object, old: Object) -> list[FieldError]:
    new = {driver.get("name"): driver for driver in (obj.get("spec") or {}).get("drivers") or ()}
    errors = []
    for driver in (old.get("spec") or {}).get("drivers") or ():
        # How many volumes a driver can take may change; who it is may not.
        before = as_internal(driver, _NODE_DRIVER_SHAPE)
        after = as_internal(new.get(driver.get("name")), _NODE_DRIVER_SHAPE)
        if after is not None and after != before:
            errors.append(invalid(_SPEC.child("drivers"), after, _IMMUTABLE))
    return errors


_HEALTH_STATUSES: Final = ("StorageDegraded", "StorageUnreachable")
_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES: Final = ("Filesystem", "Block")
_MOST_HEALTH_CONDITIONS: Final = 16


def _node_status(obj: Object, old: Object) -> list[FieldError]:
    path = _STATUS.child("storageHealth")
    errors: list[FieldError] = []
    seen: set[str] = set()
    for number, health in enumerate((obj.get("status") or {}).get("storageHealth") or ()):
        name, at = health.get("name", ""), path.index(number)
        if name in seen:
            errors.append(duplicate(at, name))
        seen.add(name)
        errors += validate_csi_driver_name(name, at.child("name"))
        conditions = health.get("healthConditions") or ()
        if len(conditions) > _MOST_HEALTH_CONDITIONS:
            errors.append(too_many(at.child("healthConditions"), len(conditions), _MOST_HEALTH_CONDITIONS))
            continue
        for position, condition in enumerate(conditions):
            errors += _health_condition(condition, at.child("healthConditions").index(position))
    return errors


def _health_condition(condition: Object, path: Path) -> list[FieldError]:
    status, reason = condition.get("status", ""), condition.get("reason", "")
    errors: list[FieldError] = []
    if status not in _HEALTH_STATUSES:
        errors.append(not_supported(path.child("status"), status, _HEALTH_STATUSES))
    if not reason:
        errors.append(required(path.child("reason")))
    else:
        errors += invalids(path.child("reason"), reason, is_condition_reason(reason))
        if len(reason) > 256:
            errors.append(too_long(path.child("reason"), 256))
    if len(condition.get("message", "")) > 1024:
        errors.append(too_long(path.child("message"), 1024))
    for field, allowed in (("accessMode", _ACCESS_MODES), ("volumeMode", _VOLUME_MODES)):
        value = condition.get(field)
        if value is not None and value not in allowed:
            errors.append(not_supported(path.child(field), value, allowed))
    return errors


# --- Capacities


def _capacity(obj: Object) -> list[FieldError]:
    name, capacity = obj.get("storageClassName", ""), obj.get("capacity")
    errors = validate_label_selector(obj.get("nodeTopology"), Path("nodeTopology"))
    errors += invalids(Path("storageClassName"), name, is_dns1123_subdomain(name))
    if capacity is not None and Quantity.parse(capacity).sign < 0:
        errors.append(invalid(Path("capacity"), capacity, "must be greater than or equal to 0"))
    return errors


def _capacity_update(obj: Object, old: Object) -> list[FieldError]:
    errors = validate_immutable(obj.get("nodeTopology"), old.get("nodeTopology"), Path("nodeTopology"))
    name, before = obj.get("storageClassName", ""), old.get("storageClassName", "")
    return errors + validate_immutable(name, before, Path("storageClassName"))


RULES: Final = {
    (_GROUP, "StorageClass"): Rules(
        create=_storage_class, late=_declared_of_class, revalidation=Revalidation.BEFORE
    ),
    (_GROUP, "VolumeAttributesClass"): Rules(
        create=_attributes_class, update=_attributes_class_update, revalidation=Revalidation.AFTER
    ),
    (_GROUP, "VolumeAttachment"): Rules(
        create=_attachment,
        update=_attachment_update,
        late=_declared_of_attachment,
        revalidation=Revalidation.BEFORE,
    ),
    (_GROUP, "CSIDriver"): Rules(create=_driver, update=_driver_update),
    (_GROUP, "CSINode"): Rules(
        create=_node, update=_node_update, status=_node_status, revalidation=Revalidation.BEFORE
    ),
    (_GROUP, "CSIStorageCapacity"): Rules(
        create=_capacity, update=_capacity_update, revalidation=Revalidation.BEFORE
    ),
}
