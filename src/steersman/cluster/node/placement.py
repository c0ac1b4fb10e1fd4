"""Whether a pod wants to be on a node and whether the node lets it: node selection and taints. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from steersman.objects.errors import SelectorError
from steersman.objects.selectors import LabelSelector, Requirement

__all__ = ["selects_node", "tolerates"]

Object = Mapping[str, Any]

_OPERATORS: Final = {
    "In": "in",
    "NotIn": "notin",
    "Exists": "exists",
    "DoesNotExist": "!",
    "Gt": "gt",
    "Lt": "lt",
}


def selects_node(spec: Object, name: str, labels: Mapping[str, str]) -> bool:
    """Whether a pod's node selector and required node affinity allow this node."""
    wanted = spec.get("nodeSelector") or {}
    if any(labels.get(label) != value for label, value in wanted.items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    fields = {"metadata.name": name}
    return any(
        _meets(term.get("matchExpressions"), labels) and _meets(term.get("matchFields"), fields)
        for term in required.get("nodeSelectorTerms") or ()
        # A term that says nothing selects nothing.
        if term.get("matchExpressions") or term.get("matchFields")
    )


def _meets(requirements: Iterable[Object] | None, values: Mapping[str, str]) -> bool:
    try:
        made = [
            Requirement(
                one.get("key", ""), _OPERATORS[one.get("operator", "")], tuple(one.get("values") or ())
            )
            for one in requirements or ()
        ]
        return LabelSelector(made).matches(values)
    except (KeyError, SelectorError):
        return False


def tolerates(tolerations: Iterable[Object] | None, taint: Object) -> bool:
    """Whether one of a pod's tolerations is for this taint."""
    return any(_tolerates(toleration, taint) for toleration in tolerations or ())


def _tolerates(toleration: Object, taint: Object) -> bool:
    for field in ("effect", "key"):
        if toleration.get(field) and toleration[field] != taint.get(field):
            return False
    operator = toleration.get("operator") or "Equal"
    given, wanted = taint.get("value", ""), toleration.get("value", "")
    if operator in _COMPARISONS:
        return (
            given.lstrip("-").isdigit()
            and wanted.lstrip("-").isdigit()
            and _COMPARISONS[operator](int(given), int(wanted))
        )
    return operator == "Exists" or (operator == "Equal" and given == wanted)


_COMPARISONS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "Gt": lambda given, wanted: given > wanted,
    "Lt": lambda given, wanted: given < wanted,
}
