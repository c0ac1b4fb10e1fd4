"""Inter-pod affinity and anti-affinity terms of a pod. Pure; shared by bytes, as in `requests`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import orjson

from steersman.objects.selectors import NOTHING, LabelSelector

if TYPE_CHECKING:
    from steersman.cluster.scheduler.model.pod import PodInfo

__all__ = ["NO_AFFINITY", "AffinityTerm", "NamespaceLabels", "PodAffinity", "read_pod_affinity"]

#: The labels of a namespace, by its name.
NamespaceLabels = Callable[[str], Mapping[str, str]]

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_CACHED: Final = 4096


@dataclass(frozen=True, slots=True, eq=False)
class AffinityTerm:
    """A selector of pods and a topology key."""

    selector: LabelSelector
    topology_key: str
    namespaces: frozenset[str]
    namespace_selector: LabelSelector = NOTHING
    #: How much it matters, if it is a wish.
    weight: int = 0

    def matches(self, pod: PodInfo, labels_of: NamespaceLabels) -> bool:
        if pod.namespace not in self.namespaces:
            selector = self.namespace_selector
            if selector is NOTHING or not selector.matches(labels_of(pod.namespace)):
                return False
        return self.selector.matches(pod.labels)


@dataclass(frozen=True, slots=True, eq=False)
class PodAffinity:
    """The affinity terms of one pod."""

    required: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred: tuple[AffinityTerm, ...] = ()
    preferred_anti: tuple[AffinityTerm, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.required or self.required_anti or self.preferred or self.preferred_anti)


NO_AFFINITY: Final = PodAffinity()


@lru_cache(_CACHED)
def read_pod_affinity(affinity: bytes, namespace: str) -> PodAffinity:
    """From a pod's affinity (empty bytes: none) and its namespace. Raises SelectorError."""
    found: dict[str, Any] = (orjson.loads(affinity) or {}) if affinity else {}
    near: Mapping[str, Any] = found.get("podAffinity") or {}
    far: Mapping[str, Any] = found.get("podAntiAffinity") or {}
    if not near and not far:
        return NO_AFFINITY
    return PodAffinity(
        _terms(near.get(_REQUIRED), namespace),
        _terms(far.get(_REQUIRED), namespace),
        _weighted(near.get(_PREFERRED), namespace),
        _weighted(far.get(_PREFERRED), namespace),
    )


def _terms(terms: Iterable[Mapping[str, Any]] | None, namespace: str) -> tuple[AffinityTerm, ...]:
    return tuple(_term(term, namespace) for term in terms or ())


def _weighted(terms: Iterable[Mapping[str, Any]] | None, namespace: str) -> tuple[AffinityTerm, ...]:
    return tuple(_term(each["podAffinityTerm"], namespace, each["weight"]) for each in terms or ())


def _term(term: Mapping[str, Any], namespace: str, weight: int = 0) -> AffinityTerm:
    named = term.get("namespaces") or ()
    selector = term.get("namespaceSelector")
    return AffinityTerm(
        LabelSelector.from_object(term.get("labelSelector")),
        term["topologyKey"],
        frozenset((namespace,) if not named and selector is None else named),
        LabelSelector.from_object(selector),
        weight,
    )
