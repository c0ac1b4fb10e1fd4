"""Types of Kubernetes' own for fields: quantities, times, durations, int-or-string.

They read what objects carry and write the canonical text; for type checkers they are the Python type
that they hold.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, GetCoreSchemaHandler, PlainSerializer, WithJsonSchema
from pydantic_core import CoreSchema, core_schema

from steersman.objects import quantities
from steersman.objects.custom.durations import format_duration, parse_duration
from steersman.objects.times import format_time

__all__ = ["INT_OR_STRING", "Duration", "IntOrString", "Quantity", "Time"]

#: How a schema says that a field is an integer or a string; no other union may name types.
INT_OR_STRING: Final[dict[str, Any]] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
_QUANTITY_PATTERN: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)


class _QuantityType:
    """Reads a number or text into a Quantity and writes its canonical text."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            _read_quantity,
            serialization=core_schema.plain_serializer_function_ser_schema(_write_quantity, when_used="json"),
        )


def _read_quantity(value: Any) -> quantities.Quantity:
    if isinstance(value, quantities.Quantity):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("a quantity is a text or a number")
    return quantities.Quantity.parse(str(value))


def _write_quantity(value: quantities.Quantity) -> str:
    return str(value)


def _read_duration(value: Any) -> Any:
    return parse_duration(value) if isinstance(value, str) else value


def _in_utc(moment: datetime) -> datetime:
    """A time without a zone is in UTC, as all times in objects are."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


#: A port by number or name, a count or a percentage.
IntOrString = Annotated[int | str, WithJsonSchema(INT_OR_STRING)]

#: "100m", "128Mi", 2: holds a `steersman.objects.quantities.Quantity`.
Quantity = Annotated[
    quantities.Quantity, _QuantityType(), WithJsonSchema({**INT_OR_STRING, "pattern": _QUANTITY_PATTERN})
]

#: "1h30m": holds a timedelta. (A plain timedelta field is ISO 8601 instead: "PT1H30M".)
Duration = Annotated[
    timedelta,
    BeforeValidator(_read_duration),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "duration"}),
]

#: "2026-01-31T12:00:00Z": holds an aware datetime in UTC and writes whole seconds, as Kubernetes does.
Time = Annotated[
    datetime,
    AfterValidator(_in_utc),
    PlainSerializer(format_time, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
