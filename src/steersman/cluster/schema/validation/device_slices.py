"""Validation of resource slices, which publish devices: what rules.txt cannot say about them."""

from __future__ import annotations

import re
from typing import Any, Final

from steersman.cluster.schema.validation.compiled import compiled_check
from steersman.cluster.schema.validation.device_parts import (
    qualified_name,
    validate_binding_conditions,
    validate_different,
    validate_different_names,
    validate_each,
    validate_pool_name,
)
from steersman.cluster.schema.validation.pods.affinity import validate_node_selector
from steersman.cluster.schema.validation.pods.volume_sources import validate_csi_driver_name
from steersman.cluster.schema.validation.rules import invalids
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
from steersman.objects.kinds import Object
from steersman.objects.names import is_dns1123_label, is_dns1123_subdomain

__all__ = [
    "validate_csi_driver_name",
    "validate_devices",
    "validate_different_names",
    "validate_different_sets",
    "validate_one_value",
    "validate_pool_name",
    "validate_slice_nodes",
]

_validate_taint = compiled_check("resource.v1.DeviceTaint")
_MOST_DEVICES: Final = 128
_MOST_ELABORATE_DEVICES: Final = 64
_MOST_PROPERTIES: Final = 32
_MOST_ATTRIBUTE_VALUES: Final = 48
_MOST_TAINTS: Final = 16
_LONGEST_VALUE: Final = 64
_LISTS: Final = ("ints", "bools", "strings", "versions")
_VALUES: Final = ("int", "bool", "string", "version", *_LISTS)
_NUMBER: Final = r"(0|[1-9]\d*)"
_PRERELEASE: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD: Final = "[0-9a-zA-Z-]+"
_version = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?", re.ASCII
).fullmatch


def validate_slice_nodes(spec: Object, path: Path) -> list[FieldError]:
    """The nodes that can use the devices, named in exactly one way."""
    node, selector = spec.get("nodeName"), spec.get("nodeSelector")
    given: list[str] = []
    errors: list[FieldError] = []
    if node:
        given.append("nodeName")
        errors += invalids(path.child("nodeName"), node, is_dns1123_subdomain(node))
    elif node is not None:
        text = "must be either unset or set to a non-empty string"
        errors.append(invalid(path.child("nodeName"), node, text))
    if selector is not None:
        given.append("nodeSelector")
        errors += validate_node_selector(selector, path.child("nodeSelector"))
        terms = selector.get("nodeSelectorTerms")
        if len(terms or ()) != 1:
            text = "must have exactly one node selector term"
            errors.append(invalid(path.child("nodeSelector", "nodeSelectorTerms"), terms, text))
    for flag in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(flag):
            given.append(flag)
        elif spec.get(flag) is not None:
            errors.append(invalid(path.child(flag), False, "must be either unset or set to true"))
    text = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
    if not given:
        errors.append(required(path, text))
    elif len(given) > 1:
        errors.append(invalid(path, _listed(given), f"{text}, but multiple fields are set"))
    return errors


def _listed(fields: list[str]) -> str:
    return "{" + ", ".join(f"`{field}`" for field in fields) + "}"


# --- Devices


def validate_devices(spec: Object, path: Path) -> list[FieldError]:
    devices, path = spec.get("devices") or [], path.child("devices")
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
    errors += validate_each(taints, _MOST_TAINTS, _validate_taint, path.child("taints"))
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
        field
        for field, is_set in zip(fields, (node, selector is not None, everywhere), strict=True)
        if is_set
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


def validate_different_sets(consumptions: list[Object], path: Path) -> list[FieldError]:
    return validate_different(consumptions, path, "counterSet")


def validate_one_value(attribute: Object, path: Path) -> list[FieldError]:
    given = [field for field in _VALUES if _is_given(attribute.get(field))]
    members = ", ".join(f"`{field}`" for field in _VALUES)
    if not given:
        return [invalid(path, "", f"must specify one of: {members}")]
    if len(given) > 1:
        return [invalid(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {members}")]
    return []


def _is_given(value: Any) -> bool:
    return value is not None and value != []
