"""Quota scopes: the objects that a ResourceQuota applies to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from steersman.objects.amounts import ZERO, parsed
from steersman.objects.kinds import Object
from steersman.objects.pods import has_own_resources

__all__ = ["ScopeSelector", "claim_matches", "pod_matches", "selectors_of"]


class ScopeSelector(NamedTuple):
    """A scope selector of a quota: scope name, operator and values."""

    scope: str
    operator: str = "Exists"
    values: tuple[str, ...] = ()

    @classmethod
    def parse(cls, requirement: Object) -> ScopeSelector:
        values = tuple(requirement.get("values") or ())
        return cls(requirement.get("scopeName", ""), requirement.get("operator", ""), values)

    def __str__(self) -> str:
        return f"{{{self.scope} {self.operator} [{' '.join(self.values)}]}}"

    def allows(self, names: Iterable[str]) -> bool:
        """Whether the class with one of these names (or the lack of one) is what is selected."""
        present = [*names]
        if self.operator == "Exists":
            return bool(present)
        if self.operator == "DoesNotExist":
            return not present
        if self.operator == "In":
            return any(name in self.values for name in present)
        return not present or any(name not in self.values for name in present)


def selectors_of(quota: Object) -> list[ScopeSelector]:
    spec = quota["spec"]
    expressions = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    return [
        *(ScopeSelector(scope) for scope in spec.get("scopes") or ()),
        *(ScopeSelector.parse(expression) for expression in expressions),
    ]


def pod_matches(selector: ScopeSelector, pod: Object) -> bool:
    spec = pod["spec"]
    match selector.scope:
        case "Terminating" | "NotTerminating":
            terminating = (spec.get("activeDeadlineSeconds") or 0) >= 0 and "activeDeadlineSeconds" in spec
            return terminating == (selector.scope == "Terminating")
        case "BestEffort" | "NotBestEffort":
            return _is_best_effort(pod) == (selector.scope == "BestEffort")
        case "PriorityClass":
            return selector.allows(filter(None, [spec.get("priorityClassName")]))
        case "CrossNamespacePodAffinity":
            return any(
                term.get("namespaces") or term.get("namespaceSelector") is not None
                for term in _affinity_terms(spec.get("affinity") or {})
            )
    return False


def _is_best_effort(pod: Object) -> bool:
    known = (pod.get("status") or {}).get("qosClass")
    if known:
        return bool(known == "BestEffort")
    spec = pod["spec"]
    if has_own_resources(spec):
        parts = [spec["resources"]]
    else:
        fields = ("containers", "initContainers")
        parts = [container["resources"] for field in fields for container in spec.get(field) or ()]
    return not any(
        parsed(resources.get(part)).get(name, ZERO)
        for resources in parts
        for part in ("requests", "limits")
        for name in ("cpu", "memory")
    )


def _affinity_terms(affinity: Object) -> Iterator[Object]:
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        yield from rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for weighted in rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted.get("podAffinityTerm") or {}


def claim_matches(selector: ScopeSelector, claim: Object) -> bool:
    if selector.scope != "VolumeAttributesClass":
        return False
    status = claim.get("status") or {}
    names = {
        claim["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    }
    return selector.allows(filter(None, names))
