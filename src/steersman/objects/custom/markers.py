"""What a field's type cannot say by itself: `Annotated[list[Port], list_map("name")]`.

A marker adds keys to the schema of what it annotates. pydantic calls it when a schema is made; at run
time it costs nothing. Names in markers and rules are those of the JSON, not of Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from steersman.objects.kinds.enums import FieldValueErrorReason

__all__ = [
    "ATOMIC",
    "PRESERVE",
    "RULES",
    "Marker",
    "Rule",
    "atomic",
    "embedded_resource",
    "list_map",
    "list_set",
    "nullable",
    "preserve_unknown",
    "rule",
]

PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
RULES: Final = "x-kubernetes-validations"
#: Stands for the list's or the map's own key until the type is known.
ATOMIC: Final = "x-kubernetes-atomic"

Reason = FieldValueErrorReason


class _Annotation:
    """What annotates a type here and not elsewhere."""

    __slots__ = ()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        # pydantic notes its annotations in the schema, and that of a recursive model is shared by all who
        # use the model: so it notes them in a copy.
        schema: Any = handler(source)
        return cast("CoreSchema", {**schema, "metadata": dict(schema.get("metadata") or {})})


class Marker(_Annotation):
    """Keys for the schema of the annotated type."""

    __slots__ = ("_keys", "_opaque")

    def __init__(self, keys: dict[str, Any], *, opaque: bool = False) -> None:
        """An opaque marker is the whole schema: what it annotates is not looked at."""
        self._keys = keys
        self._opaque = opaque

    @property
    def allows_null(self) -> bool:
        return self._keys.get("nullable") is True

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**({} if self._opaque else handler(core)), **self._keys}


def list_map(*keys: str) -> Marker:
    """A list whose items are told apart by these fields; managers can then own single items of it."""
    return Marker({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)})


def list_set() -> Marker:
    """A list without repetition, whose items managers can own one by one."""
    return Marker({"x-kubernetes-list-type": "set"})


def atomic() -> Marker:
    """A list, map or model that is owned and replaced as a whole."""
    return Marker({ATOMIC: True})


def preserve_unknown() -> Marker:
    """The server takes any value here and keeps all of it; only Python's type judges.

    For what a schema cannot say: recursive models, unions of different types. A model whose known fields
    should still be checked is declared with `extra="allow"` instead.
    """
    return Marker({PRESERVE: True}, opaque=True)


def embedded_resource() -> Marker:
    """A complete Kubernetes object: apiVersion, kind and metadata are checked, everything is kept."""
    return Marker({"type": "object", "x-kubernetes-embedded-resource": True, PRESERVE: True}, opaque=True)


def nullable() -> Marker:
    """null is a value of its own, not the same as absence."""
    return Marker({"nullable": True})


@dataclass(frozen=True, slots=True)
class Rule(_Annotation):
    """A validation rule in CEL; see `rule`."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: Reason | None = None
    field_path: str = ""
    optional_old_self: bool | None = None

    def to_object(self) -> dict[str, Any]:
        said = {
            "rule": self.rule,
            "message": self.message,
            "messageExpression": self.message_expression,
            "reason": self.reason,
            "fieldPath": self.field_path,
            "optionalOldSelf": self.optional_old_self,
        }
        return {key: value for key, value in said.items() if value not in ("", None)}

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler(core)
        return {**schema, RULES: [*schema.get(RULES, ()), self.to_object()]}


def rule(
    expression: str,
    message: str = "",
    *,
    message_expression: str = "",
    reason: Reason | None = None,
    field_path: str = "",
    optional_old_self: bool | None = None,
) -> Rule:
    """What the server checks by an expression over `self` (and `oldSelf`, on updates).

    On a field: `Annotated[str, rule("self == oldSelf", "is immutable")]`; on a model:
    `class Range(Model, rules=[rule("self.low <= self.high")])`.
    """
    return Rule(expression, message, message_expression, reason, field_path, optional_old_self)
