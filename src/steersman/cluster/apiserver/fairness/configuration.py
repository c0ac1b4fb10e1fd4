"""FlowSchemas and PriorityLevelConfigurations as the limiter uses them: parsed, ordered, matched.

Objects come from the store and have passed validation; what does not fit together nevertheless (a schema of a
missing level) is left out. The mandatory objects are always there, stored or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from steersman.cluster.apiserver.fairness.defaults import (
    CATCH_ALL,
    MANDATORY,
    level_object,
    schema_object,
)
from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.users import User
from steersman.objects.kinds import Object

__all__ = ["FlowControlConfiguration", "FlowSchema", "LevelSpec", "Queuing"]


_ACCOUNT_PREFIX = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class Queuing:
    queues: int
    hand_size: int
    length_limit: int


@dataclass(frozen=True, slots=True)
class LevelSpec:
    name: str
    uid: str
    exempt: bool
    shares: int
    lendable_percent: int
    #: Of its own share; None: as much as there is.
    borrowing_percent: int | None
    #: None: what finds no seat is refused.
    queuing: Queuing | None

    @classmethod
    def of(cls, obj: Object) -> LevelSpec:
        spec = obj.get("spec") or {}
        exempt = spec.get("type") == "Exempt"
        limits = spec.get("exempt" if exempt else "limited") or {}
        queuing = (limits.get("limitResponse") or {}).get("queuing")
        return cls(
            name=obj["metadata"]["name"],
            uid=obj["metadata"].get("uid", ""),
            exempt=exempt,
            shares=_number(limits.get("nominalConcurrencyShares"), 0 if exempt else 30),
            lendable_percent=_number(limits.get("lendablePercent"), 0),
            borrowing_percent=limits.get("borrowingLimitPercent"),
            queuing=None
            if queuing is None
            else Queuing(queuing["queues"], queuing["handSize"], queuing["queueLengthLimit"]),
        )


def _number(value: int | None, default: int) -> int:
    return default if value is None else value


@dataclass(frozen=True, slots=True)
class FlowSchema:
    name: str
    uid: str
    precedence: int
    level: str
    #: "ByUser", "ByNamespace", or empty: all its requests are one flow.
    method: str
    rules: Sequence[Object]

    @classmethod
    def of(cls, obj: Object) -> FlowSchema:
        spec = obj.get("spec") or {}
        return cls(
            name=obj["metadata"]["name"],
            uid=obj["metadata"].get("uid", ""),
            precedence=spec.get("matchingPrecedence", 1000),
            level=(spec.get("priorityLevelConfiguration") or {}).get("name", ""),
            method=(spec.get("distinguisherMethod") or {}).get("type", ""),
            rules=spec.get("rules") or (),
        )

    def matches(self, user: User, action: Action) -> bool:
        kind, test = (
            ("nonResourceRules", _matches_path) if action.path else ("resourceRules", _matches_resource)
        )
        return any(
            any(_is_subject(user, subject) for subject in rule.get("subjects") or ())
            and any(test(each, action) for each in rule.get(kind) or ())
            for rule in self.rules
        )

    def distinguish(self, user: User, action: Action) -> str:
        if self.method == "ByUser":
            return user.name
        return action.namespace if self.method == "ByNamespace" else ""


def _is_subject(user: User, subject: Object) -> bool:
    match subject.get("kind"):
        case "User":
            return (subject.get("user") or {}).get("name") in ("*", user.name)
        case "Group":
            name = (subject.get("group") or {}).get("name")
            return name == "*" or name in user.groups
        case "ServiceAccount":
            account = subject.get("serviceAccount") or {}
            whose = f"{_ACCOUNT_PREFIX}{account.get('namespace', '')}:"
            name = account.get("name", "")
            return user.name.startswith(whose) if name == "*" else user.name == whose + name
    return False


def _matches_resource(rule: Object, action: Action) -> bool:
    resource = f"{action.resource}/{action.subresource}" if action.subresource else action.resource
    return (
        _has(rule, "verbs", action.verb)
        and _has(rule, "resources", resource)
        and _has(rule, "apiGroups", action.group)
        and (
            _has(rule, "namespaces", action.namespace) if action.namespace else bool(rule.get("clusterScope"))
        )
    )


def _matches_path(rule: Object, action: Action) -> bool:
    return _has(rule, "verbs", action.verb) and any(
        url in ("*", action.path) or action.path.startswith(url.removesuffix("*").rstrip("/") + "/")
        for url in rule.get("nonResourceURLs") or ()
    )


def _has(rule: Object, field: str, value: str) -> bool:
    values = rule.get(field) or ()
    return value in values or "*" in values


class FlowControlConfiguration:
    """Everything that classifies, in matching order."""

    def __init__(self, levels: Iterable[Object], schemas: Iterable[Object]) -> None:
        by_name = {each["metadata"]["name"]: each for each in levels}
        for name in MANDATORY:
            by_name.setdefault(name, level_object(name))
        self.levels: Mapping[str, LevelSpec] = {name: LevelSpec.of(obj) for name, obj in by_name.items()}
        parsed = {schema.name: schema for schema in map(FlowSchema.of, schemas)}
        for name in MANDATORY:
            if name not in parsed or parsed[name].level not in self.levels:
                parsed[name] = FlowSchema.of(schema_object(name))
        ordered = sorted(parsed.values(), key=lambda schema: (schema.precedence, schema.name))
        self.schemas: Sequence[FlowSchema] = [each for each in ordered if each.level in self.levels]
        self._last = parsed[CATCH_ALL]

    def classify(self, user: User, action: Action) -> FlowSchema:
        """The first schema that matches; the catch-all also takes what nothing matches."""
        return next((schema for schema in self.schemas if schema.matches(user, action)), self._last)
