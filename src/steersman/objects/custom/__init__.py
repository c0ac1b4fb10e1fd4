"""Custom resources from classes: pydantic models that are resources, and their definitions.

    from steersman import CustomResource, Field, Model

    class WebAppSpec(Model):
        image: str = Field(pattern=".+:.+")
        replicas: int = Field(1, ge=0, le=50)

    class WebApp(CustomResource, group="example.com", version="v1"):
        spec: WebAppSpec

**What a field becomes.** A field without default is required. A default is the server's too, so that other
clients see it; those of `default_factory` as well when they are always the same. `X | None = None` is
optional and says no more: None is not written. With another default, or none, `X | None` is nullable, and
None is written as null; `nullable()` asks for that explicitly. Constraints (`ge`, `pattern`, …),
enumerations, `Literal`, dicts, lists, sets, `int | str`, nested models and unions of models become what a
definition has for them; `Any` and `extra="allow"` keep what is unknown. Descriptions are docstrings and
`Field(description=…)`. What has no form in a definition is a DefinitionError with the class and the field.

**What is left to Python**: validators, and constraints on them. The server cannot know them; `rule()` is what
both sides can.
"""

from __future__ import annotations

from pydantic import Field

from steersman.objects.custom.crd import crd
from steersman.objects.custom.definition import AGE, PrinterColumn, Scale
from steersman.objects.custom.errors import ConversionError, DefinitionError, InvalidObjectError
from steersman.objects.custom.markers import (
    atomic,
    embedded_resource,
    list_map,
    list_set,
    nullable,
    preserve_unknown,
    rule,
)
from steersman.objects.custom.metadata import Condition, ObjectMeta, OwnerReference
from steersman.objects.custom.model import Model
from steersman.objects.custom.resource import CustomResource
from steersman.objects.custom.scalars import Duration, IntOrString, Quantity, Time
from steersman.objects.custom.versions import Versions
from steersman.objects.custom.writing import dump

__all__ = [
    "AGE",
    "Condition",
    "ConversionError",
    "CustomResource",
    "DefinitionError",
    "Duration",
    "Field",
    "IntOrString",
    "InvalidObjectError",
    "Model",
    "ObjectMeta",
    "OwnerReference",
    "PrinterColumn",
    "Quantity",
    "Scale",
    "Time",
    "Versions",
    "atomic",
    "crd",
    "dump",
    "embedded_resource",
    "list_map",
    "list_set",
    "nullable",
    "preserve_unknown",
    "rule",
]
