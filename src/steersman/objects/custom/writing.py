"""From models to what is sent: JSON values without what nobody set.

Left out are fields that still have their default (the server has the same one), None where it only means
"not given", and computed fields, which the server does not know. A default that was changed in place
(`app.status.conditions.append(…)`) counts as set. None is written where it is a value of its own: the
field's default is another one, or it is marked `nullable()`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from steersman.objects.custom.markers import Marker

__all__ = ["dump", "none_means_absent", "omissions"]

#: What pydantic is told to leave out: by field, key or index, all of it (True) or parts.
Omissions = dict[Any, Any]


def dump(model: BaseModel) -> dict[str, Any]:
    """The model as JSON values, by the names of the JSON."""
    dumped: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude=omissions(model))
    return dumped


def omissions(value: Any) -> Omissions | None:
    """What of a value is not to be written; None when all of it is."""
    if isinstance(value, BaseModel):
        return _of_model(value)
    if isinstance(value, dict):
        return {key: found for key, item in value.items() if (found := omissions(item))} or None
    if isinstance(value, list | tuple):
        return {index: found for index, item in enumerate(value) if (found := omissions(item))} or None
    return None


def none_means_absent(field: FieldInfo) -> bool:
    """Whether None says no more than that the field is not there."""
    marked = any(isinstance(each, Marker) and each.allows_null for each in field.metadata)
    return field.default is None and not marked


class _Field(NamedTuple):
    name: str
    info: FieldInfo
    none_means_absent: bool


class _Plan(NamedTuple):
    fields: tuple[_Field, ...]
    computed: tuple[str, ...]
    omits_empty: bool


@lru_cache(maxsize=1024)
def _plan(cls: type[BaseModel]) -> _Plan:
    fields = tuple(_Field(name, info, none_means_absent(info)) for name, info in cls.model_fields.items())
    return _Plan(fields, tuple(cls.model_computed_fields), getattr(cls, "omits_empty", False))


def _of_model(model: BaseModel) -> Omissions | None:
    cls = type(model)
    if cls.__pydantic_root_model__:
        return None
    plan = _plan(cls)
    given, values = model.model_fields_set, model.__dict__
    found: Omissions = dict.fromkeys(plan.computed, True)
    for name, info, absent_if_none in plan.fields:
        value = values.get(name)
        if (
            (value is None and absent_if_none)
            or (plan.omits_empty and not value)
            or (name not in given and not _was_changed(value, info))
        ):
            found[name] = True
        elif below := omissions(value):
            found[name] = below
    return found or None


def _was_changed(value: Any, field: FieldInfo) -> bool:
    """Whether a default was changed in place, which only a container can be."""
    if not isinstance(value, BaseModel | list | dict | set):
        return False
    if field.default_factory_takes_validated_data:
        return True
    # Only looked at, so it need not be the copy that get_default would make.
    default = field.default if field.default_factory is None else field.default_factory()  # type: ignore[call-arg]
    if value != default:
        return True
    return isinstance(value, BaseModel) and value.model_fields_set != default.model_fields_set
