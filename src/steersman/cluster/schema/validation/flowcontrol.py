"""Validation of flowcontrol.apiserver.k8s.io: what rules.txt cannot say about flow schemas and priorities."""

from __future__ import annotations

import math
from typing import Final

from steersman.cluster.schema.validation.flowcontrol_mandatory import (
    validate_mandatory_level,
    validate_mandatory_schema,
)
from steersman.cluster.schema.validation.internal_values import Shape, as_internal
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, forbidden, invalid, not_supported
from steersman.objects.kinds import Object
from steersman.objects.names import is_dns1123_label

__all__ = [
    "validate_annotations_and_type",
    "validate_distinguisher",
    "validate_hand_size",
    "validate_mandatory_flow",
    "validate_mandatory_priority",
    "validate_namespaces",
    "validate_precedence",
    "validate_urls",
    "validate_verbs",
    "validate_wildcard_alone",
]

_EXEMPT: Final = "exempt"
_HIGHEST_PRECEDENCE: Final = 10000
_MOST_HASH_BITS: Final = 60
_DISTINGUISHERS: Final = ("ByNamespace", "ByUser")
_VERBS: Final = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "proxy",
    "update",
    "watch",
)
_WITHOUT_ROUND_TRIP: Final = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"
_NAMESPACE_INTRO: Final = "each member of this list must be '*' or a DNS-1123 label; "


_METHOD_SHAPE: Final[Shape] = (("type", "Type", ""),)


# --- Flow schemas


def validate_distinguisher(spec: Object, path: Path) -> list[FieldError]:
    method = spec.get("distinguisherMethod")
    if method is None or method.get("type") in _DISTINGUISHERS:
        return []
    here = path.child("distinguisherMethod", "type")
    return [not_supported(here, as_internal(method, _METHOD_SHAPE), _DISTINGUISHERS)]


def validate_mandatory_flow(obj: Object, path: Path) -> list[FieldError]:
    return validate_mandatory_schema(
        obj["metadata"].get("name", ""), obj.get("spec") or {}, path.child("spec")
    )


def validate_precedence(obj: Object, path: Path) -> list[FieldError]:
    name, path = obj["metadata"].get("name", ""), path.child("spec", "matchingPrecedence")
    precedence = (obj.get("spec") or {}).get("matchingPrecedence", 0)
    if precedence <= 0:
        return [invalid(path, precedence, "must be a positive value")]
    if precedence > _HIGHEST_PRECEDENCE:
        return [invalid(path, precedence, f"must not be greater than {_HIGHEST_PRECEDENCE}")]
    if precedence == 1 and name != _EXEMPT:
        text = "only the schema named 'exempt' may have matchingPrecedence 1"
        return [invalid(path, precedence, text)]
    return []


def validate_wildcard_alone(values: list[str], path: Path, others: str) -> list[FieldError]:
    if len(values) < 2 or "*" not in values:
        return []
    return [invalid(path, values, f"if '*' is present, must not specify other {others}")]


def validate_namespaces(namespaces: list[str], path: Path) -> list[FieldError]:
    if "*" in namespaces:
        return validate_wildcard_alone(namespaces, path, "namespaces")
    return [
        error
        for number, namespace in enumerate(namespaces)
        for error in invalids(
            path.index(number),
            namespace,
            (_NAMESPACE_INTRO + reason for reason in is_dns1123_label(namespace)),
        )
    ]


def validate_urls(urls: list[str], path: Path) -> list[FieldError]:
    if "*" in urls:
        return validate_wildcard_alone(urls, path, "non-resource URLs")
    return [
        invalid(path.index(number), url, reason)
        for number, url in enumerate(urls)
        if (reason := _url_error(url))
    ]


def validate_verbs(verbs: list[str], path: Path) -> list[FieldError]:
    if "*" in verbs:
        return validate_wildcard_alone(verbs, path, "verbs")
    return [] if set(verbs) <= set(_VERBS) else [not_supported(path, verbs, _VERBS)]


def _url_error(url: str) -> str:
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    if url.count("*") > 1 or ("*" in url and not url.endswith("/*")):
        return "wildcard can only do suffix matching"
    return ""


# --- Priority levels


def validate_annotations_and_type(obj: Object, path: Path) -> list[FieldError]:
    metadata, kind = obj["metadata"], (obj.get("spec") or {}).get("type", "")
    errors = []
    if _WITHOUT_ROUND_TRIP in (metadata.get("annotations") or {}):
        text = f"annotation '{_WITHOUT_ROUND_TRIP}' is forbidden"
        errors.append(forbidden(path.child("metadata", "annotations"), text))
    if (metadata.get("name", "") == _EXEMPT) != (kind == "Exempt"):
        text = "must be 'Exempt' if and only if `name` is 'exempt'"
        errors.append(invalid(path.child("spec", "type"), kind, text))
    return errors


def validate_mandatory_priority(obj: Object, path: Path) -> list[FieldError]:
    return validate_mandatory_level(
        obj["metadata"].get("name", ""), obj.get("spec") or {}, path.child("spec")
    )


def validate_hand_size(queuing: Object, path: Path) -> list[FieldError]:
    queues, hand = queuing.get("queues", 0), queuing.get("handSize", 0)
    path = path.child("handSize")
    if hand <= 0:
        return []
    if hand > queues:
        return [invalid(path, hand, f"should not be greater than queues ({queues})")]
    if math.ceil(math.log2(queues) * hand) <= _MOST_HASH_BITS:
        return []
    text = (
        f"required entropy bits of deckSize {queues} and handSize {hand} "
        f"should not be greater than {_MOST_HASH_BITS}"
    )
    return [invalid(path, hand, text)]
