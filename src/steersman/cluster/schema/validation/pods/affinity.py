"""Where a pod may run: affinities, tolerations, topology spread. Node selectors are shared with volumes."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.rules import Object, invalids
from steersman.objects.fields import FieldError, Path, duplicate, forbidden, invalid, not_supported, required
from steersman.objects.metadata import validate_label_name, validate_label_selector
from steersman.objects.names import (
    is_dns1123_label,
    is_dns1123_subdomain,
    is_label_key,
    is_label_value,
)

__all__ = [
    "validate_affinity",
    "validate_node_selector",
    "validate_node_selector_term",
    "validate_spread_constraints",
    "validate_taint_effect",
    "validate_tolerations",
]

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_BAD_OPERATOR: Final = "not a valid selector operator"
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
_INCLUSIONS: Final = ("Honor", "Ignore")


def validate_affinity(affinity: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if (node := affinity.get("nodeAffinity")) is not None:
        errors += _validate_node_affinity(node, path.child("nodeAffinity"))
    for kind in ("podAffinity", "podAntiAffinity"):
        if (pods := affinity.get(kind)) is not None:
            errors += _validate_pod_affinity(pods, path.child(kind))
    return errors


def _weight_errors(term: Object, path: Path) -> list[FieldError]:
    weight = term.get("weight", 0)
    if 1 <= weight <= 100:
        return []
    return [invalid(path.child("weight"), weight, "must be in the range 1-100")]


# --- Nodes


def _validate_node_affinity(affinity: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if (selector := affinity.get(_REQUIRED)) is not None:
        errors += validate_node_selector(selector, path.child(_REQUIRED))
    for number, term in enumerate(affinity.get(_PREFERRED) or ()):
        here = path.child(_PREFERRED).index(number)
        errors += _weight_errors(term, here)
        preference = term.get("preference") or {}
        # A preference that no label can meet does no harm.
        errors += validate_node_selector_term(preference, here.child("preference"), any_values=True)
    return errors


def validate_node_selector(selector: Object, path: Path, *, any_values: bool = False) -> list[FieldError]:
    terms = selector.get("nodeSelectorTerms")
    here = path.child("nodeSelectorTerms")
    if not terms:
        return [required(here, "must have at least one node selector term")]
    errors: list[FieldError] = []
    for number, term in enumerate(terms):
        errors += validate_node_selector_term(term, here.index(number), any_values=any_values)
    return errors


def validate_node_selector_term(term: Object, path: Path, *, any_values: bool = False) -> list[FieldError]:
    """`any_values` accepts values that are no label values."""
    errors: list[FieldError] = []
    for number, requirement in enumerate(term.get("matchExpressions") or ()):
        here = path.child("matchExpressions").index(number)
        errors += _validate_node_requirement(requirement, any_values, here)
    for number, requirement in enumerate(term.get("matchFields") or ()):
        errors += _validate_field_requirement(requirement, path.child("matchFields").index(number))
    return errors


def _validate_node_requirement(requirement: Object, any_values: bool, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    here = path.child("values")
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(required(here, "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(here, text))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            errors.append(required(here, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
    else:
        errors.append(invalid(path.child("operator"), operator, _BAD_OPERATOR))
    errors += validate_label_name(requirement.get("key", ""), path.child("key"))
    if not any_values:
        for number, value in enumerate(values):
            errors += invalids(here.index(number), value, is_label_value(value))
    return errors


def _validate_field_requirement(requirement: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    here = path.child("values")
    if operator not in ("In", "NotIn"):
        errors.append(invalid(path.child("operator"), operator, _BAD_OPERATOR))
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(here, text))
    key = requirement.get("key", "")
    if key != "metadata.name":
        errors.append(invalid(path.child("key"), key, "not a valid field selector key"))
    else:
        for number, value in enumerate(values):
            errors += invalids(here.index(number), value, is_dns1123_subdomain(value))
    return errors


# --- Other pods


def _validate_pod_affinity(affinity: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for number, term in enumerate(affinity.get(_REQUIRED) or ()):
        errors += _validate_pod_term(term, path.child(_REQUIRED).index(number))
    for number, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        here = path.child(_PREFERRED).index(number)
        errors += _weight_errors(weighted, here)
        errors += _validate_pod_term(weighted.get("podAffinityTerm") or {}, here.child("podAffinityTerm"))
    return errors


def _validate_pod_term(term: Object, path: Path) -> list[FieldError]:
    selector = term.get("labelSelector")
    errors = validate_label_selector(selector, path.child("labelSelector"))
    errors += validate_label_selector(term.get("namespaceSelector"), path.child("namespaceSelector"))
    for name in term.get("namespaces") or ():
        errors += invalids(path.child("namespace"), name, is_dns1123_label(name))
    matching, mismatching = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    errors += _validate_label_keys(matching, mismatching, selector, path)
    topology = term.get("topologyKey", "")
    if not topology:
        errors.append(required(path.child("topologyKey"), "can not be empty"))
    return errors + validate_label_name(topology, path.child("topologyKey"))


def _validate_label_keys(
    matching: list[str], mismatching: list[str], selector: Object | None, path: Path
) -> list[FieldError]:
    errors: list[FieldError] = []
    for field, keys in (("matchLabelKeys", matching), ("mismatchLabelKeys", mismatching)):
        if keys and selector is None:
            errors.append(forbidden(path.child(field), "must not be specified when labelSelector is not set"))
        elif keys:
            for number, key in enumerate(keys):
                errors += validate_label_name(key, path.child(field).index(number))
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
    errors: list[FieldError] = []
    for number, toleration in enumerate(tolerations):
        key, operator = toleration.get("key", ""), toleration.get("operator", "")
        effect, value = toleration.get("effect", ""), toleration.get("value", "")
        if key and (wrong := is_label_key(key)):
            errors += invalids(path.index(number).child("key"), key, wrong)
        elif not key and operator != "Exists":
            text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.append(invalid(path.index(number).child("operator"), operator, text))
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.append(invalid(path.index(number).child("effect"), effect, text))
        if operator != "Exists" or value:
            errors += _validate_toleration_value(operator, value, path.index(number))
        if effect and effect not in _EFFECTS:
            errors += validate_taint_effect(effect, path.index(number).child("effect"))
    return errors


def _validate_toleration_value(operator: str, value: str, path: Path) -> list[FieldError]:
    """`Exists` comes here only with a value, which it must not have."""
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
    for number, constraint in enumerate(constraints):
        here = path.index(number)
        key, action = pairs[number]
        errors += _positive(constraint.get("maxSkew", 0), here.child("maxSkew"))
        if not key:
            errors.append(required(here.child("topologyKey"), "can not be empty"))
        if action not in _ACTIONS:
            errors.append(not_supported(here.child("whenUnsatisfiable"), action, _ACTIONS))
        if pairs[number] in pairs[number + 1 :]:
            errors.append(duplicate(here.child("{topologyKey, whenUnsatisfiable}"), f"{{{key}, {action}}}"))
        if (domains := constraint.get("minDomains")) is not None:
            errors += _positive(domains, here.child("minDomains"))
            if action != "DoNotSchedule":
                text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                errors.append(invalid(here.child("minDomains"), domains, text))
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if (policy := constraint.get(field)) is not None and policy not in _INCLUSIONS:
                errors.append(not_supported(here.child(field), policy, _INCLUSIONS))
        selector = constraint.get("labelSelector")
        errors += _validate_label_keys(constraint.get("matchLabelKeys") or [], [], selector, here)
        errors += validate_label_selector(selector, here.child("labelSelector"))
    return errors


def _positive(number: int, path: Path) -> list[FieldError]:
    return [invalid(path, number, "must be greater than zero")] if number <= 0 else []
