"""`Model`: the base of what a custom resource contains, with Kubernetes' names in the JSON.

`available_replicas` is `availableReplicas` in the object; a name that camel case gets wrong is given as
an alias (`pod_ip: str = Field(alias="podIP")`). A plain pydantic `BaseModel` works as well: its fields
are then named in the JSON as they are in Python, unless it has aliases of its own. Fields that the model
does not know are dropped when an object is read, so that a newer server can add some; `extra="allow"`
keeps them, in Python and on the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, ClassVar, Self, Unpack

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema

from steersman.objects.custom.errors import DefinitionError
from steersman.objects.custom.markers import RULES, Rule

__all__ = ["Model"]

_IMMUTABLE = frozenset((str, int, float, bool, type(None)))


class Model(BaseModel):
    """A part of a custom resource: `class Range(Model, rules=[rule("self.low <= self.high")])`."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    __rules__: ClassVar[tuple[Rule, ...]] = ()

    def __init_subclass__(cls, *, rules: Sequence[Rule] = (), **config: Unpack[ConfigDict]) -> None:
        super().__init_subclass__()
        # pydantic's metaclass has taken its own keywords out before.
        for unknown in config:
            raise DefinitionError(f'{cls.__name__}: there is no class keyword "{unknown}"')
        cls.__rules__ = (*cls.__rules__, *rules)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> dict[str, Any]:
        schema = handler(core)
        if cls.__rules__:
            own = handler.resolve_ref_schema(schema)
            own[RULES] = [*own.get(RULES, ()), *(each.to_object() for each in cls.__rules__)]
        return schema

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """As pydantic's, but without asking `copy` about each plain value: every object that is read without
        a status gets a copy of the default one."""
        if self.__pydantic_extra__ or self.__pydantic_private__:
            return super().__deepcopy__(memo)
        memo = {} if memo is None else memo
        made = memo[id(self)] = self.__copy__()
        content = made.__dict__
        for name, value in content.items():
            if type(value) not in _IMMUTABLE:
                content[name] = deepcopy(value, memo)
        return made
