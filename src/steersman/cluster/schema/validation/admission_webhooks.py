"""Validation of admission webhook configurations: what rules.txt cannot say about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from steersman.cluster.schema.validation.admission_expressions import Expressions
from steersman.cluster.schema.validation.admission_matching import validate_match_conditions
from steersman.cluster.schema.validation.compiled import compiled_check
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, duplicate, invalid, not_supported, quote, required
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_label_selector
from steersman.objects.names import is_dns1035_label, is_dns1123_subdomain, is_port_number

__all__ = [
    "strictness_of",
    "validate_client_config",
    "validate_conditions",
    "validate_different_name",
    "validate_path",
    "validate_port",
    "validate_review_versions",
    "validate_selector",
    "validate_side_effects",
    "validate_url",
]

_WEBHOOKS: Final = Path("webhooks")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun", "Some", "Unknown")
_NO_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_validate_client_config = compiled_check("admissionregistration.v1.WebhookClientConfig")
_URL_FORM: Final = "; desired format: https://host[/path]"


@dataclass(frozen=True, slots=True)
class _Strictness:
    """What is asked of webhooks; an update is not asked for more than the object already kept to."""

    side_effects: tuple[str, ...] = _NO_SIDE_EFFECTS
    known_review_version: bool = True
    unique_names: bool = True
    allow_invalid_label_values: bool = False
    match_conditions: bool = True
    names: set[str] = field(default_factory=set)
    """Those of the webhooks before this one."""


def strictness_of(obj: Object, old: Object | None) -> _Strictness:
    if old is None:
        return _Strictness()
    hooks, before = obj.get("webhooks") or [], old.get("webhooks") or []
    names = [hook.get("name", "") for hook in before]
    unchanged = [hook.get("matchConditions") for hook in hooks] == [
        hook.get("matchConditions") for hook in before
    ]
    free_of_effects = all(hook.get("sideEffects") in _NO_SIDE_EFFECTS for hook in before)
    return _Strictness(
        _NO_SIDE_EFFECTS if free_of_effects else _SIDE_EFFECTS,
        all(_knows_a_version(hook) for hook in before if hook.get("admissionReviewVersions")),
        len(set(names)) == len(names),
        any(_has_odd_labels(hook) for hook in before),
        not unchanged,
    )


def _has_odd_labels(hook: Object) -> bool:
    selectors = (hook.get("namespaceSelector"), hook.get("objectSelector"))
    return any(validate_label_selector(selector, Path()) for selector in selectors)


def _knows_a_version(hook: Object) -> bool:
    return not set(_REVIEW_VERSIONS).isdisjoint(hook.get("admissionReviewVersions") or ())


def validate_different_name(hook: Object, path: Path, strictness: _Strictness) -> list[FieldError]:
    name = hook.get("name", "")
    if not strictness.unique_names or not name:
        return []
    known = name in strictness.names
    strictness.names.add(name)
    return [duplicate(path.child("name"), name)] if known else []


def validate_side_effects(hook: Object, path: Path, strictness: _Strictness) -> list[FieldError]:
    effects, allowed, path = hook.get("sideEffects"), strictness.side_effects, path.child("sideEffects")
    if effects is None:
        return [required(path, f"must specify one of {', '.join(allowed)}")]
    return [] if effects in allowed else [not_supported(path, effects, allowed)]


def validate_selector(selector: Object, path: Path, strictness: _Strictness) -> list[FieldError]:
    return validate_label_selector(selector, path, allow_invalid_values=strictness.allow_invalid_label_values)


def validate_conditions(conditions: list[Object], path: Path, strictness: _Strictness) -> list[FieldError]:
    if not strictness.match_conditions:
        return []
    return validate_match_conditions(conditions, path, Expressions())


def validate_review_versions(versions: list[str], path: Path, strictness: _Strictness) -> list[FieldError]:
    known = ", ".join(_REVIEW_VERSIONS)
    errors: list[FieldError] = []
    for number, version in enumerate(versions):
        if version in versions[:number]:
            errors.append(invalid(path.index(number), version, "duplicate version"))
        else:
            errors += invalids(path.index(number), version, is_dns1035_label(version))
    if strictness.known_review_version and set(_REVIEW_VERSIONS).isdisjoint(versions):
        errors.append(invalid(path, versions, f"must include at least one of {known}"))
    return errors


# --- Where a webhook is called


def validate_client_config(config: Object, path: Path) -> list[FieldError]:
    return _validate_client_config(config, path)


def validate_url(url: str, path: Path) -> list[FieldError]:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        return [required(path, f"url must be a valid URL: parse {quote(url)}: {error}{_URL_FORM}")]
    user, at, host = parts.netloc.rpartition("@")
    errors = []
    if parts.scheme != "https":
        errors.append(invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_URL_FORM}"))
    if not host:
        errors.append(invalid(path, "", f"host must be specified{_URL_FORM}"))
    if at:
        errors.append(invalid(path, user, "user information is not permitted in the URL"))
    if parts.fragment:
        errors.append(invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(invalid(path, parts.query, "query parameters are not permitted in the URL"))
    return errors


def validate_port(service: Object, path: Path) -> list[FieldError]:
    port = service.get("port", 0)
    if wrong := is_port_number(port):
        return [invalid(path.child("port"), port, f"port is not valid: {', '.join(wrong)}")]
    return []


def validate_path(service: Object, path: Path) -> list[FieldError]:
    return _service_path(service.get("path") or "/", path.child("path"))


def _service_path(target: str, path: Path) -> list[FieldError]:
    if target == "/":
        return []
    if target == "//":
        return [invalid(path, target, "segment[0] may not be empty")]
    errors = [] if target.startswith("/") else [invalid(path, target, "must start with a '/'")]
    for number, segment in enumerate(target[1:].removesuffix("/").split("/")):
        if not segment:
            errors.append(invalid(path, target, f"segment[{number}] may not be empty"))
            continue
        errors += invalids(
            path, target, (f"segment[{number}]: {text}" for text in is_dns1123_subdomain(segment))
        )
    return errors
