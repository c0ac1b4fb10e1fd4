"""A custom resource definition as Kubernetes validates it: its internal form, which differs from the API's.

What all versions say alike (schema, subresources, columns, selectable fields) stands once, at the top of
the spec; errors name it there. Messages that show a version, schema or rule show their Go fields.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.cluster.schema.validation.internal_values import Nested, Shape, as_internal
from steersman.objects.kinds import Object

__all__ = ["internal_rule", "internal_schema", "internal_spec", "internal_versions"]

#: The field of a version, and what it is called at the top of the spec.
_SHARED: Final = (
    ("subresources", "subresources"),
    ("schema", "validation"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
)
_COLUMN: Final[Shape] = (
    ("name", "Name", ""),
    ("type", "Type", ""),
    ("format", "Format", ""),
    ("description", "Description", ""),
    ("priority", "Priority", 0),
    ("jsonPath", "JSONPath", ""),
)
_SCALE: Final[Shape] = (
    ("specReplicasPath", "SpecReplicasPath", ""),
    ("statusReplicasPath", "StatusReplicasPath", ""),
    ("labelSelectorPath", "LabelSelectorPath", None),
)
_VERSION: Final[Shape] = (
    ("name", "Name", ""),
    ("served", "Served", False),
    ("storage", "Storage", False),
    ("deprecated", "Deprecated", False),
    ("deprecationWarning", "DeprecationWarning", None),
    ("schema", "Schema", None),
    (
        "subresources",
        "Subresources",
        Nested((("status", "Status", None), ("scale", "Scale", Nested(_SCALE)))),
    ),
    ("additionalPrinterColumns", "AdditionalPrinterColumns", Nested(_COLUMN)),
    ("selectableFields", "SelectableFields", Nested((("jsonPath", "JSONPath", ""),))),
)
_RULE: Final[Shape] = (
    ("rule", "Rule", ""),
    ("message", "Message", ""),
    ("messageExpression", "MessageExpression", ""),
    ("reason", "Reason", None),
    ("fieldPath", "FieldPath", ""),
    ("optionalOldSelf", "OptionalOldSelf", None),
)
_SCHEMA: Final[Shape] = (
    ("id", "ID", ""),
    ("$schema", "Schema", ""),
    ("$ref", "Ref", None),
    ("description", "Description", ""),
    ("type", "Type", ""),
    ("nullable", "Nullable", False),
    ("format", "Format", ""),
    ("title", "Title", ""),
    ("default", "Default", None),
    ("maximum", "Maximum", None),
    ("exclusiveMaximum", "ExclusiveMaximum", False),
    ("minimum", "Minimum", None),
    ("exclusiveMinimum", "ExclusiveMinimum", False),
    ("maxLength", "MaxLength", None),
    ("minLength", "MinLength", None),
    ("pattern", "Pattern", ""),
    ("maxItems", "MaxItems", None),
    ("minItems", "MinItems", None),
    ("uniqueItems", "UniqueItems", False),
    ("multipleOf", "MultipleOf", None),
    ("enum", "Enum", None),
    ("maxProperties", "MaxProperties", None),
    ("minProperties", "MinProperties", None),
    ("required", "Required", None),
    ("items", "Items", None),
    ("allOf", "AllOf", None),
    ("oneOf", "OneOf", None),
    ("anyOf", "AnyOf", None),
    ("not", "Not", None),
    ("properties", "Properties", None),
    ("additionalProperties", "AdditionalProperties", None),
    ("patternProperties", "PatternProperties", None),
    ("dependencies", "Dependencies", None),
    ("additionalItems", "AdditionalItems", None),
    ("definitions", "Definitions", None),
    ("externalDocs", "ExternalDocs", Nested((("description", "Description", ""), ("url", "URL", "")))),
    ("example", "Example", None),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields", None),
    ("x-kubernetes-embedded-resource", "XEmbeddedResource", False),
    ("x-kubernetes-int-or-string", "XIntOrString", False),
    ("x-kubernetes-list-map-keys", "XListMapKeys", None),
    ("x-kubernetes-list-type", "XListType", None),
    ("x-kubernetes-map-type", "XMapType", None),
    ("x-kubernetes-validations", "XValidations", Nested(_RULE)),
)


def internal_spec(spec: Object) -> Object:
    """The spec with what all versions share moved to its top; one that had not even a list of them says so
    (`noVersions`)."""
    versions = [dict(version) for version in spec.get("versions") or ()]
    made = {**spec, "versions": versions}
    if not versions:
        return made | {"noVersions": spec.get("versions") is None}
    made["version"] = versions[0].get("name", "")
    for field, shared in _SHARED:
        first = versions[0].get(field)
        if all(version.get(field) == first for version in versions):
            if first is not None:
                made[shared] = first
            for version in versions:
                version.pop(field, None)
    return made


def internal_versions(spec: Object) -> list[Any] | None:
    """The versions of an internal spec as messages show them."""
    if spec.get("noVersions"):
        return None
    return [_version(version) for version in spec["versions"]]


def _version(version: Object) -> Object:
    shown = as_internal(version, _VERSION) or {}
    if version.get("schema") is not None:
        schema = version["schema"].get("openAPIV3Schema")
        shown["Schema"] = {"OpenAPIV3Schema": None if schema is None else internal_schema(schema)}
    return shown


def internal_rule(rule: Object) -> Object:
    return as_internal(rule, _RULE) or {}


def internal_schema(schema: Object) -> Object:
    """A schema as messages show it."""
    shown = as_internal(schema, _SCHEMA) or {}
    for keyword in ("properties", "patternProperties", "definitions"):
        if schema.get(keyword):
            made = {key: internal_schema(child) for key, child in sorted(schema[keyword].items())}
            shown[keyword[0].upper() + keyword[1:]] = made
    for keyword in ("allOf", "oneOf", "anyOf"):
        if schema.get(keyword):
            shown[keyword[0].upper() + keyword[1:]] = [internal_schema(each) for each in schema[keyword]]
    if schema.get("not") is not None:
        shown["Not"] = internal_schema(schema["not"])
    if (items := schema.get("items")) is not None:
        several = [internal_schema(each) for each in items] if isinstance(items, list) else None
        shown["Items"] = {
            "Schema": internal_schema(items) if several is None else None,
            "JSONSchemas": several,
        }
    for keyword in ("additionalProperties", "additionalItems"):
        if (given := schema.get(keyword)) is not None:
            is_schema = isinstance(given, dict)
            shown[keyword[0].upper() + keyword[1:]] = {
                "Allows": True if is_schema else given,
                "Schema": internal_schema(given) if is_schema else None,
            }
    return shown
