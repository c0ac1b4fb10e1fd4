"""Metadata of custom resources and of resources embedded in them: brought into shape, and judged.

Kubernetes decodes metadata into its ObjectMeta type wherever the schema says that a resource stands:
unknown fields of it are dropped and reported, a value of the wrong type is an error. `coerce_metadata`
does so for the object itself, `compile_coercer` and `compile_checker` for `x-kubernetes-embedded-resource`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from steersman.cluster.schema.decode import decode_type
from steersman.cluster.schema.errors import DecodeError
from steersman.cluster.schema.structural.errors import MetadataError
from steersman.cluster.schema.structural.go_types import go_type, go_value
from steersman.cluster.schema.structural.node import Node
from steersman.objects.fields import FieldError, Path, invalid, required
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_object_meta
from steersman.objects.names import is_dns1035_label, name_is_path_segment

__all__ = ["Check", "Coerce", "coerce_metadata", "compile_checker", "compile_coercer"]

#: Shapes what is embedded in a value, in place; returns unknown fields by path. Raises MetadataError.
Coerce = Callable[[Any, Path], list[str]]
#: What is wrong with what is embedded in a value.
Check = Callable[[Any, Path], list[FieldError]]

_OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_UNKNOWN: Final = 'unknown field "'
_TYPE_META: Final = ("apiVersion", "kind")


def coerce_metadata(obj: Object) -> list[str]:
    """The metadata of a custom resource, in normal form; unknown fields by path. Raises MetadataError."""
    for key in ("kind", "apiVersion"):
        if not isinstance(value := obj.get(key, ""), str):
            shown = f"{go_value(value)} is of the type {go_type(value)}"
            raise MetadataError(f".{key} accessor error: {shown}, expected string")
    if "metadata" not in obj:
        return []
    try:
        return _decode(obj, "metadata.")
    except DecodeError as error:
        raise MetadataError(str(error)) from None


def _decode(obj: Object, prefix: str) -> list[str]:
    metadata, strict_errors = decode_type(_OBJECT_META, obj["metadata"])
    obj["metadata"] = metadata
    return [prefix + text[len(_UNKNOWN) : -1] for text in strict_errors if text.startswith(_UNKNOWN)]


def _is_embedded(node: Node) -> bool:
    return node.embedded


def compile_coercer(node: Node) -> Coerce | None:
    """Shapes the resources embedded at or below a node; None when there are none."""
    if not node.any(_is_embedded):
        return None
    fields = {key: compile_coercer(child) for key, child in node.properties.items()}
    coerce_value = compile_coercer(node.values) if node.values is not None else None
    coerce_item = compile_coercer(node.items) if node.items is not None else None
    embedded = node.embedded

    def coerce(value: Any, path: Path) -> list[str]:
        unknown: list[str] = []
        if isinstance(value, list):
            if coerce_item is not None:
                for index, item in enumerate(value):
                    unknown += coerce_item(item, path.index(index))
        elif isinstance(value, dict):
            if embedded:
                unknown += _coerce_resource(value, path)
            for key, item in value.items():
                if key in fields:
                    if (below := fields[key]) is not None:
                        unknown += below(item, path.child(key))
                elif coerce_value is not None:
                    unknown += coerce_value(item, path.key(key))
        return unknown

    return coerce


def _coerce_resource(resource: Object, path: Path) -> list[str]:
    for key in _TYPE_META:
        if key in resource and not isinstance(resource[key], str):
            raise MetadataError(invalid(path.child(key), resource[key], "must be a string"))
    if "metadata" not in resource:
        return []
    try:
        return _decode(resource, f"{path.child('metadata')}.")
    except DecodeError as error:
        raise MetadataError(invalid(path.child("metadata"), resource["metadata"], str(error))) from None


def compile_checker(node: Node) -> Check | None:
    """Judges the resources embedded at or below a node; None when there are none."""
    if not node.any(_is_embedded):
        return None
    fields = {key: compile_checker(child) for key, child in node.properties.items()}
    check_value = compile_checker(node.values) if node.values is not None else None
    check_item = compile_checker(node.items) if node.items is not None else None
    embedded = node.embedded

    def check(value: Any, path: Path) -> list[FieldError]:
        errors: list[FieldError] = []
        if isinstance(value, list):
            if check_item is not None:
                for index, item in enumerate(value):
                    errors += check_item(item, path.index(index))
        elif isinstance(value, dict):
            if embedded:
                errors += check_resource(value, path)
            for key, item in value.items():
                if key in fields:
                    if (below := fields[key]) is not None:
                        errors += below(item, path.child(key))
                elif check_value is not None:
                    errors += check_value(item, path.key(key))
        return errors

    return check


def check_resource(resource: Object, path: Path) -> list[FieldError]:
    """An embedded resource must say what it is; its metadata must be right if it has any."""
    errors = [required(path.child(key)) for key in _TYPE_META if key not in resource]
    for key in _TYPE_META:
        if key in resource:
            errors += _type_meta_errors(key, resource[key], path.child(key))
    if "metadata" in resource:
        own = path.child("metadata")
        try:
            meta = decode_type(_OBJECT_META, resource["metadata"]).obj
        except DecodeError as error:
            return [*errors, invalid(own, resource["metadata"], str(error))]
        meta["name"] = meta.get("name") or "fakename"
        errors += validate_object_meta(
            meta, namespaced=bool(meta.get("namespace")), name_check=name_is_path_segment, path=own
        )
    return errors


def _type_meta_errors(key: str, value: Any, path: Path) -> list[FieldError]:
    if not isinstance(value, str):
        return [invalid(path, value, "must be a string")]
    if not value:
        return [invalid(path, value, "must not be empty")]
    if key == "apiVersion":
        if value.count("/") > 1:
            return [invalid(path, value, f"unexpected GroupVersion string: {value}")]
    elif texts := is_dns1035_label(value.lower()):
        text = "may have mixed case, but should otherwise match: " + ",".join(texts)
        return [invalid(path, value, text)]
    return []
