"""Validation of apiextensions.k8s.io: custom resource definitions.

Kubernetes validates the internal form of a definition (see `crd_internal`), so errors of what all versions
share are at spec.validation, spec.subresources and so on. An update is not refused for what the stored
definition already had wrong. Schemas are judged by `crd_schema`, `crd_defaults` and `crd_rules`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from steersman.cluster.schema.structural.engine import rule_engine
from steersman.cluster.schema.structural.errors import NotStructuralError, PatternError
from steersman.cluster.schema.structural.invariants import structural_errors
from steersman.cluster.schema.structural.naming import approval, condition_is_true, is_protected
from steersman.cluster.schema.structural.node import JSONSchema, Node, nested, parse
from steersman.cluster.schema.structural.translate import compile_acceptor
from steersman.cluster.schema.validation.crd_conversion import (
    ca_bundle_is_valid,
    conversion_errors,
    knows_review_version,
)
from steersman.cluster.schema.validation.crd_defaults import default_errors, has_unpruned_defaults
from steersman.cluster.schema.validation.crd_internal import internal_spec, internal_versions
from steersman.cluster.schema.validation.crd_rules import CostAccount, RuleContext
from steersman.cluster.schema.validation.crd_schema import (
    Strictness,
    has_non_atomic_set,
    invalid_types,
    map_list_errors,
    schema_errors,
)
from steersman.cluster.schema.validation.crd_versions import (
    MOST_SELECTABLE,
    column_errors,
    names_errors,
    root_errors,
    selectable_errors,
    subresource_errors,
    warning_texts,
)
from steersman.objects.fields import (
    FieldError,
    Path,
    forbidden,
    invalid,
    not_supported,
    required,
)
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_immutable, validate_object_meta
from steersman.objects.names import is_dns1035_label, is_dns1123_subdomain, name_is_dns_subdomain

__all__ = [
    "validate_definition",
    "validate_definition_status",
    "validate_definition_update",
]

_STRICT: Final = Strictness()
_METADATA: Final = Path("metadata")
_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_SCOPES: Final = ("Cluster", "Namespaced")


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked of a definition; an update is asked for no more than the stored one kept to."""

    schemas: Strictness = _STRICT
    schema_required: bool = True
    known_review_version: bool = True
    immutable_names: bool = False
    allow_invalid_bundle: bool = True
    #: Versions whose schema did not change: their expressions were found affordable before.
    unchanged: frozenset[str] = frozenset()
    #: Versions ("": all) whose selectable fields are too many, but did not change.
    too_many_selectable: frozenset[str] = frozenset()


def validate_definition(obj: Object, path: Path) -> list[FieldError]:
    spec = internal_spec(obj["spec"])
    errors = _metadata_errors(obj) + _spec_errors(spec, _Asked())
    errors += _status_errors(obj) + _stored_version_errors(obj)
    return errors + _approval_errors(obj, None) + _preserve_errors(obj, None)


def validate_definition_update(obj: Object, path: Path, old: Object) -> list[FieldError]:
    spec, old_spec = internal_spec(obj["spec"]), internal_spec(old["spec"])
    asked = _asked_of_update(obj, old, old_spec)
    errors = _spec_errors(spec, asked)
    names, old_names = spec.get("names") or {}, old_spec.get("names") or {}
    if asked.immutable_names:
        errors += validate_immutable(spec.get("scope", ""), old_spec.get("scope", ""), _SPEC.child("scope"))
        kind = _SPEC.child("names", "kind")
        errors += validate_immutable(names.get("kind", ""), old_names.get("kind", ""), kind)
    errors += validate_immutable(spec.get("group", ""), old_spec.get("group", ""), _SPEC.child("group"))
    plural = _SPEC.child("names", "plural")
    errors += validate_immutable(names.get("plural", ""), old_names.get("plural", ""), plural)
    errors += _status_errors(obj) + _stored_version_errors(obj)
    return errors + _approval_errors(obj, old) + _preserve_errors(obj, old)


def validate_definition_status(obj: Object, path: Path) -> list[FieldError]:
    return _status_errors(obj)


# --- What an update is asked for


def _schemas(spec: Object) -> list[JSONSchema]:
    """Every schema of an internal spec."""
    holders = [spec.get("validation"), *(version.get("schema") for version in spec["versions"])]
    return [holder["openAPIV3Schema"] for holder in holders if holder and holder.get("openAPIV3Schema")]


