"""Label selectors as text, as Go prints them in messages (metav1.FormatLabelSelector). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["selector_text"]


def selector_text(selector: Mapping[str, Any] | None) -> str:
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    expressions = "".join(map(_expression, selector.get("matchExpressions") or ()))
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def _expression(expression: Mapping[str, Any]) -> str:
    values = " ".join(expression.get("values") or ())
    return (
        f"LabelSelectorRequirement{{Key:{expression.get('key', '')},"
        f"Operator:{expression.get('operator', '')},Values:[{values}],}},"
    )
