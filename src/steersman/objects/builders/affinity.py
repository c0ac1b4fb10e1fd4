"""Affinity: on which nodes pods must or should run, and near or far from which other pods.

`require_*` and `forbid_*` are strict: a pod that cannot have them stays pending. `prefer_*` and `avoid_*`
weigh from 1 to 100. Where no selector is given, the pods meant are those of the workload itself, so
`Affinity().avoid_pods()` spreads them over the nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Self

from steersman.objects.builders.labels import Selector, label_selector
from steersman.objects.builders.part import Part, copied
from steersman.objects.names import is_label_key

__all__ = ["Affinity", "fill_own_selector"]

_HOSTNAME: Final = "kubernetes.io/hostname"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_SelectorLike = Selector | Mapping[str, str]


class Affinity(Part):
    """`Affinity().require_nodes({"disk": "ssd"}).avoid_pods()`."""

    __slots__ = ()

    def require_nodes(self, nodes: _SelectorLike) -> Self:
        """Only nodes with these labels; called again, nodes of any of the selectors."""
        required = self._side("nodeAffinity").setdefault(_REQUIRED, {"nodeSelectorTerms": []})
        required["nodeSelectorTerms"].append(self._node_term(nodes))
        return self

    def prefer_nodes(self, nodes: _SelectorLike, *, weight: int = 100) -> Self:
        term = {"weight": self._weight(weight), "preference": self._node_term(nodes)}
        self._side("nodeAffinity").setdefault(_PREFERRED, []).append(term)
        return self

    def require_pods(
        self,
        pods: _SelectorLike | None = None,
        topology_key: str = _HOSTNAME,
        *,
        namespaces: Iterable[str] = (),
    ) -> Self:
        """Only where such pods run already; "where" is a node, or a zone by another topology key."""
        return self._required("podAffinity", pods, topology_key, namespaces)

    def prefer_pods(
        self,
        pods: _SelectorLike | None = None,
        topology_key: str = _HOSTNAME,
        *,
        weight: int = 100,
        namespaces: Iterable[str] = (),
    ) -> Self:
        return self._preferred("podAffinity", pods, topology_key, weight, namespaces)

    def forbid_pods(
        self,
        pods: _SelectorLike | None = None,
        topology_key: str = _HOSTNAME,
        *,
        namespaces: Iterable[str] = (),
    ) -> Self:
        """Never where such pods run."""
        return self._required("podAntiAffinity", pods, topology_key, namespaces)

    def avoid_pods(
        self,
        pods: _SelectorLike | None = None,
        topology_key: str = _HOSTNAME,
        *,
        weight: int = 100,
        namespaces: Iterable[str] = (),
    ) -> Self:
        return self._preferred("podAntiAffinity", pods, topology_key, weight, namespaces)

    def _side(self, side: str) -> dict[str, Any]:
        content: dict[str, Any] = self._object.setdefault(side, {})
        return content

    def _weight(self, weight: int) -> int:
        return self._count("weight", weight, 1, 100)

    def _node_term(self, nodes: _SelectorLike) -> dict[str, Any]:
        """Nodes are selected by expressions only."""
        selector = label_selector(self._error, "nodeAffinity", nodes, {})
        expressions = [
            {"key": key, "operator": "In", "values": [value]}
            for key, value in selector.get("matchLabels", {}).items()
        ]
        expressions += selector.get("matchExpressions", ())
        if not expressions:
            raise self._error("nodeAffinity", "an empty selector selects no node")
        return {"matchExpressions": expressions}

    def _pod_term(
        self, side: str, pods: _SelectorLike | None, topology_key: str, namespaces: Iterable[str]
    ) -> dict[str, Any]:
        term: dict[str, Any] = {}
        if pods is not None:
            term["labelSelector"] = label_selector(self._error, side, pods, {})
        term["topologyKey"] = self._name(side, topology_key, is_label_key)
        if names := self._texts(side, [namespaces]):
            term["namespaces"] = names
        return term

    def _required(
        self, side: str, pods: _SelectorLike | None, topology_key: str, namespaces: Iterable[str]
    ) -> Self:
        term = self._pod_term(side, pods, topology_key, namespaces)
        self._side(side).setdefault(_REQUIRED, []).append(term)
        return self

    def _preferred(
        self, side: str, pods: _SelectorLike | None, topology_key: str, weight: int, namespaces: Iterable[str]
    ) -> Self:
        term = self._pod_term(side, pods, topology_key, namespaces)
        self._side(side).setdefault(_PREFERRED, []).append(
            {"weight": self._weight(weight), "podAffinityTerm": term}
        )
        return self


def fill_own_selector(affinity: dict[str, Any], own: dict[str, Any]) -> None:
    """Terms without a selector mean the pods of the workload itself."""
    for side in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(side) or {}
        for term in terms.get(_REQUIRED) or ():
            term.setdefault("labelSelector", copied(own))
        for weighted in terms.get(_PREFERRED) or ():
            weighted["podAffinityTerm"].setdefault("labelSelector", copied(own))
