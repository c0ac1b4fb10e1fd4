"""The two ways a field is "not set" in a typed object, and the one rounding every resource list gets.

Used by all defaulting modules. `unset` is for fields where an explicit zero is a value (pointers in the
Go types: `replicas: 0` stays), `zero` for fields where zero and absent are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from steersman.objects.kinds import Object
from steersman.objects.quantities import Quantity

__all__ = ["round_resources", "unset", "zero"]


def unset(obj: Object, key: str, value: Any) -> None:
    """Give `key` a value if it has none; an explicit false, 0 or "" stays."""
    if obj.get(key) is None:
        obj[key] = value


def zero(obj: Object, key: str, value: Any) -> None:
    """Give `key` a value if it has none or holds its type's zero."""
    if not obj.get(key):
        obj[key] = value


def round_resources(obj: Object, keys: Iterable[str]) -> None:
    """Round the quantities of these resource lists up to thousandths, the finest the API keeps."""
    for key in keys:
        resources = obj.get(key)
        if resources:
            for name, text in resources.items():
                # Anything finer than milli shows by its spelling; the rest needs no parsing.
                if text[-1] in "nu" or "." in text or "e-" in text:
                    resources[name] = str(Quantity.parse(text).rounded_up(-3))
