"""Classes → their CustomResourceDefinition.

`crd(WebAppV1, WebAppV2, storage="v2")`: one class for each version. Paths of columns, scale and selectable
fields are looked up in the schema, so that a misspelt one is an error here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from steersman.objects.custom.definition import Definition, PrinterColumn
from steersman.objects.custom.errors import DefinitionError
from steersman.objects.custom.generation import json_schema
from steersman.objects.custom.markers import PRESERVE
from steersman.objects.custom.resource import CustomResource
from steersman.objects.custom.structural import structural
from steersman.objects.kinds import Object

__all__ = ["crd"]


_plain_path = re.compile(r"(?:\.[A-Za-z_][A-Za-z0-9_-]*)+").fullmatch
_COLUMN_TYPES: Final = ("integer", "number", "boolean")
_TIMES: Final = ("date", "date-time")


def crd(
    *versions: type[CustomResource],
    storage: str | None = None,
    conversion_webhook: Mapping[str, Any] | None = None,
) -> Object:
    """The definition that serves these versions and stores one. Raises DefinitionError.

    `conversion_webhook` is the clientConfig of a conversion webhook; without one, objects of one version
    are shown as another by changing the apiVersion only.
    """
    definitions = [_definition(cls) for cls in versions]
    first = _agreed(definitions)
    stored = storage or _stored(definitions)
    if stored not in [each.version for each in definitions]:
        raise DefinitionError(f'{first.kind}: the stored version "{stored}" is not among its versions')
    spec: Object = {
        "group": first.group,
        "names": _names(definitions),
        "scope": first.scope,
        "versions": [_version(cls, cls.definition.version == stored) for cls in versions],
    }
    if conversion_webhook is not None:
        webhook = {"clientConfig": dict(conversion_webhook), "conversionReviewVersions": ["v1"]}
        spec["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{first.plural}.{first.group}"},
        "spec": spec,
    }


def _definition(cls: type[CustomResource]) -> Definition:
    made: Definition | None = getattr(cls, "definition", None)
    if made is None:
        raise DefinitionError(f"{cls.__name__}: a custom resource needs group and version as class keywords")
    return made


def _agreed(definitions: Sequence[Definition]) -> Definition:
    """The first definition, whose names all of them must have."""
    if not definitions:
        raise DefinitionError("a definition needs at least one version")
    first = definitions[0]
    for key in ("group", "kind", "plural", "singular", "scope"):
        values = {getattr(each, key): None for each in definitions}
        if len(values) > 1:
            raise DefinitionError(f"{first.kind}: its versions differ in {key}: {', '.join(values)}")
    names = [each.version for each in definitions]
    if len(set(names)) < len(names):
        raise DefinitionError(f"{first.kind}: a version is given twice: {', '.join(names)}")
    return first


def _stored(definitions: Sequence[Definition]) -> str:
    if len(definitions) == 1:
        return definitions[0].version
    stored = [each.version for each in definitions if each.storage]
    if len(stored) != 1:
        raise DefinitionError(
            f"{definitions[0].kind}: name the version to store, by storage=True or storage="
        )
    return stored[0]


def _names(definitions: Sequence[Definition]) -> Object:
    first = definitions[0]
    names: Object = {
        "kind": first.kind,
        "listKind": f"{first.kind}List",
        "plural": first.plural,
        "singular": first.singular,
    }
    if short_names := _all(each.short_names for each in definitions):
        names["shortNames"] = short_names
    if categories := _all(each.categories for each in definitions):
        names["categories"] = categories
    return names


def _all(names: Iterable[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(name for each in names for name in each))


def _version(cls: type[CustomResource], stored: bool) -> Object:
    said, schema = cls.definition, _schema(cls)
    made: Object = {
        "name": said.version,
        "served": said.served,
        "storage": stored,
        "schema": {"openAPIV3Schema": schema},
    }
    if said.deprecated:
        made["deprecated"] = True
    if isinstance(said.deprecated, str):
        made["deprecationWarning"] = said.deprecated
    if subresources := _subresources(cls, schema):
        made["subresources"] = subresources
    if said.columns:
        made["additionalPrinterColumns"] = [_column(cls, each, schema) for each in said.columns]
    if said.selectable_fields:
        for path in said.selectable_fields:
            _at(cls, schema, path, "selectable field")
        made["selectableFields"] = [{"jsonPath": path} for path in said.selectable_fields]
    return made


def _schema(cls: type[CustomResource]) -> Object:
    schema = json_schema(cls)
    # The server knows the metadata of all objects; a definition may not say more of it.
    root = schema["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    root["properties"].pop("metadata")
    made = structural(schema, cls.__name__)
    status = (made.get("properties") or {}).get("status")
    if status is not None:
        # A status is what the operator wrote, all of it: nothing appears there by itself.
        made["properties"]["status"] = _without_defaults(status)
    return made


def _without_defaults(schema: Object) -> Object:
    made = {key: value for key, value in schema.items() if key != "default"}
    for key in ("items", "additionalProperties"):
        if isinstance(made.get(key), dict):
            made[key] = _without_defaults(made[key])
    if "properties" in made:
        made["properties"] = {name: _without_defaults(child) for name, child in made["properties"].items()}
    return made


def _subresources(cls: type[CustomResource], schema: Object) -> Object:
    made: Object = {}
    if "status" in cls.model_fields:
        made["status"] = {}
    if (scale := cls.definition.scale) is not None:
        paths = {
            "specReplicasPath": scale.spec_replicas,
            "statusReplicasPath": scale.status_replicas,
            "labelSelectorPath": scale.label_selector,
        }
        made["scale"] = {key: path for key, path in paths.items() if path}
        for path in made["scale"].values():
            _at(cls, schema, path, "scale")
    return made


def _column(cls: type[CustomResource], column: PrinterColumn, schema: Object) -> Object:
    field = _at(cls, schema, column.json_path, f'column "{column.name}"')
    made: Object = {"name": column.name, "type": column.type or _column_type(field)}
    for key, value in (
        ("description", column.description),
        ("format", column.format),
        ("priority", column.priority),
    ):
        if value:
            made[key] = value
    return {**made, "jsonPath": column.json_path}


def _column_type(field: Object) -> str:
    if field.get("format") in _TIMES:
        return "date"
    kind: str = field.get("type", "string")
    return kind if kind in _COLUMN_TYPES else "string"


def _at(cls: type[CustomResource], schema: Object, path: str, what: str) -> Object:
    """The schema of the field at a path; nothing is known of what is behind more than names."""
    if not path.startswith("."):
        raise DefinitionError(f'{cls.__name__}: {what}: the path "{path}" must start with a dot')
    if _plain_path(path) is None or path.startswith(".metadata."):
        return {"format": "date-time"} if path == ".metadata.creationTimestamp" else {}
    for step in path[1:].split("."):
        properties = schema.get("properties") or {}
        if step not in properties:
            if PRESERVE in schema or "additionalProperties" in schema:
                return {}
            raise DefinitionError(f'{cls.__name__}: {what}: there is no field at "{path}" (in the JSON)')
        schema = properties[step]
    return schema
