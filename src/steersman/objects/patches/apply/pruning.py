"""Removing what a manager applied before and no longer applies.

A field goes when this manager owned it, does not apply it now, and nobody else owns it. A struct, map or list
item that nobody owns any more goes with all that is in it, so defaults do not keep alive what was
applied. Ownership is recorded in the version it was applied in, so this may take a walk through versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from steersman.objects.comparison import elements, field_set
from steersman.objects.fieldsets import LEAF, Fields, children, difference, intersection, is_member, union
from steersman.objects.kinds import Object
from steersman.objects.managed import Entry
from steersman.objects.patches.apply.parts import below, is_atomic, items_of
from steersman.objects.patches.errors import Unconvertible
from steersman.objects.schemas import Schema

__all__ = ["InVersion", "prune", "reconciled", "without"]

#: An object in another apiVersion and that version's schema; None when the version is gone.
InVersion = Callable[[Object, str], tuple[Object, Schema] | None]


def prune(merged: Object, last: Entry, owners: Iterable[Entry], in_version: InVersion) -> Object:
    """The merged object without what only `last`, this manager's previous entry, owned. `owners` are all
    entries, with what this manager owns now. The result is in the version that was last applied."""
    doing = "failed to prune fields", "failed to convert merged object to last applied version"
    converted = _converted(in_version, merged, last.api_version, *doing)
    if converted is None:
        return merged
    whole, schema = converted
    applied = _with_named(last.fields, schema)
    kept = _add_owned(whole, without(whole, applied, schema), last.api_version, owners, in_version)
    back = in_version(kept, last.api_version)
    if back is None:
        return merged
    gone = difference(_all_fields(whole, schema), _all_fields(*back))
    lost = intersection(gone, applied)
    return without(whole, lost, schema) if lost else merged


def _add_owned(
    whole: Object, pruned: Object, version: str, owners: Iterable[Entry], in_version: InVersion
) -> Object:
    """The pruned object with what somebody still owns taken back from the whole one."""
    owned: dict[str, Fields] = {version: {}}
    for entry in owners:
        owned[entry.api_version] = union(owned.get(entry.api_version, {}), entry.fields)
    # The version of the pruned object comes first: what it lacks may be needed to convert it.
    for each, fields in owned.items():
        doing = "failed to prune fields", "failed add back owned items"
        at = f"object at version {each}"
        whole_there = _converted(in_version, whole, each, *doing, f"failed to convert merged {at}")
        pruned_there = _converted(in_version, pruned, each, *doing, f"failed to convert pruned {at}")
        if whole_there is None or pruned_there is None:
            continue
        whole, schema = whole_there
        kept = union(_all_fields(*pruned_there), _with_named(fields, schema))
        pruned = without(whole, difference(_all_fields(whole, schema), kept), schema)
    return pruned


def _converted(in_version: InVersion, obj: Object, version: str, *doing: str) -> tuple[Object, Schema] | None:
    try:
        return in_version(obj, version)
    except Unconvertible as error:
        raise error.during(*doing) from None


def _all_fields(obj: Object, schema: Schema) -> Fields:
    return _with_named(field_set(obj, schema), schema)


def _with_named(fields: Fields, schema: Schema) -> Fields:
    """The set with the declared fields that lead to its members, which are not members by themselves.
    Metadata stays out: every object has it, nobody owns it."""
    result = _named_below(fields, schema)
    if "f:metadata" in result:
        result["f:metadata"] = children(result["f:metadata"])
    return result


def _named_below(fields: Fields, schema: Schema) -> Fields:
    result: Fields = {}
    for element, node in fields.items():
        if not node or element == ".":
            result[element] = node
            continue
        if element.startswith("f:"):
            name = element[2:]
            result[element] = _named_below(node, below(schema, name))
            if schema.kind == "struct" and name in schema.properties:
                result[element]["."] = LEAF
        else:
            result[element] = _named_below(node, items_of(schema))
    return result


def without(obj: Object, removed: Fields, schema: Schema) -> Object:
    """The object without the members of a set and all that is below them. What loses all it had is null."""
    return _without(obj, removed, schema) or {}


def _without(value: Any, removed: Fields, schema: Schema) -> Any:
    if is_atomic(schema):
        return value
    if isinstance(value, dict):
        kept = {}
        for name, item in value.items():
            node = removed.get(f"f:{name}")
            if node is None:
                kept[name] = item
            elif not is_member(node):
                kept[name] = _without(item, node, below(schema, name))
        return kept or None
    if isinstance(value, list) and schema.kind == "list":
        items = []
        for element, item in zip(elements(value, schema), value, strict=True):
            node = removed.get(element)
            if node is None:
                items.append(item)
            elif not is_member(node):
                items.append(_without(item, node, schema.element()))
        return items or None
    return value


def reconciled(fields: Fields, schema: Schema) -> Fields:
    """A set in terms of the schema as it is now: who owned parts of what became an atom owns the atom.
    The set itself if it is in order."""
    result: Fields | None = None
    for element, node in fields.items():
        if not node or element == ".":
            continue
        child = below(schema, element[2:]) if element.startswith("f:") else items_of(schema)
        fitting = LEAF if is_atomic(child) and child.kind != "scalar" else reconciled(node, child)
        if fitting is not node:
            if result is None:
                result = dict(fields)
            result[element] = fitting
    return fields if result is None else result
