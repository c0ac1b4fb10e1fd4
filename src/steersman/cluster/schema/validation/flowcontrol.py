"""Validation of flowcontrol.apiserver.k8s.io: flow schemas and priority levels."""

from __future__ import annotations

import math
from typing import Final

from steersman.cluster.schema.validation.flowcontrol_mandatory import (
    validate_mandatory_level,
    validate_mandatory_schema,
)
from steersman.cluster.schema.validation.internal_values import Shape, as_internal
from steersman.cluster.schema.validation.rules import Object, Revalidation, Rules, invalids
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from steersman.objects.names import is_dns1123_label, is_dns1123_subdomain

__all__ = ["RULES"]

_GROUP: Final = "flowcontrol.apiserver.k8s.io"
_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_EXEMPT: Final = "exempt"
_HIGHEST_PRECEDENCE: Final = 10000
_MOST_QUEUES: Final = 10_000_000
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
_SUBJECT_FIELDS: Final = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
_SUBJECT_KINDS: Final = tuple(sorted(_SUBJECT_FIELDS))
_WITHOUT_ROUND_TRIP: Final = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"
_NAMESPACE_INTRO: Final = "each member of this list must be '*' or a DNS-1123 label; "


_METHOD_SHAPE: Final[Shape] = (("type", "Type", ""),)


# --- Flow schemas


def _flow_schema(obj: Object) -> list[FieldError]:
    name, spec = obj["metadata"].get("name", ""), obj.get("spec") or {}
    errors = _precedence(name, spec.get("matchingPrecedence", 0))
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _DISTINGUISHERS:
        path = _SPEC.child("distinguisherMethod", "type")
        errors.append(not_supported(path, as_internal(method, _METHOD_SHAPE), _DISTINGUISHERS))
    level = (spec.get("priorityLevelConfiguration") or {}).get("name", "")
    at = _SPEC.child("priorityLevelConfiguration", "name")
    if level:
        errors += invalids(at, level, is_dns1123_subdomain(level))
    else:
        errors.append(required(at, "must reference a priority level"))
    for number, rule in enumerate(spec.get("rules") or ()):
        errors += _rule(rule, _SPEC.child("rules").index(number))
    return errors + validate_mandatory_schema(name, spec, _SPEC) + _conditions(obj)


def _precedence(name: str, precedence: int) -> list[FieldError]:
    path = _SPEC.child("matchingPrecedence")
    if precedence <= 0:
        return [invalid(path, precedence, "must be a positive value")]
    if precedence > _HIGHEST_PRECEDENCE:
        return [invalid(path, precedence, f"must not be greater than {_HIGHEST_PRECEDENCE}")]
    if precedence == 1 and name != _EXEMPT:
        text = "only the schema named 'exempt' may have matchingPrecedence 1"
        return [invalid(path, precedence, text)]
    return []


def _rule(rule: Object, path: Path) -> list[FieldError]:
    subjects = rule.get("subjects") or ()
    errors = []
    for number, subject in enumerate(subjects):
        errors += _subject(subject, path.child("subjects").index(number))
    if not subjects:
        errors.append(required(path.child("subjects"), "subjects must contain at least one value"))
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        text = "at least one of resourceRules and nonResourceRules has to be non-empty"
        errors.append(required(path, text))
    for number, each in enumerate(rule.get("resourceRules") or ()):
        errors += _resource_rule(each, path.child("resourceRules").index(number))
    for number, each in enumerate(rule.get("nonResourceRules") or ()):
        errors += _non_resource_rule(each, path.child("nonResourceRules").index(number))
    return errors


def _subject(subject: Object, path: Path) -> list[FieldError]:
    kind = subject.get("kind", "")
    wanted = _SUBJECT_FIELDS.get(kind)
    if wanted is None:
        return [not_supported(path.child("kind"), kind, _SUBJECT_KINDS)]
    details = subject.get(wanted)
    if details is None:
        errors = [required(path.child(wanted), f"{wanted} is required when subject kind is '{kind}'")]
    elif wanted == "serviceAccount":
        errors = _service_account(details, path.child(wanted))
    else:
        errors = [] if details.get("name") else [required(path.child(wanted, "name"))]
    for other, field in _SUBJECT_FIELDS.items():
        if field != wanted and subject.get(field) is not None:
            text = f"{field} is forbidden when subject kind is not '{other}'"
            errors.append(forbidden(path.child(field), text))
    return errors


