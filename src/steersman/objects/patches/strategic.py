"""Strategic merge patches: JSON merge patches that know the type.

Lists that the type declares mergeable are merged by their merge key (or as sets of scalars) instead of
replaced, and directives in the patch say more: `$patch: delete|replace` in a map or list item,
`$deleteFromPrimitiveList/<field>`, `$setElementOrder/<field>` and `$retainKeys`. Items keep the order
of the patch, server-only items their place among them. Neither the original nor the patch is changed;
the result shares what the patch did not touch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from steersman.objects.kinds import Object
from steersman.objects.patches.errors import BadPatch, PatchFailed, PatchNotApplicable
from steersman.objects.patches.gotext import go_kind, go_string, go_type, go_value
from steersman.objects.schemas import ANY, Schema

__all__ = ["apply", "left_over"]


_DIRECTIVE: Final = "$patch"
_RETAIN_KEYS: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList"
_ELEMENT_ORDER: Final = "$setElementOrder"

_BAD_FORMAT: Final = {
    _RETAIN_KEYS: "invalid patch format of retainKeys",
    _DELETE_FROM: "invalid patch format of primitive list",
    _ELEMENT_ORDER: "invalid patch format of setElementOrder list",
}


def apply(original: Mapping[str, Any], patch: Any, schema: Schema) -> Object:
    """The original with the patch merged in as the schema of its type says."""
    if patch is None:
        return dict(original)
    if not isinstance(patch, dict):
        raise BadPatch(
            f"json: cannot unmarshal {go_kind(patch)} into Go value of type map[string]interface {{}}"
        )
    return _merge_map(original, patch, schema)


def left_over(original: Mapping[str, Any], patch: Object, schema: Schema) -> Object:
    """What is left of a patch that was merged in: Kubernetes takes out the directives it has obeyed, and
    shows the rest in its errors. The patch must be one that `apply` takes."""
    if _DIRECTIVE in patch:
        return _directed_map(patch) if patch[_DIRECTIVE] == "replace" else patch
    obeyed = {_RETAIN_KEYS}
    for key in patch:
        if key.startswith(_ELEMENT_ORDER):
            obeyed |= {key, _directed_field(key, _ELEMENT_ORDER)}
    return {
        key: value if key.startswith(_DELETE_FROM) else _left_of_field(original.get(key), value, schema, key)
        for key, value in patch.items()
        if key not in obeyed
    }


def _left_of_field(current: Any, value: Any, schema: Schema, key: str) -> Any:
    if isinstance(value, dict) and isinstance(current, dict):
        child = _child(schema, key)
        return value if "replace" in child.patch_strategies else left_over(current, value, child)
    if isinstance(value, list) and isinstance(current, list):
        child = _child(schema, key)
        return _left_of_items(current, value, child) if "merge" in child.patch_strategies else value
    return _left_of_new(value)


def _left_of_new(value: Any) -> Any:
    """Directives are taken out of maps; of a list it is a copy that loses them."""
    plain = [_left_of_new(item) for item in value] if isinstance(value, list) else _plain(value)
    return value if plain is _DROPPED else plain


def _left_of_items(current: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    merge_key = schema.patch_merge_key
    if any(not isinstance(item, dict) or item.get(_DIRECTIVE) == "replace" for item in patch):
        return patch
    known = {_identity(item[merge_key]): item for item in reversed(current) if merge_key in item}
    left = []
    for item in patch:
        old = None if _DIRECTIVE in item else known.get(_identity(item[merge_key]))
        left.append(item if old is None else left_over(old, item, schema.element()))
    return left


# --- Maps


def _merge_map(original: Mapping[str, Any], patch: Object, schema: Schema) -> Object:
    if _DIRECTIVE in patch:
        return _directed_map(patch)
    result = dict(original)
    pending = dict(patch)
    if _RETAIN_KEYS in pending:
        _retain_keys(result, pending, pending.pop(_RETAIN_KEYS))
    for key in [key for key in pending if key.startswith(_ELEMENT_ORDER)]:
        _merge_ordered_list(result, pending, key, schema)
    for key, value in pending.items():
        if key.startswith(_DELETE_FROM):
            _delete_from_list(result, _directed_field(key, _DELETE_FROM), value, schema)
        else:
            _merge_field(result, key, value, schema)
    return result


def _directed_map(patch: Object) -> Object:
    directive = patch[_DIRECTIVE]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return {}
    raise _unknown_directive(directive, patch)


def _merge_field(result: Object, key: str, value: Any, schema: Schema) -> None:
    if value is None:
        result.pop(key, None)
        return
    current = result.get(key)
    if isinstance(value, dict) and isinstance(current, dict):
        child = _child(schema, key)
        # The strategy "replace" takes the patch as it is, directives and all.
        result[key] = value if "replace" in child.patch_strategies else _merge_map(current, value, child)
    elif isinstance(value, list) and isinstance(current, list):
        result[key] = _merge_list_field(current, value, _child(schema, key))
    else:
        plain = _plain(value)
        if plain is _DROPPED:
            result.pop(key, None)
        else:
            result[key] = plain


def _child(schema: Schema, key: str) -> Schema:
    if schema.kind == "struct":
        found = schema.property(key)
        if found is not None:
            return found
        if not schema.preserves_unknown:
            name = schema.name.rpartition(".")[2]
            raise PatchFailed(f'unable to find api field in struct {name} for the json field "{key}"')
        return ANY
    return schema.element()


_DROPPED: Final = object()


def _plain(value: Any) -> Any:
    """A value new to the object: without nulls in maps, without what carries a directive."""
    if isinstance(value, dict):
        if _DIRECTIVE in value:
            return _DROPPED
        kept = ((key, _plain(item)) for key, item in value.items() if item is not None)
        return {key: item for key, item in kept if item is not _DROPPED}
    if isinstance(value, list):
        return [item for item in map(_plain, value) if item is not _DROPPED]
    return value


def _retain_keys(result: Object, patch: Object, retained: Any) -> None:
    """Clear what the list does not name; all the patch sets must be named."""
    if not isinstance(retained, list):
        raise BadPatch(_BAD_FORMAT[_RETAIN_KEYS])
    kept = {key for key in retained if isinstance(key, str)}
    for key, value in patch.items():
        if value is not None and not key.startswith((_DELETE_FROM, _ELEMENT_ORDER)) and key not in kept:
            raise BadPatch(_BAD_FORMAT[_RETAIN_KEYS])
    for key in [key for key in result if key not in kept]:
        del result[key]


def _directed_field(key: str, directive: str) -> str:
    """The field a parallel list is for: what follows the slash."""
    prefix, slash, field = key.partition("/")
    if not slash or prefix != directive:
        raise BadPatch(_BAD_FORMAT[directive])
    return field


# --- Lists


def _delete_from_list(result: Object, field: str, doomed: Any, schema: Schema) -> None:
    if doomed is None:
        result.pop(field, None)
        return
    current = result.get(field)
    if not isinstance(current, list) or not isinstance(doomed, list):
        return
    child = _child(schema, field)
    if not current and not doomed:
        return
    if _element_type(current, doomed) is dict:
        result[field] = _merge_items(current, doomed, child)
        return
    unwanted = {_identity(value) for value in doomed}
    result[field] = [value for value in current if _identity(value) not in unwanted]


def _merge_list_field(current: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    return _merge_items(current, patch, schema) if "merge" in schema.patch_strategies else patch


def _merge_items(original: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    if not original and not patch:
        return original
    merge_key = schema.patch_merge_key
    if _element_type(original, patch) is not dict:
        merged = list({_identity(value): value for value in [*original, *patch]}.values())
        return _in_order(merged, patch, original, "")
    if not merge_key:
        raise PatchFailed(
            f"cannot merge lists without merge key for {schema.element().name.rpartition('.')[2]}"
        )
    original, patch = _obey_item_directives(original, patch, merge_key)
    merged = _merge_keyed(original, patch, merge_key, schema.element())
    return _in_order(merged, patch, original, merge_key)


def _obey_item_directives(
    original: list[Any], patch: list[Any], merge_key: str
) -> tuple[list[Any], list[Any]]:
    """The original without deleted items, and the patch without directives."""
    plain: list[Any] = []
    replace = False
    for item in patch:
        if _DIRECTIVE not in item:
            plain.append(item)
            continue
        directive = item[_DIRECTIVE]
        if directive == "delete":
            doomed = _identity(_key_of(item, merge_key))
            original = [old for old in original if _identity(old.get(merge_key, _DROPPED)) != doomed]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise PatchFailed("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(directive, item)
    return (plain, []) if replace else (original, plain)


def _merge_keyed(original: list[Any], patch: list[Any], merge_key: str, schema: Schema) -> list[Any]:
    merged = list(original)
    places: dict[Any, int] = {}
    for place, item in enumerate(merged):
        if merge_key in item:
            places.setdefault(_identity(item[merge_key]), place)
    for item in patch:
        key = _identity(_key_of(item, merge_key))
        place = places.get(key, -1)
        if place >= 0:
            merged[place] = _merge_map(merged[place], item, schema)
        else:
            places[key] = len(merged)
            merged.append(item)
    return merged


def _merge_ordered_list(result: Object, patch: Object, key: str, schema: Schema) -> None:
    """Merge a field and put its items in the order of its `$setElementOrder` list."""
    order = patch.pop(key)
    if not isinstance(order, list):
        raise _bad_type("[]interface {}", order)
    field = _directed_field(key, _ELEMENT_ORDER)
    current, changes = result.get(field), patch.get(field)
    for present, value in ((field in result, current), (field in patch, changes)):
        if present and not isinstance(value, list):
            raise _bad_type("[]interface {}", value)
    child = _child(schema, field)
    merge_key = child.patch_merge_key
    _check_order(changes or [], order, merge_key)
    if current is None and changes is None:
        return
    if changes is None:
        merged = current
    elif current is None:
        merged = [item for item in map(_plain, changes) if item is not _DROPPED]
    else:
        merged = _merge_list_field(current, changes, child)
    _element_type(current or [], changes or [])
    if merge_key and merged:
        _check_maps(order)
    result[field] = _in_order(merged or [], order, current or [], merge_key)
    patch.pop(field, None)


def _check_maps(order: list[Any]) -> None:
    for place, item in enumerate(order):
        if not isinstance(item, dict):
            raise PatchFailed(f"value for key {place} is not a map")


def _check_order(patch: list[Any], order: list[Any], merge_key: str) -> None:
    """What the patch adds or changes must be in the order list, in the same relative order."""
    if not patch or not order:
        return
    wanted = patch
    if merge_key:
        for item in patch:
            if not isinstance(item, dict):
                raise _bad_type("map[string]interface {}", item)
        wanted = [item for item in patch if item.get(_DIRECTIVE) != "delete"]
    index = place = 0
    while index < len(wanted) and place < len(order):
        item = wanted[index]
        if isinstance(item, dict) and _DIRECTIVE in item:
            index += 1
            continue
        if _key_of(item, merge_key) == _key_of(order[place], merge_key):
            index += 1
        place += 1
    if index < len(wanted):
        raise PatchFailed(
            f"The order in patch list:\n{go_value(patch)}\n doesn't match {_ELEMENT_ORDER} list:\n"
            f"{go_value(order)}\n"
        )


def _in_order(
    merged: Sequence[Any], patch_order: Iterable[Any], server_order: Iterable[Any], merge_key: str
) -> list[Any]:
    """Items the patch names in its order; each server-only item before the first of them that it
    preceded on the server."""
    wanted = _places(patch_order, merge_key)
    served = _places(server_order, merge_key)
    named: list[tuple[Any, Any]] = []
    others: list[tuple[Any, Any]] = []
    for item in merged:
        key = _identity(_key_of(item, merge_key))
        (named if key in wanted else others).append((key, item))
    named.sort(key=lambda pair: wanted[pair[0]])
    others.sort(key=lambda pair: served.get(pair[0], len(served)))
    result, waiting = [], iter(named)
    following = next(waiting, None)
    for key, item in others:
        while following is not None:
            mine, theirs = served.get(key), served.get(following[0])
            if mine is not None and theirs is not None and mine < theirs:
                break
            result.append(following[1])
            following = next(waiting, None)
        result.append(item)
    while following is not None:
        result.append(following[1])
        following = next(waiting, None)
    return result


def _places(items: Iterable[Any], merge_key: str) -> dict[Any, int]:
    places: dict[Any, int] = {}
    for place, item in enumerate(items):
        places.setdefault(_identity(_key_of(item, merge_key)), place)
    return places


def _key_of(item: Any, merge_key: str) -> Any:
    """What identifies an item: itself, or the value of its merge key."""
    if not merge_key:
        return item
    if not isinstance(item, dict):
        raise _bad_type("map[string]interface {}", item)
    if merge_key not in item:
        raise PatchFailed(f"map: {go_value(item)} does not contain declared merge key: {merge_key}")
    return item[merge_key]


def _identity(value: Any) -> Any:
    """Something hashable that tells true from 1 and takes what no list should be keyed by."""
    return repr(value) if isinstance(value, (dict, list)) else (type(value), value)


def _element_type(*lists: list[Any]) -> type:
    """The one type of all items."""
    found: type | None = None
    for items in lists:
        for item in items:
            if found is None:
                found = type(item)
                if found is list:
                    raise PatchNotApplicable("lists of lists are not supported")
            elif type(item) is not found:
                shown = " ".join(map(go_value, lists))
                raise PatchFailed(f"list element types are not identical: [{shown}]")
    if found is None:
        raise PatchFailed("no elements in any of the given slices")
    return found


def _bad_type(expected: str, value: Any) -> PatchFailed:
    return PatchFailed(f"expected a {expected}, but received a {go_type(value)}")


def _unknown_directive(directive: Any, item: Object) -> PatchFailed:
    return PatchFailed(f"unknown patch type: {go_string(directive)} in map: {go_value(item)}")
