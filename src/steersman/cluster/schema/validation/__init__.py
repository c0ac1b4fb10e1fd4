"""Validation of the built-in kinds: the same reasons, messages, fields and order as kube-apiserver.

The API server calls `validate_create`, `validate_update` and `validate_status_update` with objects in
normal form after defaulting. The rules of a kind stand in rules.txt, which is compiled to the modules of
`compiled`; what it cannot say are functions of this package's other modules. Both are imported when a kind
of theirs is first validated, so that a start pays for none of them.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from steersman.cluster.schema.validation.compiled import compiled_rules
from steersman.cluster.schema.validation.rules import Revalidation, Rules, UpdateCheck, foreign_finalizers
from steersman.objects.fields import FieldError
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_object_meta, validate_object_meta_update
from steersman.objects.names import name_is_path_segment

__all__ = [
    "rules_for",
    "validate_create",
    "validate_status_update",
    "validate_subresource_update",
    "validate_update",
]

_DEFAULT: Final = Rules()


@cache
def rules_for(group: str, kind: str) -> Rules:
    """The rules of a kind; kinds that rules.txt does not name get the rules of metadata alone."""
    return compiled_rules(group, kind) or _DEFAULT


def validate_create(group: str, kind: str, namespaced: bool, obj: Object) -> list[FieldError]:
    """What is wrong with a new object."""
    rules = rules_for(group, kind)
    errors = _as_created(rules, namespaced, obj)
    if rules.late is not None:
        errors += rules.late(obj, None)
    return errors


def validate_update(group: str, kind: str, namespaced: bool, new: Object, old: Object) -> list[FieldError]:
    """What is wrong with replacing `old` by `new`."""
    rules = rules_for(group, kind)
    errors = _metadata_update(rules, namespaced, new, old)
    if rules.revalidation is Revalidation.BEFORE:
        errors += _as_created(rules, namespaced, new)
    if rules.update is not None:
        errors += rules.update(new, old)
    if rules.revalidation is Revalidation.AFTER:
        errors += _as_created(rules, namespaced, new)
    if rules.late is not None:
        errors += rules.late(new, old)
    return errors


def validate_status_update(
    group: str, kind: str, namespaced: bool, new: Object, old: Object
) -> list[FieldError]:
    """What is wrong with replacing the status of `old` by that of `new`."""
    rules = rules_for(group, kind)
    return _partial_update(rules, rules.status, namespaced, new, old)


def validate_subresource_update(
    group: str, kind: str, subresource: str, namespaced: bool, new: Object, old: Object
) -> list[FieldError]:
    """What is wrong with replacing `old` by `new` through a subresource other than status."""
    rules = rules_for(group, kind)
    return _partial_update(rules, rules.subresources.get(subresource), namespaced, new, old)


def _partial_update(
    rules: Rules, check: UpdateCheck | None, namespaced: bool, new: Object, old: Object
) -> list[FieldError]:
    errors = _metadata_update(rules, namespaced, new, old)
    if check is not None:
        errors += check(new, old)
    if rules.late is not None:
        errors += rules.late(new, old)
    return errors


def _as_created(rules: Rules, namespaced: bool, obj: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    if not rules.own_metadata:
        metadata = obj["metadata"]
        errors = validate_object_meta(metadata, namespaced=namespaced, name_check=rules.name)
        if rules.standard_finalizers:
            errors += foreign_finalizers(metadata)
    if rules.create is not None:
        errors += rules.create(obj)
    return errors


def _metadata_update(rules: Rules, namespaced: bool, new: Object, old: Object) -> list[FieldError]:
    """Metadata as every update checks it."""
    metadata = new["metadata"]
    errors = validate_object_meta(metadata, namespaced=namespaced, name_check=name_is_path_segment)
    changes = validate_object_meta_update(metadata, old["metadata"])
    errors += changes if rules.distinct else changes * 2
    return errors + foreign_finalizers(metadata) if rules.standard_finalizers else errors
