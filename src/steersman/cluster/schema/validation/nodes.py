"""Validation of Nodes: taints, pod CIDRs, capacity, and what may change when.

The package's `__init__` finds `RULES` here. Taints are reported under `metadata.taints`, as Kubernetes does.
"""

from __future__ import annotations

import re
from typing import Any, Final

from steersman.cluster.schema.validation.address_checks import cidr_family, validate_legacy_cidr
from steersman.cluster.schema.validation.go_json import decoded
from steersman.cluster.schema.validation.internal_values import as_internal
from steersman.cluster.schema.validation.pods.affinity import validate_taint_effect
from steersman.cluster.schema.validation.resource_names import validate_amount
from steersman.cluster.schema.validation.rules import Object, Revalidation, Rules, invalids
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    internal,
    invalid,
    required,
)
from steersman.objects.metadata import validate_label_name
from steersman.objects.names import is_config_map_key, is_dns1123_label, is_dns1123_subdomain, is_label_value

__all__ = ["RULES", "validate_taints"]

_METADATA: Final = Path("metadata")
_ANNOTATIONS: Final = _METADATA.child("annotations")
_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_TAINTS_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/taints"
_AVOID_PODS_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/preferAvoidPods"
_FEATURE: Final = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")
_MAX_FEATURE_LENGTH: Final = 253
_TAINT: Final = (
    ("key", "Key", ""),
    ("value", "Value", ""),
    ("effect", "Effect", ""),
    ("timeAdded", "TimeAdded", None),
)
_ADDRESS: Final = (("type", "Type", ""), ("address", "Address", ""))
_POD_CIDR_CHANGE: Final = 'node updates may not change podCIDR except from "" to valid'


def _create(node: Object) -> list[FieldError]:
    spec, status = node.get("spec") or {}, node.get("status") or {}
    errors = _annotation_errors(node)
    errors += validate_taints(spec.get("taints") or [], _METADATA.child("taints"))
    errors += _resource_errors(status)
    swap = (status.get("nodeInfo") or {}).get("swap") or {}
    capacity = swap.get("capacity")
    if capacity is not None and capacity <= 0:
        path = _METADATA.child("nodeSwapStatus", "capacity")
        errors.append(invalid(path, capacity, "must be greater than zero"))
    errors += _feature_errors(status)
    return errors + _pod_cidr_errors(spec.get("podCIDRs") or [])


def _update(new: Object, old: Object) -> list[FieldError]:
    spec, before, status = (
        obj.get(key) or {} for obj, key in ((new, "spec"), (old, "spec"), (new, "status"))
    )
    errors = _annotation_errors(new)
    errors += _resource_errors(status)
    errors += _feature_errors(status)
    errors += _address_errors(status.get("addresses") or [])
    errors += _pod_cidr_change_errors(spec.get("podCIDRs") or [], before.get("podCIDRs") or [])
    identity, old_identity = spec.get("providerID", ""), before.get("providerID", "")
    if old_identity and identity != old_identity:
        verb = "modified" if identity else "cleared"
        errors.append(invalid(_SPEC.child("providerID"), None, f"field cannot be {verb} once set"))
    if spec.get("configSource") is not None:
        errors += _config_source_errors(spec["configSource"], _SPEC.child("configSource"), _SPECIFIED)
    for field in ("assigned", "active", "lastKnownGood"):
        source = (status.get("config") or {}).get(field)
        if source is not None:
            errors += _config_source_errors(source, _STATUS.child("config", field), _REPORTED)
    errors += validate_taints(spec.get("taints") or [], _METADATA.child("taints"))
    if spec.get("externalID", "") != before.get("externalID", ""):
        errors.append(forbidden(_SPEC.child("externalID"), "may not be updated"))
    return errors


# --- Taints and annotations


def validate_taints(taints: list[Object], path: Path) -> list[FieldError]:
    errors = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        here = path.index(index)
        key, value, effect = (taint.get(field, "") for field in ("key", "value", "effect"))
        errors += validate_label_name(key, here.child("key"))
        if found := is_label_value(value):
            errors.append(invalid(here.child("value"), value, ";".join(found)))
        errors += (
            [required(here.child("effect"))]
            if not effect
            else validate_taint_effect(effect, here.child("effect"))
        )
        if (key, effect) in seen:
            detail = "taints must be unique by key and effect pair"
            errors.append(FieldError("FieldValueDuplicate", str(here), detail, as_internal(taint, _TAINT)))
        seen.add((key, effect))
    return errors


def _annotation_errors(node: Object) -> list[FieldError]:
    """Two annotations hold JSON from before there were fields for it."""
    annotations = node["metadata"].get("annotations") or {}
    errors = []
    if text := annotations.get(_TAINTS_ANNOTATION):
        taints, wrong = decoded(text, _are_taints)
        if wrong:
            errors.append(invalid(_ANNOTATIONS, _TAINTS_ANNOTATION, wrong))
        errors += validate_taints(taints or [], _ANNOTATIONS.child(_TAINTS_ANNOTATION))
    if text := annotations.get(_AVOID_PODS_ANNOTATION):
        avoided, wrong = decoded(text, _are_avoided_pods)
        if wrong:
            errors.append(invalid(_ANNOTATIONS.child("AvoidPods"), _AVOID_PODS_ANNOTATION, wrong))
        errors += _avoid_pods_errors((avoided or {}).get("preferAvoidPods") or [])
    return errors


