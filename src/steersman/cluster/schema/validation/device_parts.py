"""What claims, classes and slices of devices share: names, taints, tolerations and opaque configuration.

Each part has two checks: the first is asked early, the `declared` one after everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

import orjson

from steersman.cluster.schema.validation.rules import Object, invalids
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
    too_long_text,
    too_many,
)
from steersman.objects.metadata import validate_label_name
from steersman.objects.names import (
    is_c_identifier,
    is_dns1123_subdomain,
    is_dns1123_subdomain_caseless,
    is_label_value,
)

__all__ = [
    "MOST_SELECTORS",
    "declared_driver",
    "declared_effect",
    "declared_list",
    "declared_toleration",
    "qualified_name",
    "validate_binding_conditions",
    "validate_each",
    "validate_fully_qualified_name",
    "validate_opaque",
    "validate_pool_name",
    "validate_selectors",
    "validate_taint",
    "validate_toleration",
]

MOST_SELECTORS: Final = 32
_LONGEST_DRIVER: Final = 63
_LONGEST_IDENTIFIER: Final = 32
_LONGEST_POOL: Final = 253
_LONGEST_EXPRESSION: Final = 10 * 1024
_LARGEST_PARAMETERS: Final = 10 * 1024
_MOST_BINDING_CONDITIONS: Final = 4
_OPERATORS: Final = ("Equal", "Exists")
_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")

Item = Callable[[Any, Path], list[FieldError]]


def validate_each(items: Sequence[Any], most: int, check: Item, path: Path) -> list[FieldError]:
    """Every item of a list that is not too long; that it is too long is a declared rule's to say."""
    if len(items) > most:
        return []
    return [error for number, item in enumerate(items) for error in check(item, path.index(number))]


def declared_list(
    items: Sequence[Any],
    most: int,
    path: Path,
    check: Item | None = None,
    key: Callable[[Any], Hashable] | None = None,
) -> list[FieldError]:
    """A list with a limit, whose items differ by their key; an item that repeats one is shown whole."""
    if len(items) > most:
        return [too_many(path, len(items), most)]
    errors: list[FieldError] = []
    if key is not None:
        keys = [key(item) for item in items]
        errors += [duplicate(path.index(n), item) for n, item in enumerate(items) if keys[n] in keys[:n]]
    return errors + (validate_each(items, most, check, path) if check is not None else [])


# --- Names


def validate_pool_name(name: str, path: Path) -> list[FieldError]:
    if not name:
        return [required(path)]
    errors = [too_long(path, _LONGEST_POOL)] if len(name) > _LONGEST_POOL else []
    for part in name.split("/"):
        errors += invalids(path, part, is_dns1123_subdomain(part))
    return errors


def qualified_name(name: str, path: Path) -> list[FieldError]:
    """An identifier, or one behind the domain of its driver."""
    domain, slash, identifier = name.rpartition("/")
    if domain.count("/"):
        return []
    errors: list[FieldError] = []
    if slash and not domain:
        errors.append(invalid(path, "", "the domain must not be empty"))
    elif slash:
        errors += [too_long(path, _LONGEST_DRIVER)] if len(domain) > _LONGEST_DRIVER else []
        errors += invalids(path, domain, is_dns1123_subdomain(domain.lower()))
    if slash and not identifier:
        return [*errors, invalid(path, "", "the name must not be empty")]
    errors += [too_long(path, _LONGEST_IDENTIFIER)] if len(identifier) > _LONGEST_IDENTIFIER else []
    return errors + invalids(path, identifier, is_c_identifier(identifier))


def validate_fully_qualified_name(name: str, path: Path) -> list[FieldError]:
    errors = qualified_name(name, path)
    if "/" not in name:
        text = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(invalid(path, name, text))
    return errors


def declared_driver(name: str, path: Path) -> list[FieldError]:
    if not name:
        return [required(path)]
    errors = invalids(path, name, is_dns1123_subdomain_caseless(name))
    if len(name) > _LONGEST_DRIVER:
        errors.append(too_long_text(path, _LONGEST_DRIVER))
    return errors


