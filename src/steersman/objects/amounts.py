"""Arithmetic on lists of named amounts, `{"cpu": …, "memory": …}`: what pods ask for and quotas grant."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from steersman.objects.quantities import Quantity

__all__ = [
    "ONE",
    "ZERO",
    "Amounts",
    "added",
    "increase",
    "largest",
    "masked",
    "parsed",
    "printed",
    "subtracted",
    "texts",
]

Amounts = dict[str, Quantity]

ZERO: Final = Quantity(0)
ONE: Final = Quantity(1)


def parsed(amounts: Mapping[str, str] | None) -> Amounts:
    return {name: Quantity.parse(text) for name, text in (amounts or {}).items()}


def texts(amounts: Amounts) -> dict[str, str]:
    """As an object has them: by name, in order."""
    return {name: str(amounts[name]) for name in sorted(amounts)}


def printed(amounts: Amounts) -> str:
    return ",".join(f"{name}={text}" for name, text in texts(amounts).items())


def masked(amounts: Amounts, names: Collection[str]) -> Amounts:
    return {name: amount for name, amount in amounts.items() if name in names}


def added(one: Amounts, other: Amounts) -> Amounts:
    total = dict(one)
    for name, amount in other.items():
        total[name] = total[name] + amount if name in total else amount
    return total


def largest(one: Amounts, other: Amounts) -> Amounts:
    """Of each the larger amount."""
    most = dict(one)
    for name, amount in other.items():
        if name not in most or amount > most[name]:
            most[name] = amount
    return most


def subtracted(one: Amounts, other: Amounts) -> Amounts:
    """What is left of `one`, of nothing less than nothing."""
    return {name: max(amount - other.get(name, ZERO), ZERO) for name, amount in one.items()}


def increase(new: Amounts, old: Amounts) -> Amounts:
    """By how much `new` is more, where it is."""
    return {name: amount for name, amount in subtracted(new, old).items() if amount}
