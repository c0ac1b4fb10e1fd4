"""What webhooks and admission policies share: rules, selectors and conditions that match requests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman.cluster.schema.validation.admission_expressions import Expressions
from steersman.cluster.schema.validation.rules import Object, invalids
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    invalid,
    not_supported,
    required,
    too_many,
)
from steersman.objects.metadata import validate_label_selector
from steersman.objects.names import is_path_segment_name, is_qualified_name

__all__ = [
    "FAILURE_POLICIES",
    "REINVOCATION_POLICIES",
    "validate_choice",
    "validate_match_conditions",
    "validate_match_resources",
    "validate_rule",
]

FAILURE_POLICIES: Final = ("Fail", "Ignore")
REINVOCATION_POLICIES: Final = ("IfNeeded", "Never")
_MATCH_POLICIES: Final = ("Equivalent", "Exact")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_MOST_CONDITIONS: Final = 64


def validate_choice(obj: Object, field: str, choices: Iterable[str], path: Path) -> list[FieldError]:
    """A field that, where it is given, is one of these."""
    value, allowed = obj.get(field), tuple(choices)
    return [] if value is None or value in allowed else [not_supported(path.child(field), value, allowed)]


def validate_rule(rule: Object, path: Path) -> list[FieldError]:
    operations = rule.get("operations") or []
    errors = _lonely_wildcard(operations, path.child("operations"), "operations")
    for number, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            errors.append(not_supported(path.child("operations").index(number), operation, _OPERATIONS))
    errors += _lonely_wildcard(rule.get("apiGroups") or [], path.child("apiGroups"), "API groups")
    versions = rule.get("apiVersions") or []
    errors += _lonely_wildcard(versions, path.child("apiVersions"), "API versions")
    errors += [
        required(path.child("apiVersions").index(number))
        for number, version in enumerate(versions)
        if not version
    ]
    errors += _resources(rule.get("resources") or [], path.child("resources"))
    return errors + validate_choice(rule, "scope", _SCOPES, path)


def _lonely_wildcard(values: list[str], path: Path, others: str) -> list[FieldError]:
    """A list that is not empty, and in which '*' stands alone."""
    if not values:
        return [required(path)]
    if len(values) > 1 and "*" in values:
        return [invalid(path, values, f"if '*' is present, must not specify other {others}")]
    return []


def _resources(resources: list[str], path: Path) -> list[FieldError]:
    """Resources and subresources: whatever a wildcard covers must not be named besides it."""
    errors = [] if resources else [required(path)]
    all_subresources_of: set[str] = set()
    subresource_of_all: set[str] = set()
    last_plain_is_named = False
    for number, text in enumerate(resources):
        at = path.index(number)
        if not text:
            errors.append(required(at))
            continue
        resource, slash, subresource = text.partition("/")
        if not slash:
            last_plain_is_named = text != "*"
            continue
        if resource in all_subresources_of:
            errors.append(invalid(at, text, f"if '{resource}/*' is present, must not specify {text}"))
        if subresource in subresource_of_all:
            errors.append(invalid(at, text, f"if '*/{subresource}' is present, must not specify {text}"))
        if subresource == "*":
            all_subresources_of.add(resource)
        if resource == "*":
            subresource_of_all.add(subresource)
    if len(resources) > 1 and "*/*" in resources:
        errors.append(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    # Kubernetes looks only at the last resource without a subresource.
    if "*" in resources and last_plain_is_named:
        text = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid(path, resources, text))
    return errors


def validate_match_resources(match: Object | None, path: Path) -> list[FieldError]:
    if match is None:
        return []
    errors: list[FieldError] = []
    if match.get("matchPolicy") is None:
        errors.append(required(path.child("matchPolicy")))
    errors += validate_choice(match, "matchPolicy", _MATCH_POLICIES, path)
    for field in ("namespaceSelector", "objectSelector"):
        if match.get(field) is None:
            errors.append(required(path.child(field)))
        else:
            errors += validate_label_selector(match[field], path.child(field))
    for field in ("resourceRules", "excludeResourceRules"):
        for number, rule in enumerate(match.get(field) or ()):
            errors += _named_rule(rule, path.child(field).index(number))
    return errors


def _named_rule(rule: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for number, name in enumerate(rule.get("resourceNames") or ()):
        at = path.child("resourceNames").index(number)
        errors += invalids(at, name, is_path_segment_name(name))
        if name in seen:
            errors.append(duplicate(at, name))
        seen.add(name)
    return errors + validate_rule(rule, path)


def validate_match_conditions(
    conditions: list[Object], path: Path, expressions: Expressions
) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(conditions) > _MOST_CONDITIONS:
        errors.append(too_many(path, len(conditions), _MOST_CONDITIONS))
    seen: set[str] = set()
    for number, condition in enumerate(conditions):
        name, at = condition.get("name", ""), path.index(number)
        expression = condition.get("expression", "")
        if not expression.strip():
            errors.append(required(at.child("expression")))
        else:
            errors += expressions.condition(at.child("expression"), expression)
        if not name:
            errors.append(required(at.child("name")))
            continue
        errors += invalids(at.child("name"), name, is_qualified_name(name))
        if name in seen:
            errors.append(duplicate(at.child("name"), name))
        seen.add(name)
    return errors