def _service_account(account: Object, path: Path) -> list[FieldError]:
    name, namespace = account.get("name", ""), account.get("namespace", "")
    errors: list[FieldError] = []
    if not name:
        errors.append(required(path.child("name")))
    elif name != "*":
        errors += invalids(path.child("name"), name, is_dns1123_subdomain(name))
    if namespace:
        errors += invalids(path.child("namespace"), namespace, is_dns1123_label(namespace))
    else:
        errors.append(required(path.child("namespace"), "must specify namespace for service account"))
    return errors


def _resource_rule(rule: Object, path: Path) -> list[FieldError]:
    errors = _verbs(rule, path)
    for field, one, many in (
        ("apiGroups", "api group", "api groups"),
        ("resources", "resource", "resources"),
    ):
        values = rule.get(field) or []
        if not values:
            errors.append(required(path.child(field), f"resource rules must supply at least one {one}"))
        elif len(values) > 1 and "*" in values:
            errors.append(_lonely_wildcard(values, path.child(field), many))
    namespaces, at = rule.get("namespaces") or [], path.child("namespaces")
    if not namespaces and not rule.get("clusterScope"):
        text = "resource rules that are not cluster scoped must supply at least one namespace"
        errors.append(required(at, text))
    elif "*" in namespaces:
        errors += [_lonely_wildcard(namespaces, at, "namespaces")] if len(namespaces) > 1 else []
    else:
        for number, namespace in enumerate(namespaces):
            reasons = (_NAMESPACE_INTRO + reason for reason in is_dns1123_label(namespace))
            errors += invalids(at.index(number), namespace, reasons)
    return errors


def _non_resource_rule(rule: Object, path: Path) -> list[FieldError]:
    errors = _verbs(rule, path)
    urls, at = rule.get("nonResourceURLs") or [], path.child("nonResourceURLs")
    if not urls:
        errors.append(required(at, "nonResourceURLs must contain at least one value"))
    elif "*" in urls:
        errors += [_lonely_wildcard(urls, at, "non-resource URLs")] if len(urls) > 1 else []
    else:
        for number, url in enumerate(urls):
            if reason := _url_error(url):
                errors.append(invalid(at.index(number), url, reason))
    return errors


def _verbs(rule: Object, path: Path) -> list[FieldError]:
    verbs, at = rule.get("verbs") or [], path.child("verbs")
    if not verbs:
        return [required(at, "verbs must contain at least one value")]
    if "*" in verbs:
        return [_lonely_wildcard(verbs, at, "verbs")] if len(verbs) > 1 else []
    return [] if set(verbs) <= set(_VERBS) else [not_supported(at, verbs, _VERBS)]


def _lonely_wildcard(values: list[str], path: Path, others: str) -> FieldError:
    return invalid(path, values, f"if '*' is present, must not specify other {others}")


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


def _priority_level(obj: Object) -> list[FieldError]:
    metadata, spec = obj["metadata"], obj.get("spec") or {}
    name, kind = metadata.get("name", ""), spec.get("type", "")
    errors = []
    if _WITHOUT_ROUND_TRIP in (metadata.get("annotations") or {}):
        text = f"annotation '{_WITHOUT_ROUND_TRIP}' is forbidden"
        errors.append(forbidden(Path("metadata").child("annotations"), text))
    if (name == _EXEMPT) != (kind == "Exempt"):
        text = "must be 'Exempt' if and only if `name` is 'exempt'"
        errors.append(invalid(_SPEC.child("type"), kind, text))
    if kind == "Exempt":
        errors += _exempt(spec.get("exempt") or {}, _SPEC.child("exempt"))
    elif kind == "Limited":
        if spec.get("limited") is not None:
            errors += _limited(spec["limited"], _SPEC.child("limited"))
    elif kind:
        errors.append(not_supported(_SPEC.child("type"), kind, ("Exempt", "Limited")))
    return errors + validate_mandatory_level(name, spec, _SPEC) + _conditions(obj)


def _exempt(exempt: Object, path: Path) -> list[FieldError]:
    shares = exempt.get("nominalConcurrencyShares")
    errors = []
    if shares is not None and shares < 0:
        text = "must be a non-negative integer"
        errors.append(invalid(path.child("nominalConcurrencyShares"), shares, text))
    return errors + _lendable(exempt, path)


