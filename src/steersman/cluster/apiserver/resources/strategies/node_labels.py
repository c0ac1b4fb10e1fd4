"""Node labels that were renamed, and the warnings for selecting by them."""

from __future__ import annotations

from typing import Final

from steersman.objects.fields import Path
from steersman.objects.kinds import Object
from steersman.objects.names import is_label_value

__all__ = ["DEPRECATED", "selector_warnings", "term_warnings"]

DEPRECATED: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    **{
        old: f'deprecated since v1.17; use "{new}" instead'
        for old, new in (
            ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
            ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
            ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
        )
    },
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def term_warnings(term: Object, path: Path, *, check_values: bool = False) -> list[str]:
    """Of a node selector term, or of the expressions of a label selector over nodes."""
    warnings = []
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        here = path.child("matchExpressions").index(index)
        key = expression.get("key", "")
        if key in DEPRECATED:
            warnings.append(f"{here.child('key')}: {key} is {DEPRECATED[key]}")
        if check_values:
            for position, value in enumerate(expression.get("values") or ()):
                place = here.child("values").index(position)
                warnings += [f"{place}: {value} is invalid, {problem}" for problem in is_label_value(value)]
    return warnings


def selector_warnings(selector: Object | None, path: Path) -> list[str]:
    if not selector:
        return []
    labels = selector.get("matchLabels") or ()
    return term_warnings(selector, path) + [
        f"{path.child('matchLabels', label)}: {DEPRECATED[label]}" for label in labels if label in DEPRECATED
    ]
