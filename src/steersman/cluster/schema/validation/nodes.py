"""Validation of Nodes: what rules.txt cannot say about taints, pod CIDRs and what may change when."""

from __future__ import annotations

import re
from typing import Any, Final

from steersman.cluster.schema.validation.address_checks import cidr_family, validate_legacy_cidr
from steersman.cluster.schema.validation.go_json import decoded
from steersman.cluster.schema.validation.internal_values import as_internal
from steersman.cluster.schema.validation.pods.affinity import validate_taint_effect
from steersman.cluster.schema.validation.resource_names import validate_amount
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    internal,
    invalid,
    required,
)
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_label_name
from steersman.objects.names import is_label_value

__all__ = [
    "validate_annotations",
    "validate_config_map_source",
    "validate_different_addresses",
    "validate_features",
    "validate_node_resources",
    "validate_pod_cidr_changes",
    "validate_pod_cidrs",
    "validate_same_provider",
    "validate_taints",
]

_METADATA: Final = Path("metadata")
_ANNOTATIONS: Final = _METADATA.child("annotations")
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


def validate_annotations(node: Object, path: Path) -> list[FieldError]:
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


def validate_node_resources(node: Object, path: Path) -> list[FieldError]:
    status = node.get("status") or {}
    errors = []
    for field in ("capacity", "allocatable"):
        for name, amount in sorted((status.get(field) or {}).items()):
            errors += validate_amount(name, amount, path.child("status", field, name))
    return errors


def validate_features(names: list[str], path: Path) -> list[FieldError]:
    """Features the node declares: well-formed names, each once, in order."""
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


def validate_different_addresses(addresses: list[Object], path: Path) -> list[FieldError]:
    errors = []
    for index, address in enumerate(addresses):
        if address in addresses[:index]:
            shown = as_internal(address, _ADDRESS)
            errors.append(duplicate(path.index(index), shown))
    return errors


# --- Pod CIDRs


def validate_pod_cidrs(blocks: list[str], path: Path) -> list[FieldError]:
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


def validate_pod_cidr_changes(new: Object, path: Path, old: Object) -> list[FieldError]:
    blocks, before = ((node.get("spec") or {}).get("podCIDRs") or [] for node in (new, old))
    if not before:
        return []
    path = path.child("spec", "podCIDRs")
    if len(blocks) != len(before):
        return [forbidden(path, _POD_CIDR_CHANGE)]
    changes = sum(block != old for block, old in zip(blocks, before, strict=True))
    return [forbidden(path, _POD_CIDR_CHANGE)] * changes


def validate_same_provider(new: Object, path: Path, old: Object) -> list[FieldError]:
    identity, before = ((node.get("spec") or {}).get("providerID", "") for node in (new, old))
    if not before or identity == before:
        return []
    verb = "modified" if identity else "cleared"
    return [invalid(path.child("spec", "providerID"), None, f"field cannot be {verb} once set")]


def validate_config_map_source(source: Object, path: Path) -> list[FieldError]:
    """Where kubelets, which no longer do so, would have had their configuration from."""
    if source.get("configMap") is not None:
        return []
    return [invalid(path, {"ConfigMap": None}, "exactly one reference subfield must be non-nil")]