def _version_schemas(obj: Object) -> dict[str, Any]:
    return {each.get("name", ""): each.get("schema") for each in obj["spec"].get("versions") or ()}


def _asked_of_update(obj: Object, old: Object, old_spec: Object) -> _Asked:
    schemas = _schemas(old_spec)
    nodes = [_parsed(schema) for schema in schemas]
    structural = all(node is not None and not structural_errors(node, _SPEC) for node in nodes)
    strictness = Strictness(
        valid_types=not any(map(invalid_types, schemas)),
        structural=structural,
        pruned_defaults=not any(has_unpruned_defaults(node) for node in nodes if node and structural),
        atomic_sets=not any(map(has_non_atomic_set, schemas)),
        map_keys=not any(
            _any_schema(schema, lambda each: bool(map_list_errors(each, _SPEC))) for schema in schemas
        ),
    )
    established = condition_is_true(old, "Established")
    conversion = old_spec.get("conversion") or {}
    webhook = conversion.get("webhook") or {}
    versions = webhook.get("conversionReviewVersions") or []
    bundle = (webhook.get("clientConfig") or {}).get("caBundle")
    before = _version_schemas(old)
    return _Asked(
        strictness,
        schema_required=bool(old_spec.get("validation"))
        or all(each.get("schema") for each in old_spec["versions"]),
        known_review_version=not versions or knows_review_version(versions),
        immutable_names=established,
        allow_invalid_bundle=not established or bool(bundle and not ca_bundle_is_valid(bundle)),
        unchanged=frozenset(
            name
            for name, schema in _version_schemas(obj).items()
            if name in before and schema == before[name]
        ),
        too_many_selectable=_tolerated_selectable(internal_spec(obj["spec"]), old_spec),
    )


def _parsed(schema: JSONSchema) -> Node | None:
    try:
        return parse(schema)
    except NotStructuralError:
        return None


def _any_schema(schema: JSONSchema, test: Callable[[JSONSchema], bool]) -> bool:
    return test(schema) or any(_any_schema(child, test) for child in nested(schema))


def _tolerated_selectable(spec: Object, old_spec: Object) -> frozenset[str]:
    def fields_of(each: Object) -> dict[str, Any]:
        holders = {"": each, **{version.get("name", ""): version for version in each["versions"]}}
        return {name: holder.get("selectableFields") or [] for name, holder in holders.items()}

    before = fields_of(old_spec)
    return frozenset(
        name
        for name, fields in fields_of(spec).items()
        if len(before.get(name, ())) > MOST_SELECTABLE and before[name] == fields
    )


# --- The definition


def _metadata_errors(obj: Object) -> list[FieldError]:
    """The name says what is defined."""
    spec = obj["spec"]
    wanted = f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}"

    def name_check(name: str, is_prefix: bool) -> list[str]:
        wrong = [] if name == wanted else ['must be spec.names.plural+"."+spec.group']
        return [*name_is_dns_subdomain(name, is_prefix), *wrong]

    return validate_object_meta(obj["metadata"], namespaced=False, name_check=name_check)


def _spec_errors(spec: Object, asked: _Asked) -> list[FieldError]:
    errors = _group_errors(spec.get("group", ""))
    errors += _choice(spec.get("scope", ""), _SCOPES, _SPEC.child("scope"))
    keeps_all = bool(spec.get("preserveUnknownFields"))
    errors += _missing_schemas(spec, asked, keeps_all)
    if not keeps_all or any(_any_schema(schema, _has_default_or_extension) for schema in _schemas(spec)):
        asked = replace(asked, schemas=replace(asked.schemas, structural=True))
    if keeps_all and any(_any_schema(schema, _has_default) for schema in _schemas(spec)):
        text = "must be false in order to use defaults in the schema"
        errors.append(invalid(_SPEC.child("preserveUnknownFields"), True, text))
    errors += _versions_errors(spec, asked)
    names = spec.get("names") or {}
    errors += [
        required(_SPEC.child("names", key))
        for key in ("plural", "singular", "kind", "listKind")
        if not names.get(key)
    ]
    errors += names_errors(names, _SPEC.child("names"))
    errors += _shared_errors(spec, asked)
    strategy = (spec.get("conversion") or {}).get("strategy", "")
    own = _SPEC.child("conversion")
    if spec.get("conversion") is not None and strategy != "None" and keeps_all:
        text = "must be None if spec.preserveUnknownFields is true"
        errors.append(invalid(own.child("strategy"), strategy, text))
    return errors + conversion_errors(
        spec.get("conversion"),
        own,
        known_version=asked.known_review_version,
        allow_invalid_bundle=asked.allow_invalid_bundle,
    )


