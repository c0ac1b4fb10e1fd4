"""Validation of admission webhook configurations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from steersman.cluster.schema.validation.admission_expressions import Expressions
from steersman.cluster.schema.validation.admission_matching import (
    FAILURE_POLICIES,
    REINVOCATION_POLICIES,
    validate_choice,
    validate_match_conditions,
    validate_rule,
)
from steersman.cluster.schema.validation.rules import Object, invalids
from steersman.objects.fields import FieldError, Path, duplicate, invalid, not_supported, quote, required
from steersman.objects.metadata import validate_label_selector
from steersman.objects.names import (
    is_dns1035_label,
    is_dns1123_subdomain,
    is_fully_qualified_name,
    is_port_number,
)

__all__ = ["validate_client_config", "validate_webhooks", "validate_webhooks_update"]

_WEBHOOKS: Final = Path("webhooks")
_MATCH_POLICIES: Final = ("Equivalent", "Exact")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun", "Some", "Unknown")
_NO_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_URL_FORM: Final = "; desired format: https://host[/path]"


@dataclass(frozen=True, slots=True)
class _Strictness:
    """What is asked of webhooks; an update is not asked for more than the object already kept to."""

    side_effects: tuple[str, ...] = _NO_SIDE_EFFECTS
    known_review_version: bool = True
    unique_names: bool = True
    allow_invalid_label_values: bool = False
    match_conditions: bool = True


def validate_webhooks(obj: Object) -> list[FieldError]:
    return _validate(obj, _Strictness())


def validate_webhooks_update(obj: Object, old: Object) -> list[FieldError]:
    hooks, before = obj.get("webhooks") or [], old.get("webhooks") or []
    names = [hook.get("name", "") for hook in before]
    unchanged = [hook.get("matchConditions") for hook in hooks] == [
        hook.get("matchConditions") for hook in before
    ]
    free_of_effects = all(hook.get("sideEffects") in _NO_SIDE_EFFECTS for hook in before)
    strictness = _Strictness(
        _NO_SIDE_EFFECTS if free_of_effects else _SIDE_EFFECTS,
        all(_knows_a_version(hook) for hook in before if hook.get("admissionReviewVersions")),
        len(set(names)) == len(names),
        any(_selector_errors(hook, _WEBHOOKS, False) for hook in before),
        not unchanged,
    )
    return _validate(obj, strictness)


def _knows_a_version(hook: Object) -> bool:
    return not set(_REVIEW_VERSIONS).isdisjoint(hook.get("admissionReviewVersions") or ())


def _validate(obj: Object, strictness: _Strictness) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for number, hook in enumerate(obj.get("webhooks") or ()):
        path, name = _WEBHOOKS.index(number), hook.get("name", "")
        errors += _hook(hook, strictness, path)
        errors += _review_versions(hook, strictness, path.child("admissionReviewVersions"))
        if strictness.unique_names and name:
            if name in names:
                errors.append(duplicate(path.child("name"), name))
            names.add(name)
    return errors


def _hook(hook: Object, strictness: _Strictness, path: Path) -> list[FieldError]:
    name, effects, timeout = (hook.get(field) for field in ("name", "sideEffects", "timeoutSeconds"))
    at = path.child("name")
    errors = invalids(at, name, is_fully_qualified_name(name)) if name else [required(at)]
    for number, rule in enumerate(hook.get("rules") or ()):
        errors += validate_rule(rule, path.child("rules").index(number))
    errors += validate_choice(hook, "failurePolicy", FAILURE_POLICIES, path)
    errors += validate_choice(hook, "matchPolicy", _MATCH_POLICIES, path)
    allowed = strictness.side_effects
    if effects is None:
        errors.append(required(path.child("sideEffects"), f"must specify one of {', '.join(allowed)}"))
    elif effects not in allowed:
        errors.append(not_supported(path.child("sideEffects"), effects, allowed))
    if timeout is not None and not 1 <= timeout <= 30:
        text = "the timeout value must be between 1 and 30 seconds"
        errors.append(invalid(path.child("timeoutSeconds"), timeout, text))
    errors += _selector_errors(hook, path, strictness.allow_invalid_label_values)
    errors += validate_choice(hook, "reinvocationPolicy", REINVOCATION_POLICIES, path)
    errors += validate_client_config(hook.get("clientConfig") or {}, path.child("clientConfig"))
    if strictness.match_conditions:
        conditions, at = hook.get("matchConditions") or [], path.child("matchConditions")
        errors += validate_match_conditions(conditions, at, Expressions())
    return errors


def _selector_errors(hook: Object, path: Path, lenient: bool) -> list[FieldError]:
    return [
        error
        for field in ("namespaceSelector", "objectSelector")
        for error in validate_label_selector(hook.get(field), path.child(field), allow_invalid_values=lenient)
    ]


def _review_versions(hook: Object, strictness: _Strictness, path: Path) -> list[FieldError]:
    versions = hook.get("admissionReviewVersions") or []
    known = ", ".join(_REVIEW_VERSIONS)
    if not versions:
        return [required(path, f"must specify one of {known}")]
    errors: list[FieldError] = []
    for number, version in enumerate(versions):
        if version in versions[:number]:
            errors.append(invalid(path.index(number), version, "duplicate version"))
        else:
            errors += invalids(path.index(number), version, is_dns1035_label(version))
    if strictness.known_review_version and not _knows_a_version(hook):
        errors.append(invalid(path, versions, f"must include at least one of {known}"))
    return errors


# --- Where a webhook is called


def validate_client_config(config: Object, path: Path) -> list[FieldError]:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    return _url(url, path.child("url")) if url is not None else _service(service or {}, path.child("service"))


def _url(url: str, path: Path) -> list[FieldError]:
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


def _service(service: Object, path: Path) -> list[FieldError]:
    port = service.get("port", 0)
    # Kubernetes mixes the two up: each is reported missing where the other one is.
    errors = [] if service.get("namespace") else [required(path.child("name"))]
    errors += [] if service.get("name") else [required(path.child("namespace"))]
    if wrong := is_port_number(port):
        errors.append(invalid(path.child("port"), port, f"port is not valid: {', '.join(wrong)}"))
    return errors + _service_path(service.get("path") or "/", path.child("path"))


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
