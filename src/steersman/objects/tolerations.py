"""Which taints of a node a pod tolerates: the rule that scheduler and controllers share. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

__all__ = ["Taint", "Toleration", "tolerates"]


class Taint(msgspec.Struct, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class Toleration(msgspec.Struct, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        return self._compares(taint.value)

    def _compares(self, value: str) -> bool:
        """Whether the taint's number is above (`Gt`) or below (`Lt`) the toleration's."""
        try:
            mine, theirs = int(self.value), int(value)
        except ValueError:
            return False
        return theirs > mine if self.operator == "Gt" else theirs < mine if self.operator == "Lt" else False


def tolerates(tolerations: Iterable[Mapping[str, Any]] | None, taint: Mapping[str, Any]) -> bool:
    """Whether one of a pod's tolerations is for this taint."""
    found = msgspec.convert(taint, Taint)
    return any(msgspec.convert(each, Toleration).tolerates(found) for each in tolerations or ())
