"""Which nodes a pod wants by their labels and names: nodeSelector and node affinity. Pure.

The rule that scheduler, controllers and nodes share, and that of volumes that are only on some nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import orjson

from steersman.objects.errors import SelectorError
from steersman.objects.selectors import NOTHING, LabelSelector, Requirement

__all__ = [
    "ANY_NODE",
    "NodeAffinity",
    "NodeSelector",
    "NodeTerm",
    "node_affinity_of",
    "read_node_affinity",
    "read_node_selector",
]

_OPERATORS: Final = {
    "In": "in",
    "NotIn": "notin",
    "Exists": "exists",
    "DoesNotExist": "!",
    "Gt": "gt",
    "Lt": "lt",
}
_CACHED: Final = 4096
_NAME: Final = "metadata.name"

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class NodeTerm:
    """Conditions that all hold: on labels, and on the name."""

    labels: LabelSelector | None
    fields: LabelSelector | None
    #: The names it is limited to, if it is.
    names: frozenset[str] | None = None
    weight: int = 0

    def matches(self, name: str, labels: Labels) -> bool:
        if self.labels is not None and not self.labels.matches(labels):
            return False
        return self.fields is None or self.fields.matches({_NAME: name})


class NodeSelector:
    """Any of its terms (`spec.nodeAffinity.required` of volumes, and part of a pod's)."""

    __slots__ = ("terms",)

    def __init__(self, terms: Iterable[NodeTerm]) -> None:
        self.terms = tuple(terms)

    def matches(self, name: str, labels: Labels) -> bool:
        return any(term.matches(name, labels) for term in self.terms)

    @property
    def names(self) -> frozenset[str] | None:
        """The nodes that can match at all, if every term names some."""
        found: set[str] = set()
        for term in self.terms:
            if term.names is None:
                return None
            found |= term.names
        return frozenset(found) if self.terms else None


@dataclass(frozen=True, slots=True, eq=False)
class NodeAffinity:
    """What a pod demands of its node and what it would like."""

    selector: LabelSelector | None = None
    required: NodeSelector | None = None
    preferred: tuple[NodeTerm, ...] = ()

    @property
    def demanding(self) -> bool:
        return self.selector is not None or self.required is not None

    def allows(self, name: str, labels: Labels) -> bool:
        if self.selector is not None and not self.selector.matches(labels):
            return False
        return self.required is None or self.required.matches(name, labels)


ANY_NODE: Final = NodeAffinity()


def read_node_selector(selector: Mapping[str, Any]) -> NodeSelector:
    return NodeSelector(
        _term(term) for term in selector.get("nodeSelectorTerms") or () if _says_something(term)
    )


@lru_cache(_CACHED)
def read_node_affinity(selector: bytes, affinity: bytes) -> NodeAffinity:
    """From the bytes of a pod's nodeSelector and affinity; empty where there is none."""
    return _node_affinity(
        orjson.loads(selector) if selector else None, orjson.loads(affinity) if affinity else None
    )


def node_affinity_of(spec: Mapping[str, Any]) -> NodeAffinity:
    """From a pod's spec."""
    return _node_affinity(spec.get("nodeSelector"), spec.get("affinity"))


def _node_affinity(selector: Labels | None, affinity: Mapping[str, Any] | None) -> NodeAffinity:
    wanted: Mapping[str, Any] = (affinity or {}).get("nodeAffinity") or {}
    required = wanted.get("requiredDuringSchedulingIgnoredDuringExecution")
    preferred = tuple(
        _term(each["preference"], each["weight"])
        for each in wanted.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        if each.get("weight") and _says_something(each["preference"])
    )
    if not selector and required is None and not preferred:
        return ANY_NODE
    return NodeAffinity(
        LabelSelector.from_labels(selector) if selector else None,
        None if required is None else read_node_selector(required),
        preferred,
    )


def _says_something(term: Mapping[str, Any]) -> bool:
    return bool(term.get("matchExpressions") or term.get("matchFields"))


def _term(term: Mapping[str, Any], weight: int = 0) -> NodeTerm:
    fields = term.get("matchFields")
    names: frozenset[str] | None = None
    for requirement in fields or ():
        if requirement.get("key") == _NAME and requirement.get("operator") == "In":
            values = frozenset(requirement.get("values") or ())
            names = values if names is None else names & values
    return NodeTerm(_requirements(term.get("matchExpressions")), _requirements(fields), names, weight)


def _requirements(requirements: Iterable[Mapping[str, Any]] | None) -> LabelSelector | None:
    if not requirements:
        return None
    made = []
    for each in requirements:
        operator = _OPERATORS.get(each.get("operator", ""))
        if operator is None:
            return NOTHING
        made.append(Requirement(each.get("key", ""), operator, tuple(each.get("values") or ())))
    try:
        for requirement in made:
            if requirement.key != _NAME:
                requirement.check()
    except SelectorError:
        return NOTHING
    return LabelSelector(made)
