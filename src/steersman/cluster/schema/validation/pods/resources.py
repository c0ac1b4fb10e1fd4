"""Resources that containers and pods ask for: names, amounts, limits, and claims of devices."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.amounts import Amounts
from steersman.objects.errors import QuantityError
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from steersman.objects.kinds import Object
from steersman.objects.names import is_dns1123_label, is_label_key
from steersman.objects.pods import container_totals
from steersman.objects.quantities import Quantity

__all__ = [
    "ResourceList",
    "validate_amount",
    "validate_container_resource_name",
    "validate_container_resources",
    "validate_pod_resources",
    "validate_resource_name",
]

ResourceList = dict[str, str]
_NameRule = Callable[[str, Path], list[FieldError]]

_COMPUTE: Final = ("cpu", "ephemeral-storage", "memory")
_COUNTED: Final = frozenset(
    {
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    }
)
_STANDARD: Final = frozenset(
    {
        *_COMPUTE,
        *(f"{side}.{name}" for side in ("requests", "limits") for name in _COMPUTE),
        *_COUNTED,
        "storage",
        "requests.storage",
    }
)
_POD_LEVEL: Final = ("cpu", "memory")
_HUGE_PAGES: Final = "hugepages-"


def validate_container_resources(
    requirements: Object, claim_names: Collection[str], path: Path
) -> list[FieldError]:
    """`claim_names` are those of the pod's `resourceClaims`."""
    if not requirements:
        return []
    return _validate_requirements(requirements, validate_container_resource_name, claim_names, path)


def _validate_requirements(
    requirements: Object, name_rule: _NameRule, claim_names: Collection[str], path: Path
) -> list[FieldError]:
    errors: list[FieldError] = []
    limits: ResourceList = requirements.get("limits") or {}
    requests: ResourceList = requirements.get("requests") or {}
    for name, amount in limits.items():
        if not _is_plain(name, amount):
            errors += _validate_entry(name, amount, name_rule, path.child("limits").key(name))
    for name, amount in requests.items():
        plain = _is_plain(name, amount)
        if not plain:
            errors += name_rule(name, path.child("requests").key(name))
            errors += validate_amount(name, amount, path.child("requests").key(name))
        if amount != limits.get(name) or not plain:
            errors += _validate_request(name, amount, limits.get(name), path)
        if name.startswith(_HUGE_PAGES):
            errors += _validate_huge_pages(name, amount, path.child("requests").key(name))
    names = {*limits, *requests}
    if any(name.startswith(_HUGE_PAGES) for name in names) and not names & {"cpu", "memory"}:
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    if claims := requirements.get("claims"):
        errors += _validate_claims(claims, claim_names, path.child("claims"))
    return errors


def _is_plain(name: str, amount: str) -> bool:
    """The common case that needs no further look: allowed everywhere, and an amount without a sign."""
    return name in _POD_LEVEL and not amount.startswith("-")


def _validate_entry(name: str, amount: str, name_rule: _NameRule, path: Path) -> list[FieldError]:
    errors = name_rule(name, path) + validate_amount(name, amount, path)
    if name.startswith(_HUGE_PAGES):
        errors += _validate_huge_pages(name, amount, path)
    return errors


def _validate_request(name: str, amount: str, limit: str | None, path: Path) -> list[FieldError]:
    """A request stays within its limit; what cannot be overcommitted is requested in full."""
    elastic = _is_native(name) and not name.startswith(_HUGE_PAGES)
    if limit is None:
        if elastic:
            return []
        return [required(path.child("limits"), "Limit must be set for non overcommitable resources")]
    asked, allowed = Quantity.parse(amount), Quantity.parse(limit)
    here = path.child("requests")
    if asked != allowed and not elastic:
        return [invalid(here, amount, f"must be equal to {name} limit of {limit}")]
    if asked > allowed:
        return [invalid(here, amount, f"must be less than or equal to {name} limit of {limit}")]
    return []


def _validate_huge_pages(name: str, amount: str, path: Path) -> list[FieldError]:
    try:
        page = Quantity.parse(name.removeprefix(_HUGE_PAGES))
    except QuantityError:
        page = Quantity(0)
    if page.sign > 0 and page.milli_value % 1000 == 0 and Quantity.parse(amount).value % page.value == 0:
        return []
    return [invalid(path, amount, f"{amount} is not positive integer multiple of {name}")]


