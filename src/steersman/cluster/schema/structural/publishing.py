"""A custom resource's types as OpenAPI definitions, in the form of the schema table.

Version 3 shows the schema as it was written, version 2 what of it old clients can bear: no clauses, no
nullable, nothing below what keeps unknown fields. `definitions` gives the kind and its list under the
names clients know them by.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from steersman.cluster.schema.structural.node import JSONSchema, Node, parse
from steersman.cluster.schema.table import prose

__all__ = ["definitions", "type_name_of"]

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_CONVENTIONS: Final = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_CLAUSES: Final = ("allOf", "anyOf", "oneOf", "not")
_INTEGER_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]


def type_name_of(group: str, version: str, kind: str) -> str:
    """com.example.stable.v1.WebApp for WebApp of stable.example.com/v1."""
    return ".".join([*reversed(group.split(".")), version, kind])


def definitions(definition: dict[str, Any], version: str, openapi: int) -> dict[str, JSONSchema]:
    """The kind and its list in one version of a custom resource definition, for OpenAPI 2 or 3."""
    spec = definition["spec"]
    group, names = spec["group"], spec["names"]
    served = next(each for each in spec["versions"] if each["name"] == version)
    schema = (served.get("schema") or {}).get("openAPIV3Schema")
    keeps_all = bool(spec.get("preserveUnknownFields"))
    kind = type_name_of(group, version, names["kind"])
    shown = _kind(parse(schema) if schema is not None else None, openapi, keeps_all)
    listed = _list(names, kind)
    selectable = [
        {"fieldPath": each["jsonPath"].removeprefix(".")} for each in served.get("selectableFields") or ()
    ]
    for made, name in ((shown, names["kind"]), (listed, names["listKind"])):
        made["x-kubernetes-group-version-kind"] = [{"group": group, "kind": name, "version": version}]
        if selectable:
            made["x-kubernetes-selectable-fields"] = selectable
    return {kind: shown, type_name_of(group, version, names["listKind"]): listed}


def _kind(node: Node | None, openapi: int, keeps_all: bool) -> JSONSchema:
    # With any property given, kubectl would refuse all others.
    if node is None or (openapi == 2 and (node.preserves_unknown or keeps_all)):
        return {"type": "object"}
    shown = _shown(node, openapi)
    shown["properties"] = {**shown.get("properties", {}), **_type_meta(), "metadata": _metadata()}
    return shown


@cache
def _texts() -> dict[str, str]:
    """What Kubernetes says about the fields that all objects have."""
    return prose()["io.k8s.api.core.v1.ConfigMap"][1]


def _type_meta() -> dict[str, JSONSchema]:
    return {key: {"description": _texts().get(key, ""), "type": "string"} for key in ("apiVersion", "kind")}


def _metadata() -> JSONSchema:
    return {"description": _texts().get("metadata", ""), "$ref": _META + "ObjectMeta"}


def _list(names: dict[str, Any], kind: str) -> JSONSchema:
    items = {
        "description": f"List of {names['plural']}. More info: {_CONVENTIONS}",
        "type": "array",
        "items": {"$ref": kind},
    }
    metadata = {
        "description": f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds",
        "$ref": _META + "ListMeta",
    }
    return {
        "description": f"{names['listKind']} is a list of {names['kind']}",
        "type": "object",
        "required": ["items"],
        "properties": {**_type_meta(), "items": items, "metadata": metadata},
    }


def _shown(node: Node, openapi: int) -> JSONSchema:
    hidden = openapi == 2 and (node.nullable or node.preserves_unknown)
    shown = {key: value for key, value in node.raw.items() if key not in ("properties", "items")}
    if node.int_or_string:
        _unfold(shown)
    if node.properties and not hidden:
        shown["properties"] = {key: _shown(child, openapi) for key, child in node.properties.items()}
    if node.items is not None and not hidden:
        shown["items"] = _shown(node.items, openapi)
    if node.values is not None:
        shown["additionalProperties"] = _shown(node.values, openapi)
    if openapi == 2:
        _restrict(node, shown)
    if node.embedded and not (openapi == 2 and node.preserves_unknown):
        _add_meta(shown)
    return shown


def _unfold(shown: JSONSchema) -> None:
    """What takes integers and strings says so in plain OpenAPI, next to the extension."""
    first = (shown.get("allOf") or [{}])[0]
    if _INTEGER_OR_STRING in (shown.get("anyOf"), first.get("anyOf")):
        return
    if "anyOf" in shown:
        shown["allOf"] = [{"anyOf": _INTEGER_OR_STRING}, *shown.get("allOf", ())]
    else:
        shown["anyOf"] = _INTEGER_OR_STRING


def _restrict(node: Node, shown: JSONSchema) -> None:
    """Drop what clients of version 2 misread."""
    for keyword in (*_CLAUSES, "nullable", "default"):
        shown.pop(keyword, None)
    untyped = node.nullable or (node.preserves_unknown and node.type == "object")
    if untyped or (node.type == "array" and "items" not in shown):
        shown.pop("type", None)
    if node.values is not None and node.values.nullable:
        shown.pop("required", None)
    elif required := shown.get("required"):
        nullable = {key for key, child in node.properties.items() if child.nullable}
        kept = [key for key in required if key not in nullable]
        shown.pop("required")
        if kept:
            shown["required"] = kept


def _add_meta(shown: JSONSchema) -> None:
    shown["properties"] = shown.get("properties", {}) | _type_meta() | {"metadata": _metadata()}
    required = list(shown.get("required") or ())
    shown["required"] = required + [key for key in ("kind", "apiVersion") if key not in required]
