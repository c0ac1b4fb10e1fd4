"""The flow schemas and priority levels that keep a cluster reachable: they exist always and are fixed."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.internal_values import Nested, Shape, as_internal
from steersman.objects.fields import FieldError, Path, invalid
from steersman.objects.kinds import Object

__all__ = ["validate_mandatory_level", "validate_mandatory_schema"]

_EXEMPT: Final = "exempt"
_CATCH_ALL: Final = "catch-all"


def _everyone(verbs: Object) -> Object:
    """A rule for all requests of all users, logged in or not."""
    groups = [
        {"kind": "Group", "group": {"name": f"system:{name}"}}
        for name in ("unauthenticated", "authenticated")
    ]
    return {"subjects": groups, **verbs}


_ALL_RESOURCES: Final = {
    "verbs": ["*"],
    "apiGroups": ["*"],
    "resources": ["*"],
    "clusterScope": True,
    "namespaces": ["*"],
}
_ALL_URLS: Final = {"verbs": ["*"], "nonResourceURLs": ["*"]}
_ALL_REQUESTS: Final = {"resourceRules": [_ALL_RESOURCES], "nonResourceRules": [_ALL_URLS]}

#: The schemas and levels that keep a cluster reachable; they are what they are.
_MANDATORY_SCHEMAS: Final[dict[str, Object]] = {
    _EXEMPT: {
        "priorityLevelConfiguration": {"name": _EXEMPT},
        "matchingPrecedence": 1,
        "rules": [{"subjects": [{"kind": "Group", "group": {"name": "system:masters"}}], **_ALL_REQUESTS}],
    },
    _CATCH_ALL: {
        "priorityLevelConfiguration": {"name": _CATCH_ALL},
        "matchingPrecedence": 10000,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [_everyone(_ALL_REQUESTS)],
    },
}
_MANDATORY_LEVELS: Final[dict[str, Object]] = {
    _EXEMPT: {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}},
    _CATCH_ALL: {
        "type": "Limited",
        "limited": {
            "nominalConcurrencyShares": 5,
            "limitResponse": {"type": "Reject"},
            "lendablePercent": 0,
        },
    },
}


_NAME: Final[Shape] = (("name", "Name", ""),)
_SUBJECT: Final[Shape] = (
    ("kind", "Kind", ""),
    ("user", "User", Nested(_NAME)),
    ("group", "Group", Nested(_NAME)),
    ("serviceAccount", "ServiceAccount", Nested((("namespace", "Namespace", ""), *_NAME))),
)
_RESOURCE_RULE: Final[Shape] = (
    ("verbs", "Verbs", None),
    ("apiGroups", "APIGroups", None),
    ("resources", "Resources", None),
    ("clusterScope", "ClusterScope", False),
    ("namespaces", "Namespaces", None),
)
_RULE: Final[Shape] = (
    ("subjects", "Subjects", Nested(_SUBJECT)),
    ("resourceRules", "ResourceRules", Nested(_RESOURCE_RULE)),
    (
        "nonResourceRules",
        "NonResourceRules",
        Nested((("verbs", "Verbs", None), ("nonResourceURLs", "NonResourceURLs", None))),
    ),
)
_SCHEMA: Final[Shape] = (
    ("priorityLevelConfiguration", "PriorityLevelConfiguration", Nested(_NAME, {"Name": ""})),
    ("matchingPrecedence", "MatchingPrecedence", 0),
    ("distinguisherMethod", "DistinguisherMethod", Nested((("type", "Type", ""),))),
    ("rules", "Rules", Nested(_RULE)),
)
_QUEUES: Final[Shape] = (
    ("queues", "Queues", 0),
    ("handSize", "HandSize", 0),
    ("queueLengthLimit", "QueueLengthLimit", 0),
)
_RESPONSE: Final[Shape] = (("type", "Type", ""), ("queuing", "Queuing", Nested(_QUEUES)))
_LIMITED: Final[Shape] = (
    ("nominalConcurrencyShares", "NominalConcurrencyShares", 0),
    ("limitResponse", "LimitResponse", Nested(_RESPONSE, {"Type": "", "Queuing": None})),
    ("lendablePercent", "LendablePercent", None),
    ("borrowingLimitPercent", "BorrowingLimitPercent", None),
)
_EXEMPTION: Final[Shape] = (
    ("nominalConcurrencyShares", "NominalConcurrencyShares", None),
    ("lendablePercent", "LendablePercent", None),
)
_LEVEL: Final[Shape] = (
    ("type", "Type", ""),
    ("limited", "Limited", Nested(_LIMITED)),
    ("exempt", "Exempt", Nested(_EXEMPTION)),
)


def validate_mandatory_schema(name: str, spec: Object, path: Path) -> list[FieldError]:
    if spec == _MANDATORY_SCHEMAS.get(name, spec):
        return []
    return [invalid(path, as_internal(spec, _SCHEMA), f"spec of '{name}' must equal the fixed value")]


def validate_mandatory_level(name: str, spec: Object, path: Path) -> list[FieldError]:
    wanted, exception, have = _MANDATORY_LEVELS.get(name, spec), "", spec
    if name == _EXEMPT:
        # Its share may be tuned; that it is exempt may not.
        have = {**spec, "exempt": wanted["exempt"]}
        exception = " except the 'spec.exempt' field"
    if have == wanted:
        return []
    text = f"spec of '{name}'{exception} must equal the fixed value"
    return [invalid(path, as_internal(spec, _LEVEL), text)]