def validate_amount(name: str, amount: str, path: Path) -> list[FieldError]:
    """Not negative, and whole where the resource is counted."""
    errors: list[FieldError] = []
    quantity = Quantity.parse(amount)
    if quantity.sign < 0:
        errors.append(invalid(path, amount, "must be greater than or equal to 0"))
    if (name in _COUNTED or _is_extended(name)) and quantity.milli_value % 1000:
        errors.append(invalid(path, amount, "must be an integer"))
    return errors


def validate_resource_name(name: str, path: Path) -> list[FieldError]:
    if name in _STANDARD:
        return []
    if errors := invalids(path, name, is_label_key(name)):
        return errors
    if "/" not in name and not name.startswith((_HUGE_PAGES, f"requests.{_HUGE_PAGES}")):
        return [invalid(path, name, "must be a standard resource type or fully qualified")]
    return []


def validate_container_resource_name(name: str, path: Path) -> list[FieldError]:
    errors = validate_resource_name(name, path)
    if "/" not in name:
        if name not in _COMPUTE and not name.startswith(_HUGE_PAGES):
            errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif not _is_native(name) and not _is_extended(name):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return errors


def _validate_pod_resource_name(name: str, path: Path) -> list[FieldError]:
    if errors := validate_resource_name(name, path):
        return errors
    if name in _POD_LEVEL or name.startswith(_HUGE_PAGES):
        return []
    return [not_supported(path, name, ("cpu", _HUGE_PAGES, "memory"))]


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_extended(name: str) -> bool:
    if _is_native(name) or name.startswith("requests."):
        return False
    # Its name in a quota must fit the rule as well.
    return not is_label_key(f"requests.{name}")


def _validate_claims(claims: list[Object], known: Collection[str], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for number, claim in enumerate(claims):
        here = path.index(number)
        name, request = claim.get("name", ""), claim.get("request", "")
        if not name:
            errors.append(required(here))
            continue
        if name in seen:
            errors.append(duplicate(here, name))
        else:
            key = name
            if request:
                errors += invalids(here.child("request"), request, is_dns1123_label(request))
                key = f"{name}/{request}"
            if key in seen:
                errors.append(duplicate(here, key))
            elif not request:
                # The whole claim after some request of it.
                errors += (duplicate(here, name) for other in seen if other.partition("/")[0] == name)
            seen.add(key)
        if name not in known:
            listed = f": {', '.join(sorted(known))}" if known else " which is empty"
            text = f"must be one of the names in pod.spec.resourceClaims{listed}"
            errors.append(FieldError("FieldValueNotFound", str(here), text, name))
    return errors


def validate_pod_resources(spec: Object, claim_names: Collection[str], path: Path) -> list[FieldError]:
    """Resources of the pod as a whole, and that its containers fit in them."""
    requirements: Object = spec["resources"]
    here = path.child("resources")
    if (spec.get("os") or {}).get("name") == "windows":
        return [forbidden(here, "may not be set for a windows pod")]
    errors: list[FieldError] = []
    if requirements.get("claims") is not None:
        errors.append(forbidden(here.child("claims"), "claims may not be set for Resources at pod-level"))
    errors += _validate_requirements(requirements, _validate_pod_resource_name, claim_names, here)
    return errors + _validate_fit(spec, requirements, here)


def _validate_fit(spec: Object, requirements: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    requests: ResourceList = requirements.get("requests") or {}
    limits: ResourceList = requirements.get("limits") or {}
    for name, total in sorted(_total(spec, "requests").items()):
        if name in requests and total > Quantity.parse(requests[name]):
            text = f"must be greater than or equal to aggregate container requests of {total}"
            errors.append(invalid(path.child("requests").key(name), requests[name], text))
    for name, total in sorted(_total(spec, "limits").items()):
        if name.startswith(_HUGE_PAGES) and name in limits and total > Quantity.parse(limits[name]):
            text = f"must be greater than or equal to aggregate container limits of {total}"
            errors.append(invalid(path.child("limits").key(name), limits[name], text))
    for number, container in enumerate(spec.get("containers") or ()):
        own: ResourceList = (container.get("resources") or {}).get("limits") or {}
        for name, limit in own.items():
            if name in limits and Quantity.parse(limit) > Quantity.parse(limits[name]):
                here = path.child("containers").index(number).key(name).child("limits")
                errors.append(
                    invalid(here, limit, f"must be less than or equal to pod limits of {limits[name]}")
                )
    return errors


def _total(spec: Object, side: str) -> Amounts:
    return container_totals(spec, lambda container: (container.get("resources") or {}).get(side))
