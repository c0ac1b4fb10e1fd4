"""A model's JSON Schema as pydantic makes it, with what definitions need: right defaults, and no surprises.

The result is still JSON Schema with references; `structural` makes a definition's schema of it. What
pydantic cannot say is not raised here but marked in the schema (`UNSUPPORTED`), so that the error can name
the field.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticSerializationError, core_schema

from steersman.objects.custom.errors import DefinitionError
from steersman.objects.custom.structural import UNSUPPORTED
from steersman.objects.custom.writing import none_means_absent, omissions

__all__ = ["json_schema"]

_DECIMAL_PATTERN: Final = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)$"
_DECIMAL_BOUNDS: Final = ("gt", "ge", "lt", "le", "multiple_of", "max_digits", "decimal_places")
_NOTHING: Final = object()


def json_schema(cls: type[BaseModel]) -> JsonSchemaValue:
    """The schema of what the class reads, by the names of the JSON, models under `$defs`."""
    return cls.model_json_schema(by_alias=True, mode="validation", schema_generator=_Generator)


class _Generator(GenerateJsonSchema):
    # Neither is lost: defaults are made anew below, and a choice that has no schema is marked as such.
    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 (pydantic's declaration)

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:
        """Fields stay in the order in which they are declared."""
        return value

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> JsonSchemaValue:
        return {UNSUPPORTED: "this type has no JSON form"}

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        """A decimal is written as text, which has no bounds that a server could check."""
        if any(schema.get(bound) is not None for bound in _DECIMAL_BOUNDS):
            return {UNSUPPORTED: "a Decimal cannot have bounds in a definition; use float or a rule()"}
        return {"type": "string", "pattern": _DECIMAL_PATTERN}

    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> JsonSchemaValue:
        """pydantic's durations are ISO 8601; the format of that name is Go's in Kubernetes."""
        made = super().timedelta_schema(schema)
        made.pop("format", None)
        return made

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        made = super().model_schema(schema)
        cls: type[BaseModel] = schema["cls"]
        properties = made.get("properties") or {}
        for name, field in cls.model_fields.items():
            own = properties.get(field.validation_alias or field.alias or name)
            if own is None:
                continue
            own.pop("default", None)
            default = _default(cls, name, field)
            if default is not _NOTHING:
                own["default"] = default
        return made


def _default(cls: type[BaseModel], name: str, field: FieldInfo) -> Any:
    """A field's default as JSON: None where absence is meant, nothing when there is none that is fixed."""
    if field.is_required() or field.default_factory_takes_validated_data:
        return _NOTHING
    value = field.get_default(call_default_factory=True)
    if value is None:
        return None if none_means_absent(field) else _NOTHING
    adapter = _adapter(field)
    if adapter is None:
        return _NOTHING
    made = _written(adapter, value, f"{cls.__name__}.{name}")
    factory: Callable[[], Any] | None = field.default_factory  # type: ignore[assignment]
    if factory is None:
        return made
    # The time or an identity of now is no default for objects to come.
    if isinstance(value, date | UUID) or made != _written(adapter, factory(), name):
        return _NOTHING
    return made


def _adapter(field: FieldInfo) -> TypeAdapter[Any] | None:
    try:
        whole: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
        return TypeAdapter(whole)
    except PydanticSchemaGenerationError:  # the field's own schema says why
        return None


def _written(adapter: TypeAdapter[Any], value: Any, where: str) -> Any:
    try:
        value = adapter.validate_python(value)
        made = adapter.dump_python(value, mode="json", by_alias=True, exclude=omissions(value))
    except ValidationError as error:
        raise DefinitionError(f"{where}: its default does not fit: {error.errors()[0]['msg']}") from error
    except PydanticSerializationError as error:
        raise DefinitionError(f"{where}: its default cannot be written as JSON") from error
    return sorted(made) if isinstance(value, set | frozenset) else made
