"""Validation of authorization.k8s.io and authentication.k8s.io: reviews, which are asked and never stored.

Reviews have no name, so these checks look at metadata themselves; the API server calls `validate_review`
instead of the validation of stored objects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from steersman.cluster.schema.validation.internal_values import Shape, as_internal
from steersman.cluster.schema.validation.rules import Object, Rules, invalids
from steersman.objects.fields import FieldError, Path, forbidden, invalid, not_supported, required
from steersman.objects.metadata import validate_label_name
from steersman.objects.names import is_dns1123_subdomain, is_label_value

__all__ = ["RULES", "validate_review"]

_GROUP: Final = "authorization.k8s.io"
_SPEC: Final = Path("spec")
_METADATA: Final = Path("metadata")
_NON_RESOURCE_SHAPE: Final[Shape] = (("path", "Path", ""), ("verb", "Verb", ""))
_SHORTEST_TOKEN_S: Final = 10 * 60
_LONGEST_TOKEN_S: Final = 1 << 32
_WEBHOOKS: Final = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_API_GROUPS_ATTESTATION: Final = "admissionReviewAPIGroups"


def validate_review(group: str, kind: str, obj: Object) -> list[FieldError]:
    """What is wrong with a review; kinds that Kubernetes does not check are always right."""
    rules = RULES.get((group, kind))
    return rules.create(obj) if rules is not None and rules.create is not None else []


def _subject_access_review(obj: Object) -> list[FieldError]:
    return _attributes(obj) + _subject(obj) + _selectors(obj) + _empty_metadata(obj)


def _self_subject_access_review(obj: Object) -> list[FieldError]:
    return _attributes(obj) + _selectors(obj) + _empty_metadata(obj)


def _local_subject_access_review(obj: Object) -> list[FieldError]:
    errors = _attributes(obj) + _subject(obj) + _selectors(obj)
    errors += _empty_metadata(obj, "namespace")
    spec = obj.get("spec") or {}
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and resource.get("namespace", "") != _metadata(obj).get("namespace", ""):
        path = _SPEC.child("resourceAttributes", "namespace")
        errors.append(invalid(path, resource.get("namespace", ""), "must match metadata.namespace"))
    if other is not None:
        shown = as_internal(other, _NON_RESOURCE_SHAPE)
        errors.append(
            invalid(_SPEC.child("nonResourceAttributes"), shown, "disallowed on this kind of request")
        )
    return errors


def _metadata(obj: Object) -> Object:
    return obj.get("metadata") or {}


def _attributes(obj: Object) -> list[FieldError]:
    spec = obj.get("spec") or {}
    other = spec.get("nonResourceAttributes")
    if (spec.get("resourceAttributes") is None) != (other is None):
        return []
    text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
    return [invalid(_SPEC, as_internal(other, _NON_RESOURCE_SHAPE), text)]


def _subject(obj: Object) -> list[FieldError]:
    spec = obj.get("spec") or {}
    if spec.get("user") or spec.get("groups"):
        return []
    return [invalid(_SPEC.child("user"), "", "at least one of user or group must be specified")]


def _empty_metadata(obj: Object, *allowed: str) -> list[FieldError]:
    metadata = _metadata(obj)
    if not set(metadata) - {"managedFields", *allowed}:
        return []
    text = "must be empty" + "".join(f" except for {field}" for field in allowed)
    return [invalid(_METADATA, metadata, text)]


def _selectors(obj: Object) -> list[FieldError]:
    attributes = (obj.get("spec") or {}).get("resourceAttributes") or {}
    path = _SPEC.child("resourceAttributes")
    return [
        *_selector(attributes.get("fieldSelector"), _field_requirement, path.child("fieldSelector")),
        *_selector(attributes.get("labelSelector"), _label_requirement, path.child("labelSelector")),
    ]


def _selector(
    selector: Object | None, check: Callable[[Object, Path], list[FieldError]], path: Path
) -> list[FieldError]:
    if selector is None:
        return []
    raw, requirements = selector.get("rawSelector"), selector.get("requirements") or ()
    errors = []
    if raw and requirements:
        text = "may not specified at the same time as requirements"
        errors.append(invalid(path.child("rawSelector"), raw, text))
    if not raw and not requirements:
        text = f"when {path} is specified, requirements or rawSelector is required"
        errors.append(required(path.child("requirements"), text))
    for number, requirement in enumerate(requirements):
        errors += check(requirement, path.child("requirements").index(number))
    return errors


def _field_requirement(requirement: Object, path: Path) -> list[FieldError]:
    errors = [] if requirement.get("key") else [required(path.child("key"), "must be specified")]
    return errors + _values_for_operator(requirement, path)


def _label_requirement(requirement: Object, path: Path) -> list[FieldError]:
    errors = _values_for_operator(requirement, path)
    errors += validate_label_name(requirement.get("key", ""), path.child("key"))
    for number, value in enumerate(requirement.get("values") or ()):
        errors += invalids(path.child("values").index(number), value, is_label_value(value))
    return errors


def _values_for_operator(requirement: Object, path: Path) -> list[FieldError]:
    """Operators that are not known are let through: a newer client may know more of them."""
    operator, values = requirement.get("operator", ""), requirement.get("values")
    at = path.child("values")
    if operator in ("In", "NotIn") and not values:
        return [required(at, "must be specified when `operator` is 'In' or 'NotIn'")]
    if operator in ("Exists", "DoesNotExist") and values:
        return [forbidden(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
    return []


def _token_request(obj: Object) -> list[FieldError]:
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


RULES: Final = {
    (_GROUP, "SubjectAccessReview"): Rules(create=_subject_access_review),
    (_GROUP, "SelfSubjectAccessReview"): Rules(create=_self_subject_access_review),
    (_GROUP, "LocalSubjectAccessReview"): Rules(create=_local_subject_access_review),
    ("authentication.k8s.io", "TokenRequest"): Rules(create=_token_request),
}
