"""Validation of authorization.k8s.io and authentication.k8s.io: reviews, which are asked and never stored.

Reviews have no name, so these checks look at metadata themselves; the API server calls `validate_review`
instead of the validation of stored objects.
"""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.compiled import compiled_rules
from steersman.cluster.schema.validation.internal_values import Shape, as_internal
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, invalid, not_supported, required
from steersman.objects.kinds import Object
from steersman.objects.names import is_dns1123_subdomain

__all__ = [
    "validate_attributes",
    "validate_empty_metadata",
    "validate_local_attributes",
    "validate_local_metadata",
    "validate_review",
    "validate_some_selector",
    "validate_token_request",
]

_SPEC: Final = Path("spec")
_METADATA: Final = Path("metadata")
_NON_RESOURCE_SHAPE: Final[Shape] = (("path", "Path", ""), ("verb", "Verb", ""))
_SHORTEST_TOKEN_S: Final = 10 * 60
_LONGEST_TOKEN_S: Final = 1 << 32
_WEBHOOKS: Final = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_API_GROUPS_ATTESTATION: Final = "admissionReviewAPIGroups"


def validate_review(group: str, kind: str, obj: Object) -> list[FieldError]:
    """What is wrong with a review; kinds that Kubernetes does not check are always right."""
    rules = compiled_rules(group, kind)
    return rules.create(obj) if rules is not None and rules.create is not None else []


def validate_local_attributes(obj: Object, path: Path) -> list[FieldError]:
    spec, path = obj.get("spec") or {}, path.child("spec")
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    errors = []
    if resource is not None and resource.get("namespace", "") != _metadata(obj).get("namespace", ""):
        here = path.child("resourceAttributes", "namespace")
        errors.append(invalid(here, resource.get("namespace", ""), "must match metadata.namespace"))
    if other is not None:
        shown = as_internal(other, _NON_RESOURCE_SHAPE)
        here = path.child("nonResourceAttributes")
        errors.append(invalid(here, shown, "disallowed on this kind of request"))
    return errors


def _metadata(obj: Object) -> Object:
    return obj.get("metadata") or {}


def validate_attributes(spec: Object, path: Path) -> list[FieldError]:
    other = spec.get("nonResourceAttributes")
    if (spec.get("resourceAttributes") is None) != (other is None):
        return []
    text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
    return [invalid(path, as_internal(other, _NON_RESOURCE_SHAPE), text)]


def validate_empty_metadata(obj: Object, path: Path) -> list[FieldError]:
    return _empty_metadata(obj)


def validate_local_metadata(obj: Object, path: Path) -> list[FieldError]:
    return _empty_metadata(obj, "namespace")


def _empty_metadata(obj: Object, *allowed: str) -> list[FieldError]:
    metadata = _metadata(obj)
    if not set(metadata) - {"managedFields", *allowed}:
        return []
    text = "must be empty" + "".join(f" except for {field}" for field in allowed)
    return [invalid(_METADATA, metadata, text)]


def validate_some_selector(selector: Object, path: Path) -> list[FieldError]:
    if selector.get("rawSelector") or selector.get("requirements"):
        return []
    text = f"when {path} is specified, requirements or rawSelector is required"
    return [required(path.child("requirements"), text)]


def validate_token_request(obj: Object, path: Path) -> list[FieldError]:
    spec = obj.get("spec") or {}
    attestations = spec.get("attestations")
    if not _binds_to_webhook(spec.get("boundObjectRef")) and attestations:
        text = "attestations may only be specified with a webhook bound object reference"
        return [invalid(_SPEC.child("attestations"), attestations, text)]
    seconds, errors = spec.get("expirationSeconds", 0), []
    at = _SPEC.child("expirationSeconds")
    if seconds < _SHORTEST_TOKEN_S:
        errors.append(invalid(at, seconds, "may not specify a duration less than 10 minutes"))
    if seconds > _LONGEST_TOKEN_S:
        errors.append(invalid(at, seconds, "may not specify a duration larger than 2^32 seconds"))
    if _binds_to_webhook(spec.get("boundObjectRef")):
        audiences = spec.get("audiences")
        if len(audiences or ()) != 1:
            text = "must be length 1 when bound to a webhook config"
            errors.append(invalid(_SPEC.child("audiences"), audiences, text))
        errors += _attestations(attestations, _SPEC.child("attestations"))
    return errors


def _binds_to_webhook(reference: Object | None) -> bool:
    if reference is None or reference.get("kind") not in _WEBHOOKS:
        return False
    return bool(reference.get("apiVersion") == "admissionregistration.k8s.io/v1")


def _attestations(attestations: Object | None, path: Path) -> list[FieldError]:
    if len(attestations or ()) != 1:
        text = "webhook bound requests require exactly one admissionReviewAPIGroups attestation"
        return [invalid(path, attestations, text)]
    [(key, values)] = (attestations or {}).items()
    at = path.key(key)
    if key != _API_GROUPS_ATTESTATION:
        return [not_supported(at, key, [_API_GROUPS_ATTESTATION])]
    if len(values or ()) != 1:
        return [invalid(at, values, "must specify a single value")]
    group = values[0]
    if not group:
        return [invalid(at.index(0), group, "may not be an empty string")]
    if group == "*":
        return []
    reasons = (f"must specify a valid API Group: {reason}" for reason in is_dns1123_subdomain(group))
    return invalids(at.index(0), group, reasons)
