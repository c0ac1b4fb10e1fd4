"""Validation of what all objects share: metadata, label selectors, conditions, managed fields, options.

The messages and their order are those of kube-apiserver. Called by the API server's create and update
paths and by the validation of built-in types; it judges, it never changes what it is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    quote,
    required,
    too_long,
)
from steersman.objects.names import (
    NameCheck,
    is_condition_reason,
    is_label_key,
    is_label_value,
    name_is_dns_label,
)

__all__ = [
    "TOTAL_ANNOTATION_SIZE_LIMIT",
    "validate_annotations",
    "validate_condition",
    "validate_conditions",
    "validate_field_manager",
    "validate_finalizers",
    "validate_immutable",
    "validate_label_name",
    "validate_label_selector",
    "validate_label_selector_requirement",
    "validate_labels",
    "validate_managed_fields",
    "validate_no_new_finalizers",
    "validate_nonnegative",
    "validate_object_meta",
    "validate_object_meta_update",
    "validate_owner_references",
]

Metadata = Mapping[str, Any]

TOTAL_ANNOTATION_SIZE_LIMIT: Final = 256 * 1024
_FIELD_MANAGER_LENGTH: Final = 128
_SUBRESOURCE_LENGTH: Final = 256
_REASON_LENGTH: Final = 1024
_MESSAGE_LENGTH: Final = 32 * 1024
_METADATA_PATH: Final = Path("metadata")
_IMMUTABLE: Final = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
#: How an absent field of each kind is shown: text as empty, pointers and times as null.
_SHOWN_WHEN_ABSENT: Final[Mapping[str, Any]] = {"name": "", "namespace": "", "uid": ""}


def validate_object_meta(
    meta: Metadata, *, namespaced: bool, name_check: NameCheck, path: Path = _METADATA_PATH
) -> list[FieldError]:
    """What is wrong with the metadata of a new object, after a name was generated if one was due."""
    errors: list[FieldError] = []
    generate_name = meta.get("generateName")
    if generate_name:
        errors += (
            invalid(path.child("generateName"), generate_name, text)
            for text in name_check(generate_name, True)
        )
    name = meta.get("name")
    if not name:
        errors.append(required(path.child("name"), "name or generateName is required"))
    elif problems := name_check(name, False):
        errors += (invalid(path.child("name"), name, text) for text in problems)
    errors += _validate_namespace(meta.get("namespace"), namespaced, path)
    if generation := meta.get("generation"):
        errors += validate_nonnegative(generation, path.child("generation"))
    errors += _validate_collections(meta, path)
    if finalizers := meta.get("finalizers"):
        errors += validate_finalizers(finalizers, path.child("finalizers"))
    if (managers := meta.get("managedFields")) and not all(map(_is_plainly_good, managers)):
        errors += validate_managed_fields(managers, path.child("managedFields"))
    return errors


def validate_object_meta_update(
    new: Metadata, old: Metadata, path: Path = _METADATA_PATH
) -> list[FieldError]:
    """What is wrong with the metadata of an object that replaces `old`."""
    errors: list[FieldError] = []
    if old.get("deletionTimestamp"):
        errors += validate_no_new_finalizers(
            new.get("finalizers") or (), old.get("finalizers") or (), path.child("finalizers")
        )
    if not new.get("resourceVersion"):
        errors.append(invalid(path.child("resourceVersion"), "", "must be specified for an update"))
    generation = new.get("generation", 0)
    errors += validate_nonnegative(generation, path.child("generation"))
    if generation < old.get("generation", 0):
        errors.append(invalid(path.child("generation"), generation, "must not be decremented"))
    for field in _IMMUTABLE:
        if new.get(field) != old.get(field):
            absent = _SHOWN_WHEN_ABSENT.get(field)
            errors += validate_immutable(new.get(field, absent), old.get(field, absent), path.child(field))
    errors += _validate_collections(new, path)
    if (managers := new.get("managedFields")) and not all(map(_is_plainly_good, managers)):
        errors += validate_managed_fields(managers, path.child("managedFields"))
    return errors


def _validate_namespace(namespace: str | None, namespaced: bool, path: Path) -> list[FieldError]:
    if not namespaced:
        return [forbidden(path.child("namespace"), "not allowed on this type")] if namespace else []
    if not namespace:
        return [required(path.child("namespace"))]
    problems = name_is_dns_label(namespace)
    return [invalid(path.child("namespace"), namespace, text) for text in problems] if problems else []


def _validate_collections(meta: Metadata, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if labels := meta.get("labels"):
        errors += validate_labels(labels, path.child("labels"))
    if annotations := meta.get("annotations"):
        errors += validate_annotations(annotations, path.child("annotations"))
    if owners := meta.get("ownerReferences"):
        errors += validate_owner_references(owners, path.child("ownerReferences"))
    return errors


# --- Parts of metadata


def validate_label_name(name: str, path: Path) -> list[FieldError]:
    return [invalid(path, name, text) for text in is_label_key(name)]


def validate_labels(labels: Mapping[str, str], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, value in labels.items():
        errors += validate_label_name(name, path)
        errors += (invalid(path, value, text) for text in is_label_value(value))
    return errors


def validate_annotations(annotations: Mapping[str, str], path: Path) -> list[FieldError]:
    errors = [
        invalid(path, name, text)
        for name in annotations
        # An annotation's name may be in any case, its prefix too.
        for text in is_label_key(name.lower())
    ]
    size = sum(_size(name) + _size(value) for name, value in annotations.items())
    if size > TOTAL_ANNOTATION_SIZE_LIMIT:
        errors.append(too_long(path, TOTAL_ANNOTATION_SIZE_LIMIT))
    return errors


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def validate_owner_references(owners: Sequence[Mapping[str, Any]], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    controller = ""
    for number, owner in enumerate(owners):
        errors += _validate_owner_reference(owner, path.index(number))
        if not owner.get("controller"):
            continue
        this = f"{owner.get('kind', '')}/{owner.get('name', '')}"
        if controller:
            errors.append(
                invalid(
                    path,
                    owners,
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {this}',
                )
            )
        else:
            controller = this
    return errors


def _validate_owner_reference(owner: Mapping[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    api_version = owner.get("apiVersion", "")
    if not api_version:
        errors.append(required(path.child("apiVersion"), "must not be empty"))
    elif api_version.count("/") > 1 or not api_version.rpartition("/")[2]:
        errors.append(
            invalid(path.child("apiVersion"), api_version, "must be <group>/<version> or <version>")
        )
    errors += (
        required(path.child(field), "must not be empty")
        for field in ("kind", "name", "uid")
        if not owner.get(field)
    )
    if api_version.removeprefix("/") == "v1" and owner.get("kind") == "Event":
        errors.append(invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner"))
    return errors


def validate_finalizers(finalizers: Sequence[str], path: Path) -> list[FieldError]:
    errors = [invalid(path, name, text) for name in finalizers for text in is_label_key(name)]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        errors.append(invalid(path, finalizers, "finalizer orphan and foregroundDeletion cannot be both set"))
    return errors


def validate_no_new_finalizers(new: Sequence[str], old: Sequence[str], path: Path) -> list[FieldError]:
    """An object being deleted can only lose finalizers."""
    extra = sorted(set(new) - set(old))
    if not extra:
        return []
    shown = ", ".join(map(quote, extra))
    return [
        forbidden(
            path,
            "no new finalizers can be added if the object is being deleted, "
            f"found new finalizers []string{{{shown}}}",
        )
    ]


def validate_managed_fields(entries: Sequence[Mapping[str, Any]], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for number, entry in enumerate(entries):
        operation = entry.get("operation", "")
        here = path.index(number)
        if not operation:
            errors.append(required(here.child("operation"), "must not be empty"))
        elif operation not in ("Apply", "Update"):
            errors.append(not_supported(here.child("operation"), operation, ("Apply", "Update")))
        fields_type = entry.get("fieldsType", "")
        if fields_type and fields_type != "FieldsV1":
            errors.append(invalid(here.child("fieldsType"), fields_type, "must be `FieldsV1`"))
        errors += validate_field_manager(entry.get("manager", ""), here.child("manager"))
        if _size(entry.get("subresource", "")) > _SUBRESOURCE_LENGTH:
            errors.append(too_long(here.child("subresource"), _SUBRESOURCE_LENGTH))
    return errors


def _is_plainly_good(entry: Mapping[str, Any]) -> bool:
    """What nearly every entry of managedFields is, found without making a path."""
    manager = entry.get("manager", "")
    return (
        entry.get("operation") in ("Update", "Apply")
        and entry.get("fieldsType") == "FieldsV1"
        and len(manager) <= _FIELD_MANAGER_LENGTH
        and manager.isascii()
        and manager.isprintable()
        and len(entry.get("subresource", "")) <= _SUBRESOURCE_LENGTH // 4
    )


def validate_field_manager(manager: str, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if _size(manager) > _FIELD_MANAGER_LENGTH:
        errors.append(too_long(path, _FIELD_MANAGER_LENGTH))
    if not manager.isprintable():
        at = 0
        for char in manager:
            if not char.isprintable():
                errors.append(
                    invalid(path, manager, f"invalid character U+{ord(char):04X} (at position {at})")
                )
            at += len(char.encode())
    return errors


def validate_nonnegative(value: int, path: Path) -> list[FieldError]:
    return [invalid(path, value, "must be greater than or equal to 0")] if value < 0 else []


def validate_immutable(new: Any, old: Any, path: Path) -> list[FieldError]:
    return [] if new == old else [invalid(path, new, "field is immutable")]


# --- Label selectors


def validate_label_selector(
    selector: Mapping[str, Any] | None, path: Path, *, allow_invalid_values: bool = False
) -> list[FieldError]:
    """`allow_invalid_values` is for updates of objects whose selector already had some."""
    if selector is None:
        return []
    errors = validate_labels(selector.get("matchLabels") or {}, path.child("matchLabels"))
    expressions = path.child("matchExpressions")
    for number, requirement in enumerate(selector.get("matchExpressions") or ()):
        errors += validate_label_selector_requirement(
            requirement, expressions.index(number), allow_invalid_values=allow_invalid_values
        )
    return errors


def validate_label_selector_requirement(
    requirement: Mapping[str, Any], path: Path, *, allow_invalid_values: bool = False
) -> list[FieldError]:
    errors: list[FieldError] = []
    operator = requirement.get("operator", "")
    values = requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(
                required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'")
            )
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            errors.append(
                forbidden(
                    path.child("values"),
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                )
            )
    else:
        errors.append(invalid(path.child("operator"), operator, "not a valid selector operator"))
    errors += validate_label_name(requirement.get("key", ""), path.child("key"))
    if not allow_invalid_values:
        errors += (
            invalid(path.child("values").index(number), value, text)
            for number, value in enumerate(values)
            for text in is_label_value(value)
        )
    return errors


# --- Conditions


def validate_conditions(conditions: Sequence[Mapping[str, Any]], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for number, condition in enumerate(conditions):
        kind = condition.get("type", "")
        if kind in seen:
            errors.append(duplicate(path.index(number), kind))
        seen.add(kind)
        errors += validate_condition(condition, path.index(number))
    return errors


def validate_condition(condition: Mapping[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    kind = condition.get("type", "")
    if not kind:
        errors.append(required(path.child("type"), "is required"))
    else:
        errors += validate_label_name(kind, path.child("type"))
    status = condition.get("status", "")
    if not status:
        errors.append(required(path.child("status")))
    elif status not in ("True", "False", "Unknown"):
        errors.append(not_supported(path.child("status"), status, ("False", "True", "Unknown")))
    observed = condition.get("observedGeneration", 0)
    if observed < 0:
        errors.append(
            invalid(path.child("observedGeneration"), observed, "must be greater than or equal to zero")
        )
    if not condition.get("lastTransitionTime"):
        errors.append(required(path.child("lastTransitionTime")))
    reason = condition.get("reason", "")
    if not reason:
        errors.append(required(path.child("reason")))
    else:
        errors += (invalid(path.child("reason"), reason, text) for text in is_condition_reason(reason))
        if _size(reason) > _REASON_LENGTH:
            errors.append(too_long(path.child("reason"), _REASON_LENGTH))
    if _size(condition.get("message", "")) > _MESSAGE_LENGTH:
        errors.append(too_long(path.child("message"), _MESSAGE_LENGTH))
    return errors
