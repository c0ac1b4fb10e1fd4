"""Which taints of a node a pod tolerates: the rule that scheduler, controllers and nodes share. Pure.

`Tainting` and `Tolerating` are inherited by the views of taints and tolerations (kinds/views.txt).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

__all__ = ["Tainting", "Tolerating", "tolerates"]

_KEEPING_OUT: Final = frozenset({"NoSchedule", "NoExecute"})


class _TaintView(Protocol):
    @property
    def key(self) -> str: ...

    @property
    def value(self) -> str: ...

    @property
    def effect(self) -> str: ...


class _TolerationView(_TaintView, Protocol):
    @property
    def operator(self) -> str: ...


class Tainting:
    """For views of taints with key, value and effect."""

    __slots__ = ()

    @property
    def kind(self: _TaintView) -> tuple[str, str]:
        """Of which a node has one at most: key and effect."""
        return self.key, self.effect

    @property
    def keeps_out(self: _TaintView) -> bool:
        """Whether it keeps pods that do not tolerate it from being scheduled."""
        return self.effect in _KEEPING_OUT


class Tolerating:
    """For views of tolerations with key, operator, value and effect."""

    __slots__ = ()

    def tolerates(self: _TolerationView, taint: _TaintView) -> bool:
        return _matches(
            self.key, self.operator, self.value, self.effect, taint.key, taint.value, taint.effect
        )


def tolerates(tolerations: Iterable[Mapping[str, Any]] | None, taint: Mapping[str, Any]) -> bool:
    """Whether one of a pod's tolerations is for this taint."""
    key, value, effect = taint.get("key") or "", taint.get("value") or "", taint.get("effect") or ""
    for one in tolerations or ():
        mine = one.get("value") or ""
        if _matches(one.get("key"), one.get("operator"), mine, one.get("effect"), key, value, effect):
            return True
    return False


def _matches(
    key: str | None,
    operator: str | None,
    value: str,
    effect: str | None,
    taint_key: str,
    taint_value: str,
    taint_effect: str,
) -> bool:
    if effect and effect != taint_effect:
        return False
    if key and key != taint_key:
        return False
    if operator == "Exists":
        return True
    if not operator or operator == "Equal":
        return value == taint_value
    return _compares(operator, value, taint_value)


def _compares(operator: str, value: str, taint_value: str) -> bool:
    """Whether the taint's number is above (`Gt`) or below (`Lt`) the toleration's."""
    try:
        mine, theirs = int(value), int(taint_value)
    except ValueError:
        return False
    return theirs > mine if operator == "Gt" else theirs < mine if operator == "Lt" else False
