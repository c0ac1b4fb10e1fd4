"""The writes that a webhook or policy matches: rules on resources, namespaceSelector and objectSelector.

Shared by webhooks and policies. `MatchCriteria.find` returns the version in which the write is to be sent, or
None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steersman.cluster.admission.chain import Attributes, Reader
from steersman.cluster.admission.webhooks.versions import GVR, ResourceVersions, ServedResource
from steersman.objects.kinds import Object
from steersman.objects.selectors import LabelSelector
from steersman.objects.status import not_found

__all__ = ["EXEMPT", "MatchCriteria", "RuleWithOperations", "is_exempt"]


#: What guards the cluster must not be able to lock itself in.
EXEMPT = frozenset(
    ("admissionregistration.k8s.io", plural)
    for plural in (
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    )
)
#: Questions, not writes: stopping them would stop authentication and authorization.
_REVIEWS = frozenset(
    {
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    }
)
_NAMESPACES = GVR("", "v1", "namespaces")
_MOST_DECIDED = 1024


def is_exempt(group: str, plural: str) -> bool:
    return (group, plural) in EXEMPT or (group, plural) in _REVIEWS


@dataclass(frozen=True, slots=True)
class RuleWithOperations:
    """Operations on resources; `*` is a wildcard."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    #: (resource, subresource)
    resources: tuple[tuple[str, str], ...]
    scope: str
    #: Only objects of these names, when there are any.
    names: frozenset[str]

    @classmethod
    def parse(cls, rule: Mapping[str, Any]) -> RuleWithOperations:
        pairs = [text.partition("/") for text in rule.get("resources") or ()]
        return cls(
            frozenset(rule.get("operations") or ()),
            frozenset(rule.get("apiGroups") or ()),
            frozenset(rule.get("apiVersions") or ()),
            tuple((resource, subresource) for resource, _, subresource in pairs),
            rule.get("scope") or "*",
            frozenset(rule.get("resourceNames") or ()),
        )

    def matches(self, attributes: Attributes, resource: GVR) -> bool:
        return (
            _has(self.operations, attributes.operation)
            and _has(self.groups, resource.group)
            and _has(self.versions, resource.version)
            and any(
                plural in ("*", resource.resource) and part in ("*", attributes.subresource)
                for plural, part in self.resources
            )
            and self._in_scope(attributes, resource)
            and (not self.names or attributes.name in self.names)
        )

    def _in_scope(self, attributes: Attributes, resource: GVR) -> bool:
        if self.scope == "*":
            return True
        clusterwide = resource == _NAMESPACES or not attributes.namespace
        return clusterwide == (self.scope == "Cluster")


def _has(values: frozenset[str], value: str) -> bool:
    return value in values or "*" in values


@dataclass(frozen=True, slots=True)
class MatchCriteria:
    """The match criteria of a webhook or policy, without match conditions."""

    rules: tuple[RuleWithOperations, ...]
    excluded: tuple[RuleWithOperations, ...]
    namespaces: LabelSelector
    objects: LabelSelector
    equivalent: bool
    #: Policies without rules are about everything, webhooks without rules about nothing.
    without_rules: bool = False
    #: What the rules say about a kind of write: 0.5 µs instead of 10, on every write.
    decided: dict[tuple[object, ...], ServedResource | None] = field(
        default_factory=dict, compare=False, repr=False
    )

    @classmethod
    def parse(cls, source: Mapping[str, Any], rules: str, *, without_rules: bool = False) -> MatchCriteria:
        """From a webhook or matchConstraints; `rules` names the field that has them."""
        return cls(
            _rules(source.get(rules)),
            _rules(source.get("excludeResourceRules")),
            LabelSelector.from_object(source.get("namespaceSelector") or {}),
            LabelSelector.from_object(source.get("objectSelector") or {}),
            source.get("matchPolicy", "Equivalent") == "Equivalent",
            without_rules,
        )

    def find(self, attributes: Attributes, types: ResourceVersions, reader: Reader) -> ServedResource | None:
        """The version in which this write is to be seen. Raises StatusError when that cannot be said."""
        key = (
            attributes.operation, attributes.group, attributes.version, attributes.plural,
            attributes.subresource, not attributes.namespace, types.generation,
        )  # fmt: skip
        if key in self.decided:
            served = self.decided[key]
        else:
            served = self._by_all_rules(attributes, types)
            if not any(rule.names for rule in (*self.rules, *self.excluded)):
                if len(self.decided) > _MOST_DECIDED:
                    self.decided.clear()
                self.decided[key] = served
        if served is None or not self._namespace_selected(attributes, reader):
            return None
        return served if self._object_selected(attributes) else None

    def _by_all_rules(self, attributes: Attributes, types: ResourceVersions) -> ServedResource | None:
        if self.excluded and self._by_rules(self.excluded, attributes, types) is not None:
            return None
        if not self.rules and self.without_rules:
            return ServedResource(GVR.of(attributes), attributes.gvk)
        return self._by_rules(self.rules, attributes, types)

    def _by_rules(
        self, rules: Sequence[RuleWithOperations], attributes: Attributes, types: ResourceVersions
    ) -> ServedResource | None:
        own = GVR.of(attributes)
        if any(rule.matches(attributes, own) for rule in rules):
            return ServedResource(own, attributes.gvk)
        if not self.equivalent or not rules:
            return None
        others = [each for each in types.equivalents(own, attributes.subresource) if each.resource != own]
        for rule in rules:
            for served in others:
                if rule.matches(attributes, served.resource):
                    return served
        return None

    def _namespace_selected(self, attributes: Attributes, reader: Reader) -> bool:
        if self.namespaces.empty:
            return True
        is_namespace = attributes.plural == "namespaces"
        if not attributes.namespace and not is_namespace:
            return True
        if is_namespace and not attributes.subresource and attributes.operation in ("CREATE", "UPDATE"):
            return self.namespaces.matches(_labels(attributes.object))
        namespace = reader.get("", "namespaces", "", attributes.namespace)
        if namespace is None:
            raise not_found("", "namespaces", attributes.namespace)
        return self.namespaces.matches(_labels(namespace))

    def _object_selected(self, attributes: Attributes) -> bool:
        if self.objects.empty:
            return True
        present = [obj for obj in (attributes.object, attributes.old) if obj is not None]
        return any(self.objects.matches(_labels(obj)) for obj in present)


def _rules(rules: Iterable[Mapping[str, Any]] | None) -> tuple[RuleWithOperations, ...]:
    return tuple(RuleWithOperations.parse(rule) for rule in rules or ())


def _labels(obj: Object | None) -> dict[str, str]:
    return (obj or {}).get("metadata", {}).get("labels") or {}
