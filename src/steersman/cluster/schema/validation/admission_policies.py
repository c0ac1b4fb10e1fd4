"""Validation of admission policies and their bindings: what rules.txt cannot say about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from steersman.cluster.cel.reserved_words import is_identifier
from steersman.cluster.schema.validation.admission_expressions import Expressions
from steersman.cluster.schema.validation.admission_matching import validate_match_conditions
from steersman.cluster.schema.validation.internal_values import Shape, as_internal
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, duplicate, invalid, not_supported, required
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_conditions
from steersman.objects.names import is_dns1035_label, is_dns1123_subdomain, is_qualified_name

__all__ = [
    "facts_of_mutating_policy",
    "facts_of_policy",
    "validate_actions",
    "validate_api_version",
    "validate_audit_annotations",
    "validate_changed_conditions",
    "validate_expressions",
    "validate_mutable_operations",
    "validate_param_kind",
    "validate_patch",
    "validate_policy_status",
    "validate_variables",
]

_STATUS: Final = Path("status")
_MUTATING_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_MOST_ANNOTATIONS: Final = 20
_LONGEST_ANNOTATION: Final = 5 * 1024
_ANNOTATION_SHAPE: Final[Shape] = (("key", "Key", ""), ("valueExpression", "ValueExpression", ""))


# --- Policies


@dataclass(frozen=True, slots=True)
class _Policy:
    """What the rules of a policy's spec need to know of the policy."""

    name: str
    expressions: Expressions


def facts_of_policy(policy: Object, old: Object | None) -> _Policy:
    return _facts(policy, composed=bool((policy.get("spec") or {}).get("variables")))


def facts_of_mutating_policy(policy: Object, old: Object | None) -> _Policy:
    return _facts(policy, composed=True)


def _facts(policy: Object, *, composed: bool) -> _Policy:
    params = (policy.get("spec") or {}).get("paramKind") is not None
    return _Policy(policy["metadata"].get("name", ""), Expressions(params=params, composed=composed))


def validate_changed_conditions(
    spec: Object, path: Path, before: Object | None, policy: _Policy
) -> list[FieldError]:
    """Conditions depend on the kind of parameters, too."""
    changed = before is None or any(
        before.get(key) != spec.get(key) for key in ("paramKind", "matchConditions")
    )
    if not changed:
        return []
    conditions = spec.get("matchConditions") or []
    return validate_match_conditions(conditions, path.child("matchConditions"), policy.expressions)


def validate_mutable_operations(match: Object, path: Path) -> list[FieldError]:
    """What is deleted cannot be changed."""
    return [
        not_supported(path.child("resourceRules", "operations"), operation, _MUTATING_OPERATIONS)
        for rule in match.get("resourceRules") or ()
        for operation in rule.get("operations") or ()
        if operation not in _MUTATING_OPERATIONS
    ]


def validate_param_kind(name: str, path: Path) -> list[FieldError]:
    wrong = is_dns1035_label(name.lower())
    if not wrong:
        return []
    text = "may have mixed case, but should otherwise match: " + ",".join(wrong)
    return [invalid(path, name, text)]


def validate_api_version(text: str, path: Path) -> list[FieldError]:
    if text.count("/") > 1:
        return [invalid(path, text, f"unexpected GroupVersion string: {text}")]
    group, _, version = text.rpartition("/")
    errors = []
    if group and (wrong := is_dns1123_subdomain(group)):
        errors.append(invalid(path, group, ",".join(wrong)))
    if not version:
        errors.append(invalid(path, text, "version must be specified"))
    elif wrong := is_dns1035_label(version):
        errors.append(invalid(path, version, ",".join(wrong)))
    return errors


def validate_variables(variables: Sequence[Object], place: Path, policy: _Policy) -> list[FieldError]:
    errors = []
    for number, variable in enumerate(variables):
        path = place.index(number)
        name, expression = variable.get("name", ""), variable.get("expression", "")
        if not name.strip():
            errors.append(required(path.child("name"), "name is not specified"))
        elif not is_identifier(name):
            errors.append(invalid(path.child("name"), name, "must be a valid CEL identifier"))
        if not expression.strip():
            errors.append(required(path.child("expression"), "expression is not specified"))
        else:
            errors += policy.expressions.variable(path.child("expression"), name, expression)
    return errors


