"""The parts of a version of a custom resource definition beside its schema: subresources, columns, names.

Where they are alike in all versions they are checked once, at the top of the spec; `apiextensions` calls
these functions for both places.
"""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.structural.errors import FieldPathError, NotStructuralError
from steersman.cluster.schema.structural.fieldpath import resolve_field_path
from steersman.cluster.schema.structural.node import JSONSchema, parse
from steersman.cluster.schema.validation.crd_internal import internal_schema
from steersman.objects.fields import FieldError, Path, duplicate, invalid, required, too_many
from steersman.objects.kinds import Object
from steersman.objects.names import is_dns1035_label

__all__ = [
    "MOST_SELECTABLE",
    "column_errors",
    "names_errors",
    "root_errors",
    "selectable_errors",
    "subresource_errors",
    "warning_texts",
]

MOST_SELECTABLE: Final = 8
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_LONGEST_WARNING: Final = 256
_SELECTABLE: Final = ("string", "boolean", "integer")
#: What the root of a schema may say when status is a subresource, by JSON name; Go's names are shown.
_AT_ROOT: Final = {
    "description": "Description",
    "type": "Type",
    "format": "Format",
    "title": "Title",
    "maximum": "Maximum",
    "exclusiveMaximum": "ExclusiveMaximum",
    "minimum": "Minimum",
    "exclusiveMinimum": "ExclusiveMinimum",
    "maxLength": "MaxLength",
    "minLength": "MinLength",
    "pattern": "Pattern",
    "maxItems": "MaxItems",
    "minItems": "MinItems",
    "uniqueItems": "UniqueItems",
    "multipleOf": "MultipleOf",
    "required": "Required",
    "items": "Items",
    "properties": "Properties",
    "externalDocs": "ExternalDocs",
    "example": "Example",
    "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
    "x-kubernetes-validations": "XValidations",
}


def root_errors(schema: JSONSchema, path: Path) -> list[FieldError]:
    """With status apart, its schema is what the root says of it; so the root may say little else."""
    if (kind := schema.get("type", "")) not in ("", "object"):
        text = (
            'only "object" is allowed as the type at the root of the schema '
            "if the status subresource is enabled"
        )
        return [invalid(path.child("type"), kind, text)]
    if all(key in _AT_ROOT for key in schema):
        return []
    allowed = " ".join(_AT_ROOT.values())
    text = (
        f"only [{allowed}] fields are allowed at the root of the schema if the status subresource is enabled"
    )
    return [invalid(path, internal_schema(schema), text)]


def warning_texts(deprecated: bool, warning: str | None) -> list[str]:
    if warning is None:
        return []
    if not deprecated:
        return ["can only be set for deprecated versions"]
    texts = []
    if len(warning.encode()) > _LONGEST_WARNING:
        texts.append("must be <= 256 characters long")
    if not warning:
        texts.append("must not be an empty string")
    for index, char in enumerate(warning):
        if not char.isprintable():
            at = len(warning[:index].encode())
            texts.append(
                f"must only contain printable UTF-8 characters; non-printable character found at index {at}"
            )
            break
    return texts


def names_errors(names: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for key in ("plural", "singular"):
        if (name := names.get(key)) and (texts := is_dns1035_label(name)):
            errors.append(invalid(path.child(key), name, ",".join(texts)))
    mixed = "may have mixed case, but should otherwise match: "
    for key in ("kind", "listKind"):
        if (name := names.get(key)) and (texts := is_dns1035_label(name.lower())):
            errors.append(invalid(path.child(key), name, mixed + ",".join(texts)))
    errors += _label_errors(names.get("shortNames"), path.child("shortNames"))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        own = path.child("listKind")
        errors.append(invalid(own, names["listKind"], "kind and listKind may not be the same"))
    return errors + _label_errors(names.get("categories"), path.child("categories"))


def _label_errors(labels: list[str] | None, path: Path) -> list[FieldError]:
    return [
        invalid(path.index(index), label, ",".join(texts))
        for index, label in enumerate(labels or ())
        if (texts := is_dns1035_label(label))
    ]


def subresource_errors(subresources: Object | None, path: Path) -> list[FieldError]:
    scale = (subresources or {}).get("scale")
    if scale is None:
        return []
    errors: list[FieldError] = []
    for key, parents in (("specReplicasPath", (".spec.",)), ("statusReplicasPath", (".status.",))):
        given, own = scale.get(key, ""), path.child(f"scale.{key}")
        errors += _path_errors(given, parents, own) if given else [required(own)]
    if given := scale.get("labelSelectorPath"):
        errors += _path_errors(given, (".spec.", ".status."), path.child("scale.labelSelectorPath"))
    return errors


def _path_errors(given: str, parents: tuple[str, ...], path: Path) -> list[FieldError]:
    if not given.startswith("."):
        return [invalid(path, given, "must be a simple json path starting with .")]
    if given.startswith(parents):
        return []
    names = [parent.rstrip(".") for parent in parents]
    where = names[0] if len(names) == 1 else f"either {' or '.join(names)}"
    return [invalid(path, given, f"should be a json path under {where}")]


def column_errors(column: Object, path: Path) -> list[FieldError]:
    errors = [] if column.get("name") else [required(path.child("name"))]
    kind, style, json_path = column.get("type"), column.get("format"), column.get("jsonPath")
    text = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        errors.append(required(path.child("type"), text))
    elif kind not in _COLUMN_TYPES:
        errors.append(invalid(path.child("type"), kind, text))
    if style and style not in _COLUMN_FORMATS:
        errors.append(invalid(path.child("format"), style, f"must be one of {','.join(_COLUMN_FORMATS)}"))
    if not json_path:
        errors.append(required(path.child("JSONPath")))
    elif not json_path.startswith("."):
        text = "must be a simple json path starting with ."
        errors.append(invalid(path.child("JSONPath"), json_path, text))
    return errors


def selectable_errors(
    fields: list[Object], schema: JSONSchema, path: Path, tolerated: bool
) -> list[FieldError]:
    try:
        node = parse(schema)
    except NotStructuralError:
        return []  # reported with the schema
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, selectable in enumerate(fields):
        own, given = path.index(index).child("jsonPath"), selectable.get("jsonPath", "")
        if not given:
            errors.append(required(own))
            continue
        try:
            found = resolve_field_path(given, node, brackets=False)
        except FieldPathError as error:
            errors.append(invalid(own, given, f"is an invalid path: {error}"))
            continue
        if found.root == "metadata":
            errors.append(invalid(own, given, "must not point to fields in metadata"))
        if found.node.type not in _SELECTABLE:
            text = (
                "must point to a field of type string, boolean or integer. "
                "Enum string fields and strings with formats are allowed."
            )
            errors.append(invalid(own, given, text))
        if found.text in seen:
            errors.append(duplicate(own, given))
        seen.add(found.text)
    if len(seen) > MOST_SELECTABLE and not tolerated:
        errors.append(too_many(path, len(seen), MOST_SELECTABLE))
    return errors
