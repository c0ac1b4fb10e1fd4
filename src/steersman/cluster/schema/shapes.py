"""The built-in types as `steersman.objects.schemas.Schema`: what patches and field ownership go by.

Compiled from the schema table when first asked for, field by field.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.table import definition, type_name
from steersman.objects.schemas import ANY, Schema

__all__ = ["schema_named", "schema_of"]

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_SCALARS: Final = {
    _META + "Time": "time",
    _META + "MicroTime": "micro-time",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
}
_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
#: Types that hold whatever they are given and change as a whole.
_OPAQUE: Final = frozenset(
    {
        _META + "FieldsV1",
        "io.k8s.apimachinery.pkg.runtime.RawExtension",
        *(_EXTENSIONS + name for name in ("JSON", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool")),
        _EXTENSIONS + "JSONSchemaPropsOrStringArray",
    }
)
#: The API declares a default for fields that are always written, Go's zero value, and for some others. Where
#: they are keys of lists it counts for who owns which item; the published schema leaves it out.
_KEY_DEFAULTS: Final[dict[str, dict[str, object]]] = {
    "io.k8s.api.core.v1.ContainerPort": {"protocol": "TCP"},
    "io.k8s.api.core.v1.LocalObjectReference": {"name": ""},
    "io.k8s.api.core.v1.ServicePort": {"protocol": "TCP"},
}
_ZEROS: Final[dict[str, object]] = {"string": "", "integer": 0}
#: Types whose required key is left out when it is empty all the same.
_WITHOUT_ZERO: Final = frozenset(
    f"io.k8s.api.flowcontrol.v1.{name}Condition" for name in ("FlowSchema", "PriorityLevelConfiguration")
)


def schema_of(gvk: GVK) -> Schema:
    """The schema of a built-in kind. Raises KeyError when the kind is not built in."""
    name = type_name(gvk)
    if name is None:
        raise KeyError(gvk)
    return schema_named(name)


@cache
def schema_named(name: str) -> Schema:
    """The schema of the named type (io.k8s.api.core.v1.Container)."""
    if name in _SCALARS:
        return Schema("scalar", name=name, scalar=_SCALARS[name])
    if name in _OPAQUE:
        return ANY
    node = definition(name)
    return Schema(
        "struct",
        name=name,
        properties={field: _later(child) for field, child in node.get("properties", {}).items()},
        required=tuple(node.get("required", ())),
        atomic=node.get("x-kubernetes-map-type") == "atomic",
    )


def _later(node: dict[str, Any]) -> Callable[[], Schema]:
    return lambda: _compile(node)


def _compile(node: dict[str, Any]) -> Schema:
    strategies = tuple(filter(None, node.get("x-kubernetes-patch-strategy", "").split(",")))
    reference = node.get("$ref")
    if reference is not None:
        return _with_field_marks(schema_named(reference), node, strategies)
    match node["type"]:
        case "array":
            return _list(node, strategies)
        case "object" if "additionalProperties" in node:
            return Schema(
                "map",
                values=_later(node["additionalProperties"]),
                atomic=node.get("x-kubernetes-map-type") == "atomic",
                patch_strategies=strategies,
            )
        case "object":
            return ANY
        case kind:
            scalar = "bytes" if node.get("format") == "byte" else kind
            return Schema("scalar", scalar=scalar, format=node.get("format", ""))


def _with_field_marks(schema: Schema, node: dict[str, Any], strategies: tuple[str, ...]) -> Schema:
    """The type as a field sees it: a field may say whether it is atomic and how it is patched."""
    mark = node.get("x-kubernetes-map-type")
    atomic = schema.atomic if mark is None else mark == "atomic"
    if schema.kind != "struct" or (atomic == schema.atomic and not strategies):
        return schema
    return Schema(
        "struct",
        name=schema.name,
        properties=schema.properties,
        required=schema.required,
        atomic=atomic,
        patch_strategies=strategies,
    )


def _list(node: dict[str, Any], strategies: tuple[str, ...]) -> Schema:
    keys = tuple(node.get("x-kubernetes-list-map-keys", ()))
    return Schema(
        "list",
        values=_later(node["items"]),
        list_type=node.get("x-kubernetes-list-type", "atomic"),
        keys=keys,
        key_defaults=_key_defaults(node["items"].get("$ref", ""), keys) if keys else {},
        patch_strategies=strategies,
        patch_merge_key=node.get("x-kubernetes-patch-merge-key", ""),
    )


def _key_defaults(item: str, keys: tuple[str, ...]) -> dict[str, object]:
    declared = _KEY_DEFAULTS.get(item, {})
    node = definition(item)
    required = () if item in _WITHOUT_ZERO else node.get("required", ())
    zeros = {key: _ZEROS[node["properties"][key]["type"]] for key in keys if key in required}
    return zeros | {key: value for key, value in declared.items() if key in keys}
