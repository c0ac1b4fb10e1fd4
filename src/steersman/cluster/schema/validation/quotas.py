"""Validation of ResourceQuotas and LimitRanges: what rules.txt cannot say about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from steersman.cluster.schema.validation.internal_values import as_internal
from steersman.cluster.schema.validation.resource_names import (
    is_overcommit_allowed,
    is_quota_resource,
    validate_container_resource_name,
    validate_quota_amounts,
    validate_resource_name,
)
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, duplicate, forbidden, invalid, required
from steersman.objects.kinds import Object
from steersman.objects.names import is_label_key
from steersman.objects.quantities import Quantity

__all__ = [
    "validate_limits",
    "validate_quota_amounts",
    "validate_quota_spec",
    "validate_same_scopes",
]

_SPEC: Final = Path("spec")
_COMPUTE: Final = frozenset(
    {f"{side}{name}" for side in ("", "requests.", "limits.") for name in ("cpu", "memory")}
)
_POD_RESOURCES: Final = _COMPUTE | {"pods"}

#: The resources a quota with this scope can count.
_SCOPES: Final[Mapping[str, frozenset[str]]] = {
    "Terminating": _POD_RESOURCES,
    "NotTerminating": _POD_RESOURCES,
    "BestEffort": frozenset({"pods"}),
    "NotBestEffort": _POD_RESOURCES,
    "PriorityClass": _POD_RESOURCES,
    "CrossNamespacePodAffinity": _POD_RESOURCES,
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
#: Scopes that take no values: a pod is in them or it is not.
_VALUELESS: Final = frozenset(_SCOPES) - {"PriorityClass", "VolumeAttributesClass"}
_CONFLICTS: Final = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_EXISTS_ONLY: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
    "ResourceQuotaScopeCrossNamespacePodAffinity"
)


# --- ResourceQuota


def validate_quota_spec(spec: Object, path: Path) -> list[FieldError]:
    errors = validate_quota_amounts(spec.get("hard"), path.child("hard"))
    errors += _scopes_errors(spec)
    if spec.get("scopeSelector") is not None:
        errors += _scope_selector_errors(spec)
    return errors


def validate_same_scopes(new: Object, path: Path, old: Object) -> list[FieldError]:
    scopes = new["spec"].get("scopes")
    if set(scopes or []) == set(old["spec"].get("scopes") or []):
        return []
    return [invalid(path.child("spec", "scopes"), scopes, "field is immutable")]


def _countable(spec: Object) -> list[str]:
    return sorted(name for name in spec.get("hard") or {} if is_quota_resource(name))


def _scopes_errors(spec: Object) -> list[FieldError]:
    scopes = spec.get("scopes") or []
    path = _SPEC.child("scopes")
    errors = []
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(invalid(path, scopes, "unsupported scope"))
        errors += [invalid(path, scopes, "unsupported scope applied to resource")] * _misfits(spec, scope)
    return errors + _conflict_errors(scopes, scopes, path)


def _misfits(spec: Object, scope: str) -> int:
    """How many of the quota's resources have no meaning in this scope."""
    allowed = _SCOPES.get(scope)
    return 0 if allowed is None else sum(name not in allowed for name in _countable(spec))


def _conflict_errors(scopes: Iterable[str], shown: list[str] | None, path: Path) -> list[FieldError]:
    present = set(scopes)
    return [invalid(path, shown, "conflicting scopes") for pair in _CONFLICTS if pair <= present]


def _scope_selector_errors(spec: Object) -> list[FieldError]:
    selector: Object = spec["scopeSelector"]
    path = _SPEC.child("scopeSelector", "matchExpressions")
    requirements = selector.get("matchExpressions") or []
    errors = []
    for requirement in requirements:
        scope = requirement.get("scopeName", "")
        if scope not in _SCOPES:
            errors.append(invalid(path.child("scopeName"), scope, "unsupported scope"))
        unfit = invalid(path, _internal_selector(selector), "unsupported scope applied to resource")
        errors += [unfit] * _misfits(spec, scope)
        operator, values = requirement.get("operator", ""), requirement.get("values")
        if scope in _VALUELESS and operator != "Exists":
            errors.append(invalid(path.child("operator"), operator, _EXISTS_ONLY))
        if operator in ("In", "NotIn"):
            if not values:
                detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                errors.append(required(path.child("values"), detail))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                errors.append(invalid(path.child("values"), values, detail))
        else:
            errors.append(invalid(path.child("operator"), operator, "not a valid selector operator"))
    names = [requirement.get("scopeName", "") for requirement in requirements]
    # What is shown is the other field of scopes, most often null.
    return errors + _conflict_errors(names, spec.get("scopes"), path)


def _internal_selector(selector: Object) -> Object:
    """The selector as the internal type prints it, which is what messages show."""
    return {"MatchExpressions": [as_internal(item, _REQUIREMENT) for item in selector["matchExpressions"]]}


