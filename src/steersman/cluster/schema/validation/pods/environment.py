"""Environment variables of containers, and the references to fields and resources they share with volumes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman.cluster.schema.validation.compiled import compiled_check
from steersman.cluster.schema.validation.pods.paths import validate_no_backsteps
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, invalid, not_supported, required
from steersman.objects.kinds import Object
from steersman.objects.names import is_label_key, name_is_dns_subdomain
from steersman.objects.quantities import Quantity

__all__ = [
    "ENV_FIELDS",
    "VOLUME_FIELDS",
    "validate_env_field",
    "validate_env_from",
    "validate_env_resource",
    "validate_field_selector",
    "validate_name_prefix",
    "validate_no_backsteps",
    "validate_resource_field_selector",
    "validate_value_from",
]

ENV_FIELDS: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
VOLUME_FIELDS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_validate_source = compiled_check("core.v1.EnvVarSource")
_validate_env_source = compiled_check("core.v1.EnvFromSource")
_KNOWN_FIELDS: Final = frozenset(
    {*ENV_FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase", "spec.host"}
)
_RESOURCES: Final = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES: Final = ("requests.hugepages-", "limits.hugepages-")
_CPU_DIVISORS: Final[tuple[str, ...]] = ("1m", "1")
_SIZE_DIVISORS: Final[tuple[str, ...]] = (
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
)  # fmt: skip
_SIZES_SHOWN: Final = ", ".join(_SIZE_DIVISORS)


def validate_value_from(variable: Object, path: Path) -> list[FieldError]:
    """One source, and no value beside it."""
    source, path = variable["valueFrom"], path.child("valueFrom")
    errors = _validate_source(source, path)
    count = sum(source.get(key) is not None for key in _SOURCES)
    if count == 0:
        names = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        errors.append(invalid(path, "", f"must specify one of: {names}"))
    elif variable.get("value"):
        errors.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif count > 1:
        errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors


def validate_env_from(sources: list[Object], path: Path) -> list[FieldError]:
    """Kubernetes names the list, not the item, when an item has no source or two."""
    errors: list[FieldError] = []
    for number, source in enumerate(sources):
        errors += _validate_env_source(source, path.index(number))
        count = sum(source.get(key) is not None for key in ("configMapRef", "secretRef"))
        if count == 0:
            errors.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif count > 1:
            errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors


def validate_name_prefix(name: str, path: Path) -> list[FieldError]:
    return invalids(path, name, name_is_dns_subdomain(name, True))


def validate_field_selector(selector: Object, allowed: Iterable[str], path: Path) -> list[FieldError]:
    """A reference to a field of the pod itself."""
    version, field = selector.get("apiVersion"), selector.get("fieldPath", "")
    if not version:
        return [required(path.child("apiVersion"))]
    if not field:
        return [required(path.child("fieldPath"))]
    base, subscript = _subscripted(field)
    problem = ""
    if version != "v1":
        problem = f"unsupported pod version: {version}"
    elif subscript is not None and base not in ("metadata.annotations", "metadata.labels"):
        problem = f"field label does not support subscript: {field}"
    elif subscript is None and field not in _KNOWN_FIELDS:
        problem = f"field label not supported: {field}"
    if problem:
        return [invalid(path.child("fieldPath"), field, f"error converting fieldPath: {problem}")]
    if subscript is not None:
        name = subscript.lower() if base == "metadata.annotations" else subscript
        return invalids(path, name, is_label_key(name))
    if base == "spec.host":
        base = "spec.nodeName"
    allowed = sorted(allowed)
    return [] if base in allowed else [not_supported(path.child("fieldPath"), base, allowed)]


def _subscripted(field: str) -> tuple[str, str | None]:
    """`metadata.labels['app']` as its path and key; a plain path has no key."""
    base, bracket, key = field.removesuffix("']").partition("['")
    return (base, key) if field.endswith("']") and bracket and base else (field, None)


def validate_resource_field_selector(selector: Object, path: Path, *, in_volume: bool) -> list[FieldError]:
    """A reference to a resource of a container; a volume must say which container."""
    errors: list[FieldError] = []
    resource = selector.get("resource", "")
    if in_volume and not selector.get("containerName"):
        errors.append(required(path.child("containerName")))
    elif not resource:
        errors.append(required(path.child("resource")))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        errors.append(not_supported(path.child("resource"), resource, _RESOURCES))
    return errors + _validate_divisor(resource, selector.get("divisor", "0"), path)


def _validate_divisor(resource: str, divisor: str, path: Path) -> list[FieldError]:
    if not Quantity.parse(divisor):
        return []
    if resource.endswith(".cpu"):
        allowed, shown, kind = _CPU_DIVISORS, "1m and 1", "cpu"
    elif resource.endswith(".memory"):
        allowed, shown, kind = _SIZE_DIVISORS, _SIZES_SHOWN, "memory"
    elif resource.endswith(".ephemeral-storage"):
        allowed, shown, kind = _SIZE_DIVISORS, _SIZES_SHOWN, "local ephemeral storage"
    elif resource.startswith(_HUGE_PAGES):
        allowed, shown, kind = _SIZE_DIVISORS, _SIZES_SHOWN, "hugepages"
    else:
        return []
    if divisor in allowed:
        return []
    text = f"only divisor's values {shown} are supported with the {kind} resource"
    return [invalid(path.child("divisor"), resource, text)]


def validate_env_field(selector: Object, path: Path) -> list[FieldError]:
    return validate_field_selector(selector, ENV_FIELDS, path)


def validate_env_resource(selector: Object, path: Path) -> list[FieldError]:
    return validate_resource_field_selector(selector, path, in_volume=False)
