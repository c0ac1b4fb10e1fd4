"""Validation of admission policies and their bindings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from steersman.cluster.cel.words import is_identifier
from steersman.cluster.schema.validation.admission_expressions import Expressions
from steersman.cluster.schema.validation.admission_matching import (
    FAILURE_POLICIES,
    REINVOCATION_POLICIES,
    validate_choice,
    validate_match_conditions,
    validate_match_resources,
)
from steersman.cluster.schema.validation.internal_values import Shape, as_internal
from steersman.cluster.schema.validation.rules import Object, invalids
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from steersman.objects.metadata import validate_conditions, validate_label_selector
from steersman.objects.names import (
    is_dns1035_label,
    is_dns1123_subdomain,
    is_path_segment_name,
    is_qualified_name,
)

__all__ = [
    "declared_of_binding",
    "validate_mutating_binding",
    "validate_mutating_policy",
    "validate_policy_status",
    "validate_validating_binding",
    "validate_validating_policy",
]

_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_MUTATING_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_PATCH_TYPES: Final = ("ApplyConfiguration", "JSONPatch")
_MOST_ANNOTATIONS: Final = 20
_LONGEST_ANNOTATION: Final = 5 * 1024
_ANNOTATION_SHAPE: Final[Shape] = (("key", "Key", ""), ("valueExpression", "ValueExpression", ""))


# --- Policies


def validate_validating_policy(obj: Object, old: Object | None = None) -> list[FieldError]:
    spec = obj.get("spec") or {}
    expressions = _expressions(spec, composed=bool(spec.get("variables")))
    errors = _policy_head(spec, old, expressions)
    errors += _variables(spec.get("variables") or (), expressions)
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or []
    if not validations and not annotations:
        text = "validations or auditAnnotations must contain at least one item"
        return [
            *errors,
            *(required(_SPEC.child(field), text) for field in ("validations", "auditAnnotations")),
        ]
    for number, validation in enumerate(validations):
        errors += _validation(validation, _SPEC.child("validations").index(number), expressions)
    return errors + _annotations(obj["metadata"].get("name", ""), annotations, expressions)


def validate_mutating_policy(obj: Object, old: Object | None = None) -> list[FieldError]:
    spec = obj.get("spec") or {}
    expressions = _expressions(spec, composed=True)
    errors = _policy_head(spec, old, expressions, mutating=True)
    errors += _variables(spec.get("variables") or (), expressions)
    mutations = spec.get("mutations") or ()
    if not mutations:
        errors.append(required(_SPEC.child("mutations"), "mutations must contain at least one item"))
    for number, mutation in enumerate(mutations):
        errors += _mutation(mutation, _SPEC.child("mutations").index(number), expressions)
    if not spec.get("reinvocationPolicy"):
        return [*errors, required(_SPEC.child("reinvocationPolicy"))]
    return errors + validate_choice(spec, "reinvocationPolicy", REINVOCATION_POLICIES, _SPEC)


def _expressions(spec: Object, *, composed: bool) -> Expressions:
    return Expressions(params=spec.get("paramKind") is not None, composed=composed)


def _policy_head(
    spec: Object, old: Object | None, expressions: Expressions, *, mutating: bool = False
) -> list[FieldError]:
    """What both kinds of policies start with: when they apply, and to what."""
    errors: list[FieldError] = []
    if spec.get("failurePolicy") is None:
        errors.append(required(_SPEC.child("failurePolicy")))
    errors += validate_choice(spec, "failurePolicy", FAILURE_POLICIES, _SPEC)
    if spec.get("paramKind") is not None:
        errors += _param_kind(spec["paramKind"], _SPEC.child("paramKind"))
    constraints, path = spec.get("matchConstraints"), _SPEC.child("matchConstraints")
    if constraints is None:
        errors.append(required(path))
    else:
        errors += validate_match_resources(constraints, path)
        if not constraints.get("resourceRules"):
            errors.append(required(path.child("resourceRules")))
        errors += _mutable_operations(constraints, path) if mutating else []
    before = None if old is None else old.get("spec") or {}
    if before is None or any(before.get(key) != spec.get(key) for key in ("paramKind", "matchConditions")):
        path = _SPEC.child("matchConditions")
        errors += validate_match_conditions(spec.get("matchConditions") or [], path, expressions)
    return errors


def _mutable_operations(match: Object, path: Path) -> list[FieldError]:
    """What is deleted cannot be changed."""
    return [
        not_supported(path.child("resourceRules", "operations"), operation, _MUTATING_OPERATIONS)
        for rule in match.get("resourceRules") or ()
        for operation in rule.get("operations") or ()
        if operation not in _MUTATING_OPERATIONS
    ]


def _param_kind(kind: Object, path: Path) -> list[FieldError]:
    version, name = kind.get("apiVersion", ""), kind.get("kind", "")
    errors = _api_version(version, path.child("apiVersion"))
    if not name:
        errors.append(required(path.child("kind")))
    elif wrong := is_dns1035_label(name.lower()):
        text = "may have mixed case, but should otherwise match: " + ",".join(wrong)
        errors.append(invalid(path.child("kind"), name, text))
    return errors


def _api_version(text: str, path: Path) -> list[FieldError]:
    if not text:
        return [required(path)]
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


def _variables(variables: Sequence[Object], expressions: Expressions) -> list[FieldError]:
    errors = []
    for number, variable in enumerate(variables):
        path = _SPEC.child("variables").index(number)
        name, expression = variable.get("name", ""), variable.get("expression", "")
        if not name.strip():
            errors.append(required(path.child("name"), "name is not specified"))
        elif not is_identifier(name):
            errors.append(invalid(path.child("name"), name, "must be a valid CEL identifier"))
        if not expression.strip():
            errors.append(required(path.child("expression"), "expression is not specified"))
        else:
            errors += expressions.variable(path.child("expression"), name, expression)
    return errors


def _validation(validation: Object, path: Path, expressions: Expressions) -> list[FieldError]:
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
    return errors + validate_choice(validation, "reason", _REASONS, path)


def _annotations(policy: str, annotations: list[Object], expressions: Expressions) -> list[FieldError]:
    path = _SPEC.child("auditAnnotations")
    errors: list[FieldError] = []
    if len(annotations) > _MOST_ANNOTATIONS:
        shown = [as_internal(annotation, _ANNOTATION_SHAPE) for annotation in annotations]
        errors.append(invalid(path, shown, f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"))
    keys: set[str] = set()
    for number, annotation in enumerate(annotations):
        key, at = annotation.get("key", ""), path.index(number)
        if policy:
            full = f"{policy}/{key}"
            errors += invalids(at.child("key"), full, is_qualified_name(full))
        else:
            errors.append(invalid(at.child("key"), key, "requires metadata.name be non-empty"))
        errors += _annotation_value(annotation.get("valueExpression", ""), at, expressions)
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


def _mutation(mutation: Object, path: Path, expressions: Expressions) -> list[FieldError]:
    kind = mutation.get("patchType", "")
    if not kind:
        return [required(path.child("patchType"))]
    if kind not in _PATCH_TYPES:
        return [not_supported(path.child("patchType"), kind, _PATCH_TYPES)]
    wanted, other, returns = "jsonPatch", "applyConfiguration", "JSONPatch"
    if kind == "ApplyConfiguration":
        wanted, other, returns = other, wanted, "Object"
    errors = []
    if mutation.get(wanted) is None:
        errors.append(required(path.child(wanted), f"must be specified when patchType is {kind}"))
    elif not (expression := mutation[wanted].get("expression", "").strip()):
        errors.append(required(path.child(wanted, "expression")))
    else:
        errors += expressions.check(path.child(wanted, "expression"), expression, returns)
    if mutation.get(other) is not None:
        text = f"must not be specified when patchType is {kind}"
        errors.append(invalid(path.child(other), f"{{{other}}}", text))
    return errors


# --- Bindings


def validate_validating_binding(obj: Object) -> list[FieldError]:
    spec = obj.get("spec") or {}
    return _binding(spec) + _actions(spec.get("validationActions") or [], _SPEC.child("validationActions"))


def declared_of_binding(obj: Object, old: Object | None) -> list[FieldError]:
    spec, before = obj.get("spec") or {}, None if old is None else old.get("spec") or {}
    return [
        required(_SPEC.child(field))
        for field in ("policyName", "validationActions")
        if not spec.get(field) and (before is None or before.get(field))
    ]


def validate_mutating_binding(obj: Object) -> list[FieldError]:
    spec = obj.get("spec") or {}
    errors = [] if spec.get("policyName") else [required(_SPEC.child("policyName"))]
    errors += _binding(spec)
    return errors + _mutable_operations(spec.get("matchResources") or {}, _SPEC.child("matchResources"))


def _binding(spec: Object) -> list[FieldError]:
    policy = spec.get("policyName", "")
    errors = invalids(_SPEC.child("policyName"), policy, is_dns1123_subdomain(policy)) if policy else []
    if spec.get("paramRef") is not None:
        errors += _param_ref(spec["paramRef"], _SPEC.child("paramRef"))
    return errors + validate_match_resources(spec.get("matchResources"), _SPEC.child("matchResources"))


def _param_ref(reference: Object, path: Path) -> list[FieldError]:
    name, selector = reference.get("name", ""), reference.get("selector")
    text = "name and selector are mutually exclusive"
    errors: list[FieldError] = []
    if name:
        errors += invalids(path.child("name"), name, is_path_segment_name(name))
        errors += [] if selector is None else [forbidden(path.child("name"), text)]
    if selector is not None:
        errors += validate_label_selector(selector, path.child("selector"))
        errors += [forbidden(path.child("selector"), text)] if name else []
    if not name and selector is None:
        errors.append(required(path, "one of name or selector must be specified"))
    if not reference.get("parameterNotFoundAction"):
        return [*errors, required(path.child("parameterNotFoundAction"))]
    return errors + validate_choice(reference, "parameterNotFoundAction", ("Deny", "Allow"), path)


def _actions(actions: list[str], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for number, action in enumerate(actions):
        if action not in _ACTIONS:
            errors.append(not_supported(path.index(number), action, _ACTIONS))
        if action in actions[:number]:
            errors.append(duplicate(path.index(number), action))
    if "Deny" in actions and "Warn" in actions:
        text = (
            "must not contain both Deny and Warn (repeating the same validation failure information "
            "in the API response and headers serves no purpose)"
        )
        errors.append(invalid(path, actions, text))
    return errors


# --- Status


def validate_policy_status(obj: Object, old: Object) -> list[FieldError]:
    status = obj.get("status") or {}
    path = _STATUS.child("typeChecking", "expressionWarnings")
    errors: list[FieldError] = []
    for number, warning in enumerate((status.get("typeChecking") or {}).get("expressionWarnings") or ()):
        errors += [
            required(path.index(number).child(field))
            for field in ("warning", "fieldRef")
            if not warning.get(field, "").strip()
        ]
    return errors + validate_conditions(status.get("conditions") or (), _STATUS.child("conditions"))
