"""What claims, classes and slices of devices share: names, selectors and opaque configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import orjson

from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, duplicate, invalid, required, too_long
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_label_name
from steersman.objects.names import is_c_identifier, is_dns1123_subdomain

__all__ = [
    "qualified_name",
    "validate_binding_conditions",
    "validate_different",
    "validate_different_names",
    "validate_each",
    "validate_fully_qualified_name",
    "validate_opaque",
    "validate_pool_name",
    "validate_selectors",
]

_MOST_SELECTORS: Final = 32
_LONGEST_DRIVER: Final = 63
_LONGEST_IDENTIFIER: Final = 32
_LONGEST_POOL: Final = 253
_LONGEST_EXPRESSION: Final = 10 * 1024
_LARGEST_PARAMETERS: Final = 10 * 1024
_MOST_BINDING_CONDITIONS: Final = 4

Item = Callable[[Any, Path], list[FieldError]]


def validate_each(items: Sequence[Any], most: int, check: Item, path: Path) -> list[FieldError]:
    """Every item of a list that is not too long; that it is too long is a declared rule's to say."""
    if len(items) > most:
        return []
    return [error for number, item in enumerate(items) for error in check(item, path.index(number))]


def validate_different(items: Sequence[Object], path: Path, key: str) -> list[FieldError]:
    """Items differ by their key; one that repeats another's is shown whole."""
    keys = [item.get(key, "") for item in items]
    return [duplicate(path.index(n), item) for n, item in enumerate(items) if keys[n] in keys[:n]]


def validate_different_names(items: Sequence[Object], path: Path) -> list[FieldError]:
    return validate_different(items, path, "name")


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

    return validate_each(selectors, _MOST_SELECTORS, check, path)


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