_REQUIREMENT: Final = (
    ("scopeName", "ScopeName", ""),
    ("operator", "Operator", ""),
    ("values", "Values", None),
)


# --- LimitRange


def validate_limits(limits: list[Object], path: Path) -> list[FieldError]:
    errors = []
    types: set[str] = set()
    for index, limit in enumerate(limits):
        kind, here = limit.get("type", ""), path.index(index)
        errors += _limit_type_errors(kind, here.child("type"))
        if kind in types:
            errors.append(duplicate(here.child("type"), kind))
        types.add(kind)
        errors += _limit_errors(limit, kind, here)
    return errors


def _limit_type_errors(kind: str, path: Path) -> list[FieldError]:
    found = is_label_key(kind)
    if found:
        return invalids(path, kind, found)
    if "/" in kind or kind in ("Pod", "Container", "PersistentVolumeClaim"):
        return []
    return [invalid(path, kind, "must be a standard limit type or fully qualified")]


def _limit_errors(limit: Object, kind: str, path: Path) -> list[FieldError]:
    amounts: dict[str, dict[str, Quantity]] = {}
    errors = []
    name_errors = validate_container_resource_name if kind in ("Pod", "Container") else validate_resource_name
    for field in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        given = limit.get(field) or {}
        if field == "maxLimitRequestRatio" and kind == "PersistentVolumeClaim":
            errors += _claim_limit_errors(limit, path)
        if kind == "Pod" and field.startswith("default"):
            if given:
                errors.append(forbidden(path.child(field), "may not be specified when `type` is 'Pod'"))
            continue
        amounts[field] = {name: Quantity.parse(given[name]) for name in sorted(given)}
        for name in amounts[field]:
            errors += name_errors(name, path.child(field).key(name))
    for name in sorted({name for by_name in amounts.values() for name in by_name}):
        errors += _consistency_errors(name, {field: amounts[field].get(name) for field in amounts}, path)
    return errors


def _claim_limit_errors(limit: Object, path: Path) -> list[FieldError]:
    if any("storage" in (limit.get(field) or {}) for field in ("min", "max")):
        return []
    detail = "either minimum or maximum storage value is required, but neither was provided"
    return [required(path.child("limits"), detail)]


_NAMES: Final = {
    "min": "min value",
    "max": "max value",
    "default": "default value",
    "defaultRequest": "default request value",
}
#: Pairs of fields of which the first may not be greater, the field such an error is of, and which amount
#: it shows.
_ORDER: Final = (
    ("min", "max", "min", "min"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "default", "defaultRequest", "defaultRequest"),
    ("min", "default", "default", "min"),
    ("default", "max", "default", "max"),
)


def _consistency_errors(name: str, amounts: Mapping[str, Quantity | None], path: Path) -> list[FieldError]:
    """What is wrong with the amounts of one resource taken together."""
    errors = []
    for small, great, field, shown in _ORDER:
        less, more = amounts.get(small), amounts.get(great)
        if less is not None and more is not None and less > more:
            limit = (
                "default limit value" if small == "defaultRequest" and great == "default" else _NAMES[great]
            )
            detail = f"{_NAMES[small]} {less} is greater than {limit} {more}"
            errors.append(invalid(path.child(field).key(name), str(amounts[shown]), detail))
    errors += _ratio_errors(amounts, path.child("maxLimitRequestRatio").key(name))
    default, request = amounts.get("default"), amounts.get("defaultRequest")
    if default is not None and request is not None and default != request and not is_overcommit_allowed(name):
        detail = f"default value {default} must equal to defaultRequest value {request} in {name}"
        errors.append(invalid(path.child("defaultRequest").key(name), str(request), detail))
    return errors


#: Amounts from here on are compared in whole units, since thousandths would not fit 64 bits.
_MAX_MILLI: Final = (2**63 - 1) // 1000


def _ratio_errors(amounts: Mapping[str, Quantity | None], path: Path) -> list[FieldError]:
    ratio, low, high = (amounts.get(field) for field in ("maxLimitRequestRatio", "min", "max"))
    if ratio is None:
        return []
    errors = []
    if ratio < Quantity(1):
        errors.append(invalid(path, str(ratio), f"ratio {ratio} is less than 1"))
    if low is None or high is None:
        return errors
    if max(ratio.value, low.value, high.value) < _MAX_MILLI:
        asked, numerator, denominator = ratio.milli_value / 1000, high.milli_value, low.milli_value
    else:
        asked, numerator, denominator = float(ratio.value), high.value, low.value
    # No minimum means no limit, as dividing by zero does in Go.
    if denominator and asked > numerator / denominator:
        limit = numerator / denominator
        errors.append(invalid(path, str(ratio), f"ratio {ratio} is greater than max/min = {limit:f}"))
    return errors