def _limited(limited: Object, path: Path) -> list[FieldError]:
    shares, borrowing = limited.get("nominalConcurrencyShares") or 0, limited.get("borrowingLimitPercent")
    errors = []
    if shares < 0:
        text = "must be a non-negative integer"
        errors.append(invalid(path.child("nominalConcurrencyShares"), shares, text))
    response, at = limited.get("limitResponse") or {}, path.child("limitResponse")
    kind, queuing = response.get("type", ""), response.get("queuing")
    if kind == "Queue" and queuing is not None:
        errors += _queuing(queuing, at.child("queuing"))
    elif kind not in ("Queue", "Reject", ""):
        errors.append(not_supported(at.child("type"), kind, ("Queue", "Reject")))
    errors += _lendable(limited, path)
    if borrowing is not None and borrowing < 0:
        text = "if specified, must be a non-negative integer"
        errors.append(invalid(path.child("borrowingLimitPercent"), borrowing, text))
    return errors


def _lendable(level: Object, path: Path) -> list[FieldError]:
    percent = level.get("lendablePercent")
    if percent is None or 0 <= percent <= 100:
        return []
    return [invalid(path.child("lendablePercent"), percent, "must be between 0 and 100, inclusive")]


def _queuing(queuing: Object, path: Path) -> list[FieldError]:
    length, queues, hand = (queuing.get(key, 0) for key in ("queueLengthLimit", "queues", "handSize"))
    errors = []
    if length <= 0:
        errors.append(invalid(path.child("queueLengthLimit"), length, "must be positive"))
    if queues <= 0:
        errors.append(invalid(path.child("queues"), queues, "must be positive"))
    elif queues > _MOST_QUEUES:
        errors.append(invalid(path.child("queues"), queues, f"must not be greater than {_MOST_QUEUES}"))
    if hand <= 0:
        errors.append(invalid(path.child("handSize"), hand, "must be positive"))
    elif hand > queues:
        text = f"should not be greater than queues ({queues})"
        errors.append(invalid(path.child("handSize"), hand, text))
    elif math.ceil(math.log2(queues) * hand) > _MOST_HASH_BITS:
        text = (
            f"required entropy bits of deckSize {queues} and handSize {hand} "
            f"should not be greater than {_MOST_HASH_BITS}"
        )
        errors.append(invalid(path.child("handSize"), hand, text))
    return errors


def _declared(obj: Object, old: Object | None) -> list[FieldError]:
    """Which parts of a level its type asks for and which it forbids."""
    spec = obj.get("spec") or {}
    if old is not None and spec == (old.get("spec") or {}):
        return []
    kind, limited = spec.get("type", ""), spec.get("limited")
    errors = []
    if kind != "Exempt" and spec.get("exempt") is not None:
        errors.append(forbidden(_SPEC.child("exempt"), ""))
    errors += _member(limited, kind == "Limited", _SPEC.child("limited"))
    if not kind:
        errors.append(required(_SPEC.child("type")))
    if limited is not None:
        response, path = limited.get("limitResponse") or {}, _SPEC.child("limited", "limitResponse")
        errors += _member(response.get("queuing"), response.get("type") == "Queue", path.child("queuing"))
        if not response.get("type"):
            errors.append(required(path.child("type")))
    return errors


def _member(value: Object | None, wanted: bool, path: Path) -> list[FieldError]:
    if wanted:
        return [required(path)] if value is None else []
    return [] if value is None else [forbidden(path, "")]


# --- Status


def _conditions(obj: Object) -> list[FieldError]:
    path = _STATUS.child("conditions")
    seen: set[str] = set()
    errors = []
    for number, condition in enumerate((obj.get("status") or {}).get("conditions") or ()):
        kind, at = condition.get("type", ""), path.index(number).child("type")
        if kind in seen:
            errors.append(duplicate(at, kind))
        seen.add(kind)
        if not kind:
            errors.append(required(at))
    return errors


def _status(obj: Object, old: Object) -> list[FieldError]:
    return _conditions(obj)


RULES: Final = {
    (_GROUP, "FlowSchema"): Rules(create=_flow_schema, status=_status, revalidation=Revalidation.AFTER),
    (_GROUP, "PriorityLevelConfiguration"): Rules(
        create=_priority_level, status=_status, late=_declared, revalidation=Revalidation.AFTER
    ),
}
