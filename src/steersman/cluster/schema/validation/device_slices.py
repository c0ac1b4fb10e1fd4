"""Validation of resource slices, which publish devices, and of rules that taint them."""

from __future__ import annotations

import re
from typing import Any, Final

from steersman.cluster.schema.validation.device_parts import (
    declared_effect,
    declared_list,
    qualified_name,
    validate_binding_conditions,
    validate_each,
    validate_pool_name,
    validate_taint,
)
from steersman.cluster.schema.validation.pods.affinity import validate_node_selector
from steersman.cluster.schema.validation.pods.volume_sources import validate_csi_driver_name
from steersman.cluster.schema.validation.rules import Object, invalids
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    too_many,
)
from steersman.objects.metadata import validate_conditions, validate_immutable
from steersman.objects.names import is_dns1123_label, is_dns1123_subdomain

__all__ = [
    "declared_of_slice",
    "declared_of_taint_rule",
    "validate_slice",
    "validate_taint_rule",
    "validate_taint_rule_status",
]

_SPEC: Final = Path("spec")
_MOST_DEVICES: Final = 128
_MOST_ELABORATE_DEVICES: Final = 64
_MOST_PROPERTIES: Final = 32
_MOST_ATTRIBUTE_VALUES: Final = 48
_MOST_TAINTS: Final = 16
_MOST_COUNTER_SETS: Final = 8
_MOST_CONSUMPTIONS: Final = 2
_MOST_BINDING_CONDITIONS: Final = 4
_MOST_RULE_CONDITIONS: Final = 8
_LONGEST_VALUE: Final = 64
_LISTS: Final = ("ints", "bools", "strings", "versions")
_VALUES: Final = ("int", "bool", "string", "version", *_LISTS)
_NUMBER: Final = r"(0|[1-9]\d*)"
_PRERELEASE: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD: Final = "[0-9a-zA-Z-]+"
_version = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?", re.ASCII
).fullmatch


def validate_slice(obj: Object, old: Object | None = None) -> list[FieldError]:
    spec = obj.get("spec") or {}
    pool, path = spec.get("pool") or {}, _SPEC.child("pool")
    errors = validate_csi_driver_name(spec.get("driver", ""), _SPEC.child("driver"))
    errors += validate_pool_name(pool.get("name", ""), path.child("name"))
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    if count <= 0:
        errors.append(invalid(path.child("resourceSliceCount"), count, "must be greater than zero"))
    if generation < 0:
        errors.append(invalid(path.child("generation"), generation, "must be greater than or equal to zero"))
    if old is not None:
        errors += _identity(spec, old.get("spec") or {})
    errors += _slice_nodes(spec)
    if spec.get("sharedCounters") is not None and spec.get("devices") is not None:
        errors.append(invalid(_SPEC, "", "only one of `sharedCounters` or `devices` is allowed"))
    return errors + _devices(spec)


def _identity(spec: Object, before: Object) -> list[FieldError]:
    """A slice stays with its pool, its driver and its node."""
    pool, earlier = ((each.get("pool") or {}).get("name", "") for each in (spec, before))
    return [
        *validate_immutable(pool, earlier, _SPEC.child("pool", "name")),
        *validate_immutable(spec.get("driver", ""), before.get("driver", ""), _SPEC.child("driver")),
        *validate_immutable(spec.get("nodeName"), before.get("nodeName"), _SPEC.child("nodeName")),
    ]


def _slice_nodes(spec: Object) -> list[FieldError]:
    """The nodes that can use the devices, told in exactly one way."""
    node, selector = spec.get("nodeName"), spec.get("nodeSelector")
    given: list[str] = []
    errors: list[FieldError] = []
    if node:
        given.append("nodeName")
        errors += invalids(_SPEC.child("nodeName"), node, is_dns1123_subdomain(node))
    elif node is not None:
        text = "must be either unset or set to a non-empty string"
        errors.append(invalid(_SPEC.child("nodeName"), node, text))
    if selector is not None:
        given.append("nodeSelector")
        errors += validate_node_selector(selector, _SPEC.child("nodeSelector"))
        terms = selector.get("nodeSelectorTerms")
        if len(terms or ()) != 1:
            text = "must have exactly one node selector term"
            errors.append(invalid(_SPEC.child("nodeSelector", "nodeSelectorTerms"), terms, text))
    for flag in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(flag):
            given.append(flag)
        elif spec.get(flag) is not None:
            errors.append(invalid(_SPEC.child(flag), False, "must be either unset or set to true"))
    text = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
    if not given:
        errors.append(required(_SPEC, text))
    elif len(given) > 1:
        errors.append(invalid(_SPEC, _listed(given), f"{text}, but multiple fields are set"))
    return errors