def _group_errors(group: str) -> list[FieldError]:
    own = _SPEC.child("group")
    if not group:
        return [required(own)]
    if texts := is_dns1123_subdomain(group):
        return [invalid(own, group, ",".join(texts))]
    if "." not in group:
        return [invalid(own, group, "should be a domain with at least one dot")]
    return []


def _choice(value: str, choices: tuple[str, ...], path: Path) -> list[FieldError]:
    if not value:
        return [required(path)]
    return [] if value in choices else [not_supported(path, value, choices)]


def _missing_schemas(spec: Object, asked: _Asked, keeps_all: bool) -> list[FieldError]:
    if (spec.get("validation") or {}).get("openAPIV3Schema") is not None:
        return []
    if not asked.schema_required and keeps_all:
        return []
    text = "" if asked.schema_required else "because otherwise all fields are pruned"
    return [
        required(_SPEC.child("versions").index(index).child("schema", "openAPIV3Schema"), text)
        for index, version in enumerate(spec["versions"])
        if (asked.schema_required or version.get("served"))
        and (version.get("schema") or {}).get("openAPIV3Schema") is None
    ]


def _has_default(schema: JSONSchema) -> bool:
    return schema.get("default") is not None


def _has_default_or_extension(schema: JSONSchema) -> bool:
    return _has_default(schema) or any(key.startswith("x-kubernetes-") for key in schema)


# --- Versions


