"""`CustomResource`: a class is a resource.

    class WebApp(CustomResource, group="example.com", version="v1", short_names=["wa"]):
        spec: WebAppSpec
        status: WebAppStatus = WebAppStatus()

`WebApp.crd()` is its definition, `WebApp.from_object` reads what the API answers, `to_object` makes what it
takes. A class with a `status` field has the status subresource. Nothing here talks to a server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, Unpack

from pydantic import ConfigDict, Field, ValidationError

from steersman.objects.custom.definition import Definition, PrinterColumn, Scale, Scope
from steersman.objects.custom.errors import DefinitionError, InvalidObjectError
from steersman.objects.custom.markers import Rule
from steersman.objects.custom.metadata import ObjectMeta
from steersman.objects.custom.model import Model
from steersman.objects.custom.writing import dump
from steersman.objects.resource_type import ResourceType

__all__ = ["CustomResource"]

_TYPE = ("apiVersion", "kind")


class CustomResource(Model):
    """The base of custom resources; see the module's docstring for the class keywords' use.

    A keyword that is not given is that of the class derived from, so that a new version can build on the
    one before: `class WebAppV2(WebApp, version="v2")` is of kind WebApp too.
    """

    resource_type: ClassVar[ResourceType]
    definition: ClassVar[Definition]

    metadata: ObjectMeta = Field(default_factory=ObjectMeta)

    def __init_subclass__(
        cls,
        *,
        group: str | None = None,
        version: str | None = None,
        kind: str | None = None,
        plural: str | None = None,
        singular: str | None = None,
        short_names: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        scope: Scope | None = None,
        columns: Sequence[PrinterColumn] | None = None,
        scale: Scale | None = None,
        selectable_fields: Sequence[str] | None = None,
        served: bool | None = None,
        storage: bool | None = None,
        deprecated: bool | str | None = None,
        rules: Sequence[Rule] = (),
        **config: Unpack[ConfigDict],
    ) -> None:
        """`storage` says which of several versions is stored; `deprecated` may be the warning to show."""
        super().__init_subclass__(rules=rules, **config)
        said = {
            "group": group,
            "version": version,
            "kind": kind,
            "plural": plural,
            "singular": singular,
            "short_names": short_names,
            "categories": categories,
            "scope": scope,
            "columns": columns,
            "scale": scale,
            "selectable_fields": selectable_fields,
            "served": served,
            "storage": storage,
            "deprecated": deprecated,
        }
        given = {key: value for key, value in said.items() if value is not None}
        made = Definition.of_class(cls.__name__, getattr(cls, "definition", None), given)
        if made is not None:
            cls.definition, cls.resource_type = made, made.resource_type

    @classmethod
    def __pydantic_init_subclass__(cls, **_keywords: Any) -> None:
        status = cls.model_fields.get("status")
        if status is not None and status.is_required():
            raise DefinitionError(
                f"{cls.__name__}.status: a status needs a default, as an object has none until one is written"
            )

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @classmethod
    def from_object(cls, obj: Mapping[str, Any], /) -> Self:
        """An instance of what the API answered. Raises InvalidObjectError."""
        own = cls.resource_type
        if obj.get("kind", own.kind) != own.kind or obj.get("apiVersion", own.api_version) != own.api_version:
            given = f"{obj.get('apiVersion')} {obj.get('kind')}"
            raise InvalidObjectError(f"{cls.__name__} is {own.api_version} {own.kind}, the object is {given}")
        if cls.model_config.get("extra") == "allow":
            obj = {key: value for key, value in obj.items() if key not in _TYPE}
        try:
            return cls.model_validate(obj)
        except ValidationError as error:
            raise InvalidObjectError(_described(cls, obj, error)) from error

    def to_object(self) -> dict[str, Any]:
        """The object as the API takes it: what was set, by the names of the JSON."""
        own = self.resource_type
        return {"apiVersion": own.api_version, "kind": own.kind, **dump(self)}

    @classmethod
    def crd(cls) -> dict[str, Any]:
        """The custom resource definition with this one version. Raises DefinitionError.

        A resource of several versions is defined by `Versions`.
        """
        from steersman.objects.custom.crd import crd

        return crd(cls)


def _described(cls: type[CustomResource], obj: Mapping[str, Any], error: ValidationError) -> str:
    meta = obj.get("metadata")
    meta = meta if isinstance(meta, Mapping) else {}
    name = "/".join(str(meta[key]) for key in ("namespace", "name") if meta.get(key))
    problems = [
        f"{'.'.join(str(step) for step in each['loc'])}: {each['msg']}"
        for each in error.errors(include_url=False, include_input=False)
    ]
    return f"{cls.definition.kind} {name or 'without a name'}: {'; '.join(problems)}"