def _are_taints(value: Any) -> bool:
    fields = ("key", "value", "effect")
    return isinstance(value, list) and all(
        isinstance(taint, dict) and all(isinstance(taint.get(field, ""), str) for field in fields)
        for taint in value
    )


def _are_avoided_pods(value: Any) -> bool:
    entries = (value.get("preferAvoidPods") or []) if isinstance(value, dict) else None
    return isinstance(entries, list) and all(
        isinstance(entry, dict)
        and isinstance(signature := entry.get("podSignature") or {}, dict)
        and isinstance(signature.get("podController") or {}, dict)
        for entry in entries
    )


def _avoid_pods_errors(entries: list[Object]) -> list[FieldError]:
    errors = []
    for index, entry in enumerate(entries):
        path = _ANNOTATIONS.child(_AVOID_PODS_ANNOTATION).index(index).child("PodSignature")
        controller = (entry.get("podSignature") or {}).get("podController")
        if controller is None:
            errors.append(required(path))
        elif not controller.get("controller"):
            path = path.child("PodController", "Controller")
            errors.append(invalid(path, False, "must point to a controller"))
    return errors


# --- Status


def _resource_errors(status: Object) -> list[FieldError]:
    errors = []
    for field in ("capacity", "allocatable"):
        for name, amount in sorted((status.get(field) or {}).items()):
            errors += validate_amount(name, amount, _STATUS.child(field, name))
    return errors


def _feature_errors(status: Object) -> list[FieldError]:
    """Features the node declares: well-formed names, each once, in order."""
    names: list[str] = status.get("declaredFeatures") or []
    path = _STATUS.child("declaredFeatures")
    errors = []
    for index, name in enumerate(names):
        rule = ""
        if len(name) > _MAX_FEATURE_LENGTH:
            rule = f"must be no more than {_MAX_FEATURE_LENGTH} characters"
        elif not _FEATURE.fullmatch(name):
            rule = (
                "must start with an UpperCamelCase segment, with subsequent segments separated by '/' "
                "(e.g., MyFeature or MyFeature/mySubFeature), "
                "and contain only alphanumeric characters and slashes"
            )
        if rule:
            errors.append(invalid(path.index(index), name, f'invalid feature name "{name}": {rule}'))
        if index + 1 < len(names):
            following = names[index + 1]
            if following == name:
                errors.append(duplicate(path.index(index + 1), following))
            elif following < name:
                detail = "list must be sorted alphabetically"
                errors.append(invalid(path.index(index + 1), following, detail))
    return errors


def _address_errors(addresses: list[Object]) -> list[FieldError]:
    errors = []
    for index, address in enumerate(addresses):
        if address in addresses[:index]:
            shown = as_internal(address, _ADDRESS)
            errors.append(duplicate(_STATUS.child("addresses").index(index), shown))
    return errors


# --- Pod CIDRs


def _pod_cidr_errors(blocks: list[str]) -> list[FieldError]:
    path = _SPEC.child("podCIDRs")
    errors = []
    for index, block in enumerate(blocks):
        errors += validate_legacy_cidr(path.index(index), block)
    if len(blocks) < 2:
        return errors
    families = [cidr_family(block) for block in blocks]
    wrong = next((block for block, family in zip(blocks, families, strict=True) if not family), None)
    if wrong is not None:
        detail = f"invalid CIDR[{blocks.index(wrong)}]: <nil> (invalid CIDR address: {wrong})"
        text = f"invalid PodCIDRs. failed to check with dual stack with error:{detail}"
        errors.append(internal(path, text))
    if wrong is not None or len(blocks) > 2 or families[0] == families[1]:
        errors.append(invalid(path, blocks, "may specify no more than one CIDR for each IP family"))
    return errors


def _pod_cidr_change_errors(blocks: list[str], before: list[str]) -> list[FieldError]:
    if not before:
        return []
    path = _SPEC.child("podCIDRs")
    if len(blocks) != len(before):
        return [forbidden(path, _POD_CIDR_CHANGE)]
    changes = sum(block != old for block, old in zip(blocks, before, strict=True))
    return [forbidden(path, _POD_CIDR_CHANGE)] * changes


# --- Configuration sources, which kubelets no longer use

_SPECIFIED: Final = "spec"
_REPORTED: Final = "status"


def _config_source_errors(source: Object, path: Path, where: str) -> list[FieldError]:
    config: dict[str, Any] | None = source.get("configMap")
    if config is None:
        return [invalid(path, {"ConfigMap": None}, "exactly one reference subfield must be non-nil")]
    path = path.child("configMap")
    errors = []
    for field in ("uid", "resourceVersion"):
        if where == _SPECIFIED and config.get(field):
            errors.append(forbidden(path.child(field), f"{field} must not be set in spec"))
        if where == _REPORTED and not config.get(field):
            errors.append(required(path.child(field)))
    rules = {
        "namespace": is_dns1123_label,
        "name": is_dns1123_subdomain,
        "kubeletConfigKey": is_config_map_key,
    }
    for field, rule in rules.items():
        value = config.get(field, "")
        errors += invalids(path.child(field), value, rule(value)) if value else [required(path.child(field))]
    return errors


RULES: Final = {
    ("", "Node"): Rules(create=_create, update=_update, status=_update, revalidation=Revalidation.BEFORE),
}
