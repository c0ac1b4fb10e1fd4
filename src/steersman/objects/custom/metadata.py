"""Metadata and conditions of an object, typed.

Metadata is modelled as far as operators use it; the rest is kept as it came. Empty values are not
written: for the server they are the same as none. A status has its conditions as
`Annotated[list[Condition], list_map("type")]`, so that several managers can each set their own.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from steersman.objects.custom.markers import PRESERVE
from steersman.objects.custom.model import Model
from steersman.objects.custom.scalars import Time

__all__ = ["Condition", "ObjectMeta", "OwnerReference"]


class OwnerReference(Model):
    """Who an object belongs to; it is deleted with its last owner."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Model):
    """What every object has."""

    model_config = ConfigDict(extra="allow")
    omits_empty: ClassVar[bool] = True

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    finalizers: list[str] = Field(default_factory=list)
    owner_references: list[OwnerReference] = Field(default_factory=list)
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> dict[str, Any]:
        return {"type": "object", PRESERVE: True}


class Condition(Model):
    """One aspect of an object's state."""

    type: str = Field(max_length=316)
    status: Literal["True", "False", "Unknown"]
    reason: str = Field(min_length=1, max_length=1024, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
    message: str = Field("", max_length=32768)
    last_transition_time: Time
    observed_generation: int | None = Field(None, ge=0)
