"""Where a pod may run: affinities, tolerations, topology spread. Node selectors are shared with volumes."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.compiled import compiled_check
from steersman.objects.fields import FieldError, Path, duplicate, invalid, not_supported, required
from steersman.objects.kinds import Object
from steersman.objects.names import is_label_value

__all__ = [
    "validate_compared_value",
    "validate_field_value",
    "validate_label_keys",
    "validate_min_domains",
    "validate_node_selector",
    "validate_spread_constraints",
    "validate_taint_effect",
    "validate_toleration_value",
    "validate_tolerations",
]

_validate_selector = compiled_check("core.v1.NodeSelector")
_validate_lenient_selector = compiled_check("core.v1.NodeSelector lenient")
_validate_tolerations = compiled_check("[]core.v1.Toleration")
_validate_constraint = compiled_check("core.v1.TopologySpreadConstraint")
_validate_rest = compiled_check("core.v1.TopologySpreadConstraint rest")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def validate_node_selector(selector: Object, path: Path, *, any_values: bool = False) -> list[FieldError]:
    """`any_values` accepts values that are no label values."""
    return (_validate_lenient_selector if any_values else _validate_selector)(selector, path)


def validate_compared_value(requirement: Object, path: Path) -> list[FieldError]:
    if len(requirement.get("values") or ()) == 1:
        return []
    return [required(path.child("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'")]


def validate_field_value(requirement: Object, path: Path) -> list[FieldError]:
    if len(requirement.get("values") or ()) == 1:
        return []
    text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
    return [required(path.child("values"), text)]


# --- Other pods


def validate_label_keys(term: Object, path: Path) -> list[FieldError]:
    """Keys whose values are taken from the pod stand neither in the selector nor on both sides."""
    selector: Object | None = term.get("labelSelector")
    matching, mismatching = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    errors: list[FieldError] = []
    if selector is not None and matching:
        # The selector already holds what the keys added; a key found twice was there before.
        seen = set(selector.get("matchLabels") or ())
        for expression in selector.get("matchExpressions") or ():
            key = expression.get("key", "")
            if key in matching and key in seen:
                last = len(matching) - 1 - matching[::-1].index(key)
                text = "exists in both matchLabelKeys and labelSelector"
                errors.append(invalid(path.index(last), key, text))
            seen.add(key)
    for number, key in enumerate(matching):
        if key in mismatching:
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            errors.append(invalid(path.child("matchLabelKeys").index(number), key, text))
    return errors


# --- Taints


def validate_tolerations(tolerations: list[Object], path: Path) -> list[FieldError]:
    return _validate_tolerations(tolerations, path)


def validate_toleration_value(toleration: Object, path: Path) -> list[FieldError]:
    """`Exists` comes here only with a value, which it must not have."""
    operator, value = toleration.get("operator", ""), toleration.get("value", "")
    here = path.child("operator")
    if operator in ("Equal", ""):
        wrong = is_label_value(value)
        return [invalid(here, value, ";".join(wrong))] if wrong else []
    if operator == "Exists":
        return [invalid(here, value, "value must be empty when `operator` is 'Exists'")]
    supported = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
    return [not_supported(here, operator, supported)]


def validate_taint_effect(effect: str, path: Path) -> list[FieldError]:
    return [] if effect in _EFFECTS else [not_supported(path, effect, _EFFECTS)]


# --- Topology


def validate_spread_constraints(constraints: list[Object], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    pairs = [
        (constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", ""))
        for constraint in constraints
    ]
    for number, (constraint, (key, action)) in enumerate(zip(constraints, pairs, strict=True)):
        here = path.index(number)
        errors += _validate_constraint(constraint, here)
        if (key, action) in pairs[number + 1 :]:
            errors.append(duplicate(here.child("{topologyKey, whenUnsatisfiable}"), f"{{{key}, {action}}}"))
        errors += _validate_rest(constraint, here, action)
    return errors


def validate_min_domains(domains: int, path: Path, action: str) -> list[FieldError]:
    if action == "DoNotSchedule":
        return []
    text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
    return [invalid(path, domains, text)]