# --- Taints and tolerations


def validate_taint(taint: Object, path: Path) -> list[FieldError]:
    value = taint.get("value", "")
    return [
        *validate_label_name(taint.get("key", ""), path.child("key")),
        *invalids(path.child("value"), value, is_label_value(value)),
    ]


def declared_effect(obj: Object, path: Path, *, needed: bool) -> list[FieldError]:
    effect = obj.get("effect", "")
    if not effect:
        return [required(path.child("effect"))] if needed else []
    return [] if effect in _EFFECTS else [not_supported(path.child("effect"), effect, _EFFECTS)]


def validate_toleration(toleration: Object, path: Path) -> list[FieldError]:
    operator, value = toleration.get("operator", ""), toleration.get("value", "")
    if operator == "Exists" and value:
        return [invalid(path.child("value"), value, "must be empty for operator `Exists`")]
    return invalids(path.child("value"), value, is_label_value(value)) if operator == "Equal" else []


def declared_toleration(toleration: Object, path: Path) -> list[FieldError]:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    errors = validate_label_name(key, path.child("key")) if key else []
    if not operator:
        errors.append(required(path.child("operator")))
    elif operator not in _OPERATORS:
        errors.append(not_supported(path.child("operator"), operator, _OPERATORS))
    return errors + declared_effect(toleration, path, needed=False)


# --- Selectors, configuration and conditions


def validate_selectors(selectors: Sequence[Object], path: Path) -> list[FieldError]:
    """Expressions must not be too long, and compile."""
    # Loading the language takes long, and few clusters have such objects.
    from steersman.cluster.cel import CompileError
    from steersman.cluster.cel.devices import compile_device_selector

    def check(selector: Object, at: Path) -> list[FieldError]:
        cel = selector.get("cel")
        if cel is None:
            return [required(at.child("cel"))]
        expression, place = cel.get("expression", ""), at.child("cel", "expression")
        if len(expression.encode()) > _LONGEST_EXPRESSION:
            return [too_long(place, _LONGEST_EXPRESSION)]
        if "cel.bind" in expression:
            # The one library that is missing here.
            return []
        try:
            compile_device_selector(expression)
        except CompileError as error:
            return [invalid(place, expression, str(error))]
        return []

    return validate_each(selectors, MOST_SELECTORS, check, path)


def validate_opaque(config: Object, path: Path) -> list[FieldError]:
    """Configuration for a driver; what it says is between the driver and its users."""
    opaque = config.get("opaque")
    if opaque is None:
        return [required(path.child("opaque"))]
    parameters, at = opaque.get("parameters"), path.child("opaque", "parameters")
    if parameters is None:
        return [required(at)]
    if len(orjson.dumps(parameters)) > _LARGEST_PARAMETERS:
        return [too_long(at, _LARGEST_PARAMETERS)]
    if not isinstance(parameters, dict):
        return [invalid(at, "<value omitted>", "must be a valid JSON object")]
    return []


def validate_binding_conditions(obj: Object, path: Path) -> list[FieldError]:
    """Conditions that must hold before a pod is bound, and those that say they never will."""
    names = ("bindingConditions", "bindingFailureConditions")
    wanted, failing = (obj.get(name) or [] for name in names)
    errors: list[FieldError] = []
    for name, conditions in zip(names, (wanted, failing), strict=True):
        errors += validate_each(conditions, _MOST_BINDING_CONDITIONS, validate_label_name, path.child(name))
    for name, conditions in zip(names, (wanted, failing), strict=True):
        for number, condition in enumerate(conditions):
            at = path.child(name).index(number)
            if condition in conditions[:number]:
                errors.append(duplicate(at, condition))
            if conditions is failing and condition in wanted:
                text = "bindingFailureConditions must not overlap with bindingConditions"
                errors.append(invalid(at, condition, text))
    for name, other, missing in ((*names, not wanted and failing), (*names[::-1], not failing and wanted)):
        if missing:
            errors.append(invalid(path.child(name), None, f"{name} are required to use {other}"))
    return errors
