"""What webhooks and admission policies share: rules, selectors and conditions that match requests."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.admission_expressions import Expressions
from steersman.cluster.schema.validation.compiled import compiled_check
from steersman.objects.fields import FieldError, Path, invalid, required, too_many
from steersman.objects.kinds import Object

__all__ = [
    "validate_condition_expression",
    "validate_match_conditions",
    "validate_resources",
    "validate_wildcard_alone",
]

_validate_conditions = compiled_check("[]admissionregistration.v1.MatchCondition")
_MOST_CONDITIONS: Final = 64


def validate_wildcard_alone(values: list[str], path: Path, others: str) -> list[FieldError]:
    if len(values) < 2 or "*" not in values:
        return []
    return [invalid(path, values, f"if '*' is present, must not specify other {others}")]


def validate_resources(resources: list[str], path: Path) -> list[FieldError]:
    """Resources and subresources: whatever a wildcard covers must not be named besides it."""
    errors: list[FieldError] = []
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


def validate_match_conditions(
    conditions: list[Object], path: Path, expressions: Expressions
) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(conditions) > _MOST_CONDITIONS:
        errors.append(too_many(path, len(conditions), _MOST_CONDITIONS))
    return errors + _validate_conditions(conditions, path, expressions)


def validate_condition_expression(
    condition: Object, path: Path, expressions: Expressions
) -> list[FieldError]:
    expression, path = condition.get("expression", ""), path.child("expression")
    return expressions.condition(path, expression) if expression.strip() else [required(path)]
