"""JSON merge patches (RFC 7386): applying them, and making the one that turns one object into another.

A null in the patch removes, an object merges, anything else replaces. Neither the original nor the
patch is changed; the result shares what the patch did not touch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steersman.objects.kinds import Object
from steersman.objects.patches.errors import BadPatch
from steersman.objects.patches.gotext import go_kind

__all__ = ["apply", "create", "create_three_way"]


def apply(original: Mapping[str, Any], patch: Any) -> Object:
    """The original with the patch merged in. Raises BadPatch when the patch is no object."""
    if patch is None:
        raise BadPatch("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise BadPatch(
            f"error decoding patch: json: cannot unmarshal {go_kind(patch)} "
            "into Go value of type map[string]interface {}"
        )
    return _merged(original, patch)


def _merged(original: Mapping[str, Any], patch: Object) -> Object:
    result = dict(original)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
            continue
        current = result.get(key)
        if isinstance(value, dict) and isinstance(current, dict):
            result[key] = _merged(current, value)
        else:
            result[key] = _without_nulls(value)
    return result


def _without_nulls(value: Any) -> Any:
    """A value new to the object: what it wants removed is not there anyway."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def create(old: Mapping[str, Any], new: Mapping[str, Any]) -> Object:
    """The smallest patch with `apply(old, patch) == new`; empty when there is nothing to do."""
    patch: Object = {key: None for key in old if key not in new}
    for key, value in new.items():
        if key not in old:
            patch[key] = value
            continue
        current = old[key]
        if isinstance(value, dict) and isinstance(current, dict):
            if changes := create(current, value):
                patch[key] = changes
        elif not _same(current, value):
            patch[key] = value
    return patch


def create_three_way(
    original: Mapping[str, Any], modified: Mapping[str, Any], current: Mapping[str, Any]
) -> Object:
    """What brings `current` to `modified`, removing only what was in `original` and no longer is."""
    return _combined(_removals(create(original, modified)), _changes(create(current, modified)))


def _removals(patch: Object) -> Object:
    kept: Object = {}
    for key, value in patch.items():
        if value is None:
            kept[key] = None
        elif isinstance(value, dict) and (inner := _removals(value)):
            kept[key] = inner
    return kept


def _changes(patch: Object) -> Object:
    kept: Object = {}
    for key, value in patch.items():
        if isinstance(value, dict):
            # An object that only removes has nothing to change, one that was empty is a change.
            if (inner := _changes(value)) or not value:
                kept[key] = inner
        elif value is not None:
            kept[key] = value
    return kept


def _combined(first: Object, second: Object) -> Object:
    """Two patches as one: the second wins, nulls stay."""
    result = dict(first)
    for key, value in second.items():
        current = result.get(key)
        both = isinstance(value, dict) and isinstance(current, dict)
        result[key] = _combined(current, value) if both else value  # type: ignore[arg-type]
    return result


def _same(left: Any, right: Any) -> bool:
    """Equal as JSON: true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    return bool(left == right)
