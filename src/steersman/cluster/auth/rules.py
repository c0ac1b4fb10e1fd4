"""RBAC policy rules: matching a request, and whether some rules cover others (escalation check).

Pure values. `RBAC` matches requests against them, the escalation checks compare them, and error messages
print them as Kubernetes does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from steersman.objects.fields import quote

__all__ = ["FULL_AUTHORITY", "RbacRule", "describe", "quote_list", "rules_of", "uncovered"]

#: Rules that together mean more single permissions than this are not taken apart: each is held whole by
#: one other rule, or not. (1,000 groups by 1,000 resources by 1,000 verbs fit into one request body.)
_LARGEST_BREAKDOWN = 4_000


@dataclass(frozen=True, slots=True)
class RbacRule:
    """A PolicyRule of a role."""

    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    @classmethod
    def of(cls, rule: dict[str, Any]) -> RbacRule:
        keys = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
        return cls(*(tuple(rule.get(key) or ()) for key in keys))

    def to_object(self) -> dict[str, Any]:
        """The rule as the API writes it; verbs are always there."""
        obj: dict[str, Any] = {"verbs": list(self.verbs)}
        for key, values in (
            ("apiGroups", self.groups),
            ("resources", self.resources),
            ("resourceNames", self.names),
            ("nonResourceURLs", self.urls),
        ):
            if values:
                obj[key] = list(values)
        return obj

    def matches_resource(self, verb: str, group: str, resource: str, subresource: str) -> bool:
        """Whether it speaks of this resource; which names it is limited to is another question."""
        if not (_has(self.verbs, verb) and _has(self.groups, group)):
            return False
        combined = f"{resource}/{subresource}" if subresource else resource
        if _has(self.resources, combined):
            return True
        return bool(subresource) and f"*/{subresource}" in self.resources

    def matches_path(self, verb: str, path: str) -> bool:
        return _has(self.verbs, verb) and any(_url_covers(url, path) for url in self.urls)


FULL_AUTHORITY = (
    RbacRule(verbs=("*",), groups=("*",), resources=("*",)),
    RbacRule(verbs=("*",), urls=("*",)),
)


def rules_of(role: dict[str, Any]) -> tuple[RbacRule, ...]:
    return tuple(RbacRule.of(rule) for rule in role.get("rules") or ())


def _has(values: Sequence[str], value: str) -> bool:
    return value in values or "*" in values


def _url_covers(pattern: str, path: str) -> bool:
    """A trailing star stands for any rest; elsewhere it is a character like others."""
    return pattern == path or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


def uncovered(owned: Sequence[RbacRule], wanted: Iterable[RbacRule]) -> list[RbacRule]:
    """The single permissions of `wanted` that no rule of `owned` gives."""
    missing = []
    budget = _LARGEST_BREAKDOWN
    for rule in wanted:
        if any(_covers(owner, rule) for owner in owned):
            continue
        size = _size(rule)
        if size > budget:
            missing.append(rule)
            continue
        budget -= size
        missing += [part for part in _parts(rule) if not any(_covers(owner, part) for owner in owned)]
    return missing


def _size(rule: RbacRule) -> int:
    resources = len(rule.groups) * len(rule.resources) * max(1, len(rule.names))
    return len(rule.verbs) * (resources + len(rule.urls))


def _parts(rule: RbacRule) -> Iterator[RbacRule]:
    """One rule for each verb on one resource (or name), and each verb on one path."""
    for group in rule.groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                part = RbacRule((verb,), (group,), (resource,))
                if rule.names:
                    yield from (replace(part, names=(name,)) for name in rule.names)
                else:
                    yield part
    for url in rule.urls:
        for verb in rule.verbs:
            yield RbacRule((verb,), urls=(url,))


def _covers(owner: RbacRule, part: RbacRule) -> bool:
    """Whether `owner` alone gives all of `part`."""
    return (
        _has_all(owner.verbs, part.verbs)
        and _has_all(owner.groups, part.groups)
        and all(_resource_covered(owner.resources, resource) for resource in part.resources)
        and _names_cover(owner.names, part.names)
        and all(any(_url_covers(url, path) for url in owner.urls) for path in part.urls)
    )


def _has_all(values: Sequence[str], wanted: Sequence[str]) -> bool:
    return "*" in values or all(value in values for value in wanted)


def _resource_covered(resources: Sequence[str], resource: str) -> bool:
    if _has(resources, resource):
        return True
    _, slash, subresource = resource.partition("/")
    return bool(slash) and f"*/{subresource}" in resources


def _names_cover(names: Sequence[str], wanted: Sequence[str]) -> bool:
    return not names or (bool(wanted) and all(name in names for name in wanted))


def describe(rules: Sequence[RbacRule]) -> str:
    """Missing permissions as people are told them: verbs of one resource together, sorted."""
    merged: dict[tuple[Sequence[str], ...], RbacRule] = {}
    others = []
    for rule in rules:
        simple = len(rule.groups) == 1 and len(rule.resources) == 1 and len(rule.names) <= 1 and not rule.urls
        if not simple:
            others.append(rule)
            continue
        key = (rule.groups, rule.resources, rule.names)
        known = merged.get(key)
        merged[key] = rule if known is None else replace(known, verbs=known.verbs + rule.verbs)
    return "\n".join(sorted({_shown(rule) for rule in (*others, *merged.values())}))


def _shown(rule: RbacRule) -> str:
    parts = (
        ("APIGroups", rule.groups),
        ("Resources", rule.resources),
        ("NonResourceURLs", rule.urls),
        ("ResourceNames", rule.names),
        ("Verbs", rule.verbs),
    )
    return "{" + ", ".join(f"{name}:{quote_list(values)}" for name, values in parts if values) + "}"


def quote_list(values: Iterable[str]) -> str:
    """Go's %q of a list."""
    return "[" + " ".join(map(quote, values)) + "]"