def _versions_errors(spec: Object, asked: _Asked) -> list[FieldError]:
    versions, own = spec["versions"], _SPEC.child("versions")
    per_version = any(version.get("subresources") for version in versions)
    errors: list[FieldError] = []
    for index, version in enumerate(versions):
        path, name = own.index(index), version.get("name", "")
        if texts := is_dns1035_label(name):
            errors.append(invalid(path.child("name"), name, ",".join(texts)))
        subresources = version.get("subresources") if per_version else spec.get("subresources")
        has_status = (subresources or {}).get("status") is not None
        errors += _version_errors(version, path, has_status, asked)
    names = [version.get("name", "") for version in versions]
    if len(set(names)) != len(names):
        errors.append(invalid(own, internal_versions(spec), "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        text = "must have exactly one version marked as storage version"
        errors.append(invalid(own, internal_versions(spec), text))
    if (first := spec.get("version")) and (texts := is_dns1035_label(first)):
        errors.append(invalid(_SPEC.child("version"), first, ",".join(texts)))
    return errors


def _version_errors(version: Object, path: Path, has_status: bool, asked: _Asked) -> list[FieldError]:
    warning = version.get("deprecationWarning")
    errors = [
        invalid(path.child("deprecationWarning"), warning, text)
        for text in warning_texts(bool(version.get("deprecated")), warning)
    ]
    name = version.get("name", "")
    errors += _validation_errors(version.get("schema"), has_status, path.child("schema"), asked, name)
    errors += subresource_errors(version.get("subresources"), path.child("subresources"))
    columns = path.child("additionalPrinterColumns")
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        errors += column_errors(column, columns.index(index))
    if selectable := version.get("selectableFields"):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        own = path.child("selectableFields")
        if schema is None:
            text = "may only be set when `version.schema.openAPIV3Schema` is not included"
            errors.append(invalid(own, "", text))
        else:
            errors += selectable_errors(selectable, schema, own, name in asked.too_many_selectable)
    return errors


def _shared_errors(spec: Object, asked: _Asked) -> list[FieldError]:
    """What all versions share is checked once, at the top."""
    holders = [spec, *spec["versions"]]
    has_status = any((each.get("subresources") or {}).get("status") is not None for each in holders)
    name = spec.get("version", "")
    errors = _validation_errors(spec.get("validation"), has_status, _SPEC.child("validation"), asked, name)
    errors += subresource_errors(spec.get("subresources"), _SPEC.child("subresources"))
    columns = _SPEC.child("additionalPrinterColumns")
    for index, column in enumerate(spec.get("additionalPrinterColumns") or ()):
        errors += column_errors(column, columns.index(index))
    if selectable := spec.get("selectableFields"):
        own, validation = _SPEC.child("selectableFields"), spec.get("validation")
        if validation is None:
            errors.append(invalid(own, "", "may only be set when validations.schema is included"))
        else:
            schema = validation.get("openAPIV3Schema") or {}
            errors += selectable_errors(selectable, schema, own, "" in asked.too_many_selectable)
    return errors


# --- What a version has


def _validation_errors(
    validation: Object | None, has_status: bool, path: Path, asked: _Asked, version: str
) -> list[FieldError]:
    if validation is None:
        return []
    schema, own = validation.get("openAPIV3Schema"), path.child("openAPIV3Schema")
    if schema is None:
        return []
    errors = root_errors(schema, own) if has_status else []
    if schema.get("nullable"):
        errors.append(forbidden(own.child("nullable"), "nullable cannot be true at the root"))
    strictness = asked.schemas
    if version in asked.unchanged:
        strictness = replace(strictness, expression_cost=False)
    context: RuleContext | None = None
    not_structural = ""
    if strictness.structural:
        try:
            node = parse(schema)
        except NotStructuralError as error:
            not_structural = str(error)
        else:
            wrong, context = _structural_errors(node, own, strictness)
            errors += wrong
    errors += schema_errors(schema, own, strictness, context)
    if not errors and not_structural:
        errors.append(invalid(own, "", not_structural))
    if context is not None:
        errors += context.costs.errors(own)
    if not errors:
        try:
            compile_acceptor(schema)
        except (ValueError, PatternError) as error:
            errors.append(invalid(path, "", f"error building validator: {error}"))
    return errors


def _structural_errors(
    node: Node, path: Path, strictness: Strictness
) -> tuple[list[FieldError], RuleContext | None]:
    """Rules are looked at only in a schema that is structural and whose defaults are right."""
    engine = rule_engine()
    errors = structural_errors(node, path)
    errors = errors or default_errors(node, path, engine, require_pruned=strictness.pruned_defaults)
    if errors:
        return errors, None
    return [], RuleContext(node, engine, CostAccount())


# --- Status and what concerns the whole


def _status_errors(obj: Object) -> list[FieldError]:
    names = (obj.get("status") or {}).get("acceptedNames") or {}
    return names_errors(names, _STATUS.child("acceptedNames"))


def _stored_version_errors(obj: Object) -> list[FieldError]:
    stored: list[str] = (obj.get("status") or {}).get("storedVersions") or []
    own = _STATUS.child("storedVersions")
    if not stored:
        return [invalid(own, None, "must have at least one stored version")]
    errors: list[FieldError] = []
    left = set(stored)
    for version in obj["spec"].get("versions") or ():
        # One that is there twice counts once.
        if version.get("storage") and version["name"] not in left:
            errors.append(invalid(own, stored, f"must have the storage version {version['name']}"))
        left.discard(version.get("name", ""))
    return errors + [
        invalid(
            own.index(index),
            name,
            f"missing from spec.versions; {name} was previously a storage version, and must remain in "
            "spec.versions until a storage migration ensures no data remains persisted in "
            f"{name} and removes {name} from status.storedVersions",
        )
        for index, name in enumerate(stored)
        if name in left and name not in stored[index + 1 :]
    ]


def _approval_errors(obj: Object, old: Object | None) -> list[FieldError]:
    if not is_protected(obj["spec"].get("group", "")):
        return []
    state, reason = approval(obj)
    if old is not None and approval(old)[0] == state:
        return []
    key = "api-approved.kubernetes.io"
    own = _METADATA.child("annotations").key(key)
    if state == "MissingAnnotation":
        return [required(own, reason)]
    if state == "InvalidAnnotation":
        return [invalid(own, obj["metadata"]["annotations"][key], reason)]
    return []


def _preserve_errors(obj: Object, old: Object | None) -> list[FieldError]:
    if old is not None and old["spec"].get("preserveUnknownFields"):
        return []
    if not obj["spec"].get("preserveUnknownFields"):
        return []
    text = (
        "cannot set to true, "
        "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
    )
    return [invalid(_SPEC.child("preserveUnknownFields"), True, text)]