def validate_expressions(validation: Object, path: Path, policy: _Policy) -> list[FieldError]:
    expressions = policy.expressions
    message, text = validation.get("message", ""), validation.get("messageExpression", "")
    expression = validation.get("expression", "")
    errors = []
    if not expression.strip():
        errors.append(required(path.child("expression"), "expression is not specified"))
    else:
        errors += expressions.check(path.child("expression"), expression)
    if text and not text.strip():
        errors.append(invalid(path.child("messageExpression"), text, "must be non-empty if specified"))
    elif text:
        errors += expressions.check(path.child("messageExpression"), text, "string", authorizer=False)
    if message and not message.strip():
        errors.append(invalid(path.child("message"), message, "must be non-empty if specified"))
    elif "\n" in message.strip() or "\r" in message.strip():
        errors.append(invalid(path.child("message"), message, "must not contain line breaks"))
    return errors


def validate_audit_annotations(annotations: list[Object], path: Path, policy: _Policy) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(annotations) > _MOST_ANNOTATIONS:
        shown = [as_internal(annotation, _ANNOTATION_SHAPE) for annotation in annotations]
        errors.append(invalid(path, shown, f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"))
    keys: set[str] = set()
    for number, annotation in enumerate(annotations):
        key, at = annotation.get("key", ""), path.index(number)
        if policy.name:
            full = f"{policy.name}/{key}"
            errors += invalids(at.child("key"), full, is_qualified_name(full))
        else:
            errors.append(invalid(at.child("key"), key, "requires metadata.name be non-empty"))
        errors += _annotation_value(annotation.get("valueExpression", ""), at, policy.expressions)
        if key in keys:
            errors.append(duplicate(at.child("key"), key))
        keys.add(key)
    return errors


def _annotation_value(expression: str, path: Path, expressions: Expressions) -> list[FieldError]:
    path, value = path.child("valueExpression"), expression.strip()
    if not value:
        return [required(path, "valueExpression is not specified")]
    if len(value.encode()) > _LONGEST_ANNOTATION:
        return [required(path, f"must not exceed {_LONGEST_ANNOTATION} bytes in length")]
    return [replace(error, value=expression) for error in expressions.check(path, value, "string or null")]


def validate_patch(mutation: Object, path: Path, policy: _Policy) -> list[FieldError]:
    kind = mutation.get("patchType", "")
    wanted, other, returns = "jsonPatch", "applyConfiguration", "JSONPatch"
    if kind == "ApplyConfiguration":
        wanted, other, returns = other, wanted, "Object"
    errors = []
    if mutation.get(wanted) is None:
        errors.append(required(path.child(wanted), f"must be specified when patchType is {kind}"))
    elif not (expression := mutation[wanted].get("expression", "").strip()):
        errors.append(required(path.child(wanted, "expression")))
    else:
        errors += policy.expressions.check(path.child(wanted, "expression"), expression, returns)
    if mutation.get(other) is not None:
        text = f"must not be specified when patchType is {kind}"
        errors.append(invalid(path.child(other), f"{{{other}}}", text))
    return errors


# --- Bindings


def validate_actions(actions: list[str], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if "Deny" in actions and "Warn" in actions:
        text = (
            "must not contain both Deny and Warn (repeating the same validation failure information "
            "in the API response and headers serves no purpose)"
        )
        errors.append(invalid(path, actions, text))
    return errors


# --- Status


def validate_policy_status(obj: Object, path: Path) -> list[FieldError]:
    status = obj.get("status") or {}
    here = _STATUS.child("typeChecking", "expressionWarnings")
    errors: list[FieldError] = []
    for number, warning in enumerate((status.get("typeChecking") or {}).get("expressionWarnings") or ()):
        errors += [
            required(here.index(number).child(field))
            for field in ("warning", "fieldRef")
            if not warning.get(field, "").strip()
        ]
    return errors + validate_conditions(status.get("conditions") or (), _STATUS.child("conditions"))