def _listed(fields: list[str]) -> str:
    return "{" + ", ".join(f"`{field}`" for field in fields) + "}"


# --- Devices


def _devices(spec: Object) -> list[FieldError]:
    devices, path = spec.get("devices") or [], _SPEC.child("devices")
    most = _MOST_ELABORATE_DEVICES if any(map(_is_elaborate, devices)) else _MOST_DEVICES
    if len(devices) > most:
        return [too_many(path, len(devices), most)]
    choose = bool(spec.get("perDeviceNodeSelection"))
    names = [device.get("name", "") for device in devices]
    errors = [
        error
        for number, device in enumerate(devices)
        for error in _device(device, choose, path.index(number))
    ]
    return errors + [duplicate(path.index(n), name) for n, name in enumerate(names) if name in names[:n]]


def _is_elaborate(device: Object) -> bool:
    attributes = (device.get("attributes") or {}).values()
    lists = any(attribute.get(field) is not None for attribute in attributes for field in _LISTS)
    return bool(lists or device.get("taints") or device.get("consumesCounters"))


def _device(device: Object, choose: bool, path: Path) -> list[FieldError]:
    name = device.get("name", "")
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    errors = invalids(path.child("name"), name, is_dns1123_label(name))
    properties = len(attributes) + len(capacity)
    if properties > _MOST_PROPERTIES:
        text = f"the total number of attributes and capacities must not exceed {_MOST_PROPERTIES}"
        errors.append(invalid(path, properties, text))
    values = sum(max(1, sum(len(each.get(field) or ()) for field in _LISTS)) for each in attributes.values())
    if values > _MOST_ATTRIBUTE_VALUES:
        text = f"the total number of attribute values must not exceed {_MOST_ATTRIBUTE_VALUES}"
        errors.append(invalid(path, values, text))
    for key, attribute in sorted(attributes.items()):
        errors += qualified_name(key, path.child("attributes"))
        errors += _attribute(attribute, path.child("attributes").key(key))
    for key, amount in sorted(capacity.items()):
        errors += qualified_name(key, path.child("capacity"))
        if amount.get("requestPolicy") is not None and not device.get("allowMultipleAllocations"):
            at = path.child("capacity").key(key).child("requestPolicy")
            errors.append(forbidden(at, "allowMultipleAllocations must be true"))
    taints = device.get("taints") or ()
    if len(taints) > _MOST_TAINTS:
        errors.append(too_many(path.child("taints"), len(taints), _MOST_TAINTS))
    errors += validate_each(taints, _MOST_TAINTS, validate_taint, path.child("taints"))
    errors += _device_nodes(device, choose, path)
    return errors + validate_binding_conditions(device, path)


