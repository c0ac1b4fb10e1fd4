"""Runtime costs of calls in kube-apiserver's units: one per step, a tenth per character."""

from __future__ import annotations

from typing import Any

from steersman.cluster.cel.functions import Cost
from steersman.cluster.cel.values import is_map, size_of

__all__ = ["pattern", "smaller", "tenth", "together", "traversal"]


def tenth(size: int) -> int:
    """Going through `size` characters once."""
    return (size + 9) // 10


def _length(value: Any) -> int:
    return len(value) if type(value) is str else size_of(value)


def of_argument(index: int, times: int = 1) -> Cost:
    """Going through one argument."""

    def cost(*args: Any) -> int:
        return (_length(args[index]) * times + 9) // 10

    return cost


def smaller(left: Any, right: Any, *_rest: Any) -> int:
    """Comparing stops at the end of the shorter one."""
    return tenth(min(size_of(left), size_of(right)))


def together(left: Any, right: Any) -> int:
    return tenth(size_of(left) + size_of(right))


def product(left: Any, right: Any) -> int:
    """Looking for one string in another."""
    return tenth(size_of(left)) * tenth(size_of(right))


def pattern(text: Any, regex: Any, *_rest: Any) -> int:
    """Matching a regular expression, guessed to have a state for every four characters."""
    return tenth(1 + size_of(text)) * ((size_of(regex) + 3) // 4)


def traversal(value: Any, *_rest: Any) -> int:
    """Going through all of a value, strings at a tenth per character."""
    if isinstance(value, (str, bytes)):
        return len(value) // 10
    if isinstance(value, list):
        return sum(1 if type(item) in _ATOMS else traversal(item) for item in value)
    if is_map(value):
        return sum(traversal(key) + traversal(value[key]) for key in value)
    return 1


_ATOMS = frozenset({int, float, bool})
