"""What every builder is: a piece of an object under construction, and how its values are checked.

A builder changes in place and every method returns it, so calls can be chained or written one by one;
`copy()` makes another. A part given to another builder is read at that moment: later changes do not
follow. Each method checks what it is given and raises BuildError there and then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Self

import orjson

from steersman.objects.builders.errors import BuildError
from steersman.objects.builders.raw_path import write
from steersman.objects.errors import QuantityError
from steersman.objects.names import is_percent, is_port_name, name_is_dns_subdomain
from steersman.objects.quantities import Quantity, canonical

__all__ = ["Part", "copied", "put_or_drop"]

_INT32_MAX = 2**31 - 1


def put_or_drop(holder: dict[str, Any], field: str, value: Any) -> None:
    """For fields whose zero value the API leaves out: what is built then equals what is stored."""
    if value:
        holder[field] = value
    else:
        holder.pop(field, None)


def copied(value: Any) -> Any:
    """The same JSON in new dicts and lists. Raises TypeError for what JSON cannot say."""
    return orjson.loads(orjson.dumps(value))


@lru_cache(maxsize=512)
def _exceeds(value: str, limit: str) -> bool:
    return Quantity.parse(value) > Quantity.parse(limit)


class Part:
    """A builder: `raw` for what it has no method for, `to_object` for what it has built."""

    __slots__ = ("_object",)

    #: What changes in place cannot be a key.
    __hash__ = None  # type: ignore[assignment]

    def __init__(self) -> None:
        self._object: dict[str, Any] = {}

    def to_object(self) -> dict[str, Any]:
        """What was built, in dicts and lists of its own."""
        made: dict[str, Any] = copied(self._object)
        return made

    def raw(self, path: str, value: Any) -> Self:
        """Set any field: `raw("spec.template.spec.hostNetwork", True)`; None takes a field away."""
        given = value.to_object() if isinstance(value, Part) else value
        try:
            write(self._edit(), path, copied(given))
        except (TypeError, ValueError) as error:
            raise self._error(path, str(error)) from None
        return self

    def copy(self) -> Self:
        other = object.__new__(type(self))
        other._object = copied(self._object)
        return other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Part) or type(other) is not type(self):
            return NotImplemented
        return self._object == other._object

    def __repr__(self) -> str:
        # Never the content: it may be secret, and is long.
        return f"{type(self).__name__}({self._called()!r})"

    # --- For the builders themselves

    def _called(self) -> str:
        """The name errors give this part."""
        name = self._object.get("name", "")
        return name if isinstance(name, str) else ""

    def _edit(self) -> dict[str, Any]:
        """The content, to be changed."""
        return self._object

    def _put(self, field: str, value: Any) -> Self:
        self._edit()[field] = value
        return self

    def _put_or_drop(self, field: str, value: Any) -> Self:
        put_or_drop(self._edit(), field, value)
        return self

    def _error(self, field: str, problem: str) -> BuildError:
        return BuildError(type(self).__name__, self._called(), field, problem)

    # --- Checks: each returns the value as the object holds it

    def _count(self, field: str, value: int, low: int = 0, high: int = _INT32_MAX) -> int:
        if type(value) is not int:
            raise self._error(field, f"must be a whole number, not {value!r}")
        if not low <= value <= high:
            limit = f"at least {low}" if high == _INT32_MAX else f"between {low} and {high}"
            raise self._error(field, f"must be {limit}, not {value}")
        return value

    def _flag(self, field: str, value: bool) -> bool:
        if type(value) is not bool:
            raise self._error(field, f"must be True or False, not {value!r}")
        return value

    def _text(self, field: str, value: str) -> str:
        if not isinstance(value, str):
            raise self._error(field, f"must be a string, not {value!r}")
        if not value:
            raise self._error(field, "must not be empty")
        return value

    def _texts(self, field: str, values: Iterable[str | Iterable[str]]) -> list[str]:
        """`("a", "b")` and `(["a", "b"],)` are both a and b."""
        flat: list[str] = []
        for value in values:
            flat += value if isinstance(value, Iterable) and not isinstance(value, str) else [value]
        for text in flat:
            if not isinstance(text, str):
                raise self._error(field, f"must be strings, not {text!r}")
        return flat

    def _name(self, field: str, value: str, rule: Callable[[str], list[str]] = name_is_dns_subdomain) -> str:
        problems = rule(self._text(field, value))
        if problems:
            raise self._error(field, f"{value!r}: {problems[0]}")
        return value

    def _choice(self, field: str, value: str, choices: tuple[str, ...]) -> str:
        if value not in choices:
            raise self._error(field, f"must be one of {', '.join(choices)}, not {value!r}")
        return value

    def _port(self, field: str, value: int) -> int:
        return self._count(field, value, 1, 65535)

    def _port_or_name(self, field: str, value: int | str) -> int | str:
        return self._name(field, value, is_port_name) if isinstance(value, str) else self._port(field, value)

    def _count_or_percent(self, field: str, value: int | str) -> int | str:
        return self._name(field, value, is_percent) if isinstance(value, str) else self._count(field, value)

    def _quantity(self, field: str, value: str | int | float) -> str:
        """In its canonical spelling, so that what was built equals what the API stores."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self._error(field, f"must be a quantity such as '500m' or '1Gi', not {value!r}")
        text = value if isinstance(value, str) else str(value)
        try:
            spelled = canonical(text)
        except QuantityError as error:
            raise self._error(
                field, f"{value!r} is not a quantity such as '500m' or '1Gi': {error}"
            ) from None
        if spelled[0] == "-":
            raise self._error(field, f"must not be negative, not {value!r}")
        return spelled

    def _not_above(self, field: str, value: str, limit: str) -> None:
        """A request may not exceed its limit."""
        if _exceeds(value, limit):
            raise self._error(field, f"{value} is more than the limit {limit}")