def _attribute(attribute: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("string", "version"):
        if attribute.get(field) is not None:
            errors += _value(field, attribute[field], path.child(field))
    for field in ("string", "version"):
        for number, value in enumerate(attribute.get(f"{field}s") or ()):
            errors += _value(field, value, path.child(f"{field}s").index(number))
    return errors


def _value(kind: str, value: str, path: Path) -> list[FieldError]:
    errors = []
    if kind == "version" and not _version(value):
        errors.append(invalid(path, value, "must be a string compatible with semver.org spec 2.0.0"))
    if len(value) > _LONGEST_VALUE:
        errors.append(too_long(path, _LONGEST_VALUE))
    return errors


def _device_nodes(device: Object, choose: bool, path: Path) -> list[FieldError]:
    fields = ("nodeName", "nodeSelector", "allNodes")
    if not choose:
        if all(device.get(field) is None for field in fields):
            return []
        text = (
            "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` "
            "is set to true in the ResourceSlice spec"
        )
        return [invalid(path, None, text)]
    node, selector, everywhere = (device.get(field) for field in fields)
    errors: list[FieldError] = []
    if node:
        errors += invalids(path.child("nodeName"), node, is_dns1123_subdomain(node))
    elif node is not None:
        errors.append(invalid(path.child("nodeName"), node, "must not be empty"))
    if selector is not None:
        errors += validate_node_selector(selector, path.child("nodeSelector"))
    if everywhere is False:
        errors.append(invalid(path.child("allNodes"), False, "must be either unset or set to true"))
    given = [
        field for field, told in zip(fields, (node, selector is not None, everywhere), strict=True) if told
    ]
    text = (
        "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` "
        "is set to true in the ResourceSlice spec"
    )
    if not given:
        errors.append(required(path, text))
    elif len(given) > 1:
        errors.append(invalid(path, _listed(given), text))
    return errors


# --- What is declared about slices


def declared_of_slice(obj: Object, old: Object | None) -> list[FieldError]:
    spec, before = obj.get("spec") or {}, None if old is None else old.get("spec") or {}
    errors: list[FieldError] = []
    if before is None or spec.get("devices") != before.get("devices"):
        for number, device in enumerate(spec.get("devices") or ()):
            errors += _declared_device(device, _SPEC.child("devices").index(number))
    if before is None or spec.get("sharedCounters") != before.get("sharedCounters"):
        errors += declared_list(
            spec.get("sharedCounters") or (),
            _MOST_COUNTER_SETS,
            _SPEC.child("sharedCounters"),
            lambda counters, path: _declared_counters(counters, "name", path),
            lambda counters: counters.get("name", ""),
        )
    return errors


def _declared_device(device: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, attribute in sorted((device.get("attributes") or {}).items()):
        errors += _declared_attribute(attribute, path.child("attributes").key(key))
    errors += declared_list(
        device.get("consumesCounters") or (),
        _MOST_CONSUMPTIONS,
        path.child("consumesCounters"),
        lambda counters, at: _declared_counters(counters, "counterSet", at),
        lambda counters: counters.get("counterSet", ""),
    )
    for number, taint in enumerate(device.get("taints") or ()):
        errors += declared_effect(taint, path.child("taints").index(number), needed=True)
    for field in ("bindingConditions", "bindingFailureConditions"):
        errors += declared_list(device.get(field) or (), _MOST_BINDING_CONDITIONS, path.child(field))
    return errors


def _declared_attribute(attribute: Object, path: Path) -> list[FieldError]:
    given = [field for field in _VALUES if _is_given(attribute.get(field))]
    members = ", ".join(f"`{field}`" for field in _VALUES)
    if not given:
        return [invalid(path, "", f"must specify one of: {members}")]
    if len(given) > 1:
        return [invalid(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {members}")]
    return []


def _is_given(value: Any) -> bool:
    return value is not None and value != []


def _declared_counters(counters: Object, field: str, path: Path) -> list[FieldError]:
    name = counters.get(field, "")
    errors = (
        invalids(path.child(field), name, is_dns1123_label(name)) if name else [required(path.child(field))]
    )
    if not counters.get("counters"):
        return [*errors, required(path.child("counters"))]
    for key in sorted(counters["counters"]):
        errors += invalids(path.child("counters"), key, is_dns1123_label(key))
    return errors


# --- Rules that taint devices


def validate_taint_rule(obj: Object, old: Object | None = None) -> list[FieldError]:
    spec = obj.get("spec") or {}
    selector, path = spec.get("deviceSelector") or {}, _SPEC.child("deviceSelector")
    errors: list[FieldError] = []
    if selector.get("driver") is not None:
        errors += validate_csi_driver_name(selector["driver"], path.child("driver"))
    if selector.get("pool") is not None:
        errors += validate_pool_name(selector["pool"], path.child("pool"))
    if selector.get("device") is not None:
        errors += invalids(path.child("device"), selector["device"], is_dns1123_label(selector["device"]))
    return errors + validate_taint(spec.get("taint") or {}, _SPEC.child("taint"))


def declared_of_taint_rule(obj: Object, old: Object | None) -> list[FieldError]:
    taint = (obj.get("spec") or {}).get("taint") or {}
    if old is not None and taint == ((old.get("spec") or {}).get("taint") or {}):
        return []
    return declared_effect(taint, _SPEC.child("taint"), needed=True)


def validate_taint_rule_status(obj: Object, old: Object) -> list[FieldError]:
    conditions, path = (obj.get("status") or {}).get("conditions") or (), Path("status").child("conditions")
    if len(conditions) > _MOST_RULE_CONDITIONS:
        return [too_many(path, len(conditions), _MOST_RULE_CONDITIONS)]
    return validate_conditions(conditions, path)
