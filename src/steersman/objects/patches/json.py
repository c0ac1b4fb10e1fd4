"""JSON patches (RFC 6902) as kube-apiserver applies them.

Strict where it is strict: what is removed must be there, arrays take "-" and negative indices, a patch has
at most 10,000 operations and may copy at most 3 MiB. Lax where it is lax: a field that is not there can be
replaced, and reads as null when it is tested or copied; an item can not. The original is not changed:
containers are copied once, when an operation first writes into them; the rest is shared.

`create` makes the patch that leads from one document to another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final

import orjson

from steersman.objects.patches.errors import BadPatch, PatchNotApplicable, PatchTooLarge
from steersman.objects.patches.gotext import go_kind

__all__ = ["COPY_SIZE_LIMIT", "MAX_OPERATIONS", "apply", "create"]

MAX_OPERATIONS: Final = 10_000
COPY_SIZE_LIMIT: Final = 3 * 1024 * 1024

#: What an operation says when the way to its path is missing.
_NO_WAY: Final = {
    "add": 'add operation does not apply: doc is missing path: "{}"',
    "remove": 'remove operation does not apply: doc is missing path: "{}"',
    "replace": "replace operation does not apply: doc is missing path: {}",
    "move": "move operation does not apply: doc is missing destination path: {}",
    "copy": "copy operation does not apply: doc is missing destination path: {}",
    "test": "test operation does not apply: is missing path: {}",
}
#: Operations that say only that something is missing when they have no path.
_TERSE: Final = ("add", "remove", "copy")
_OPERATION_TYPE: Final = "handlers.jsonPatchOp"
_index = re.compile(r"[+-]?[0-9]{1,18}").fullmatch
_MISSING: Final = object()


def apply(original: Mapping[str, Any], patch: Any) -> Any:
    """The original after all operations, or none: any failure raises and nothing was changed."""
    operations = _decoded(patch)
    if len(operations) > MAX_OPERATIONS:
        raise PatchTooLarge(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    document = _Document(original)
    for operation in operations:
        kind = operation.get("op", "unknown")
        run = _OPERATIONS.get(kind)
        if run is None:
            raise PatchNotApplicable(f"Unexpected kind: {kind}")
        run(document, operation)
    return document.root


def create(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The operations that make `after` of `before`: none if they are equal as JSON.

    Lists of the same length are compared item by item; others are replaced as a whole.
    """
    operations: list[dict[str, Any]] = []
    _collect(operations, "", before, after)
    return operations


def _collect(operations: list[dict[str, Any]], path: str, before: Any, after: Any) -> None:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted(before.keys() - after.keys()):
            operations.append({"op": "remove", "path": _below(path, key)})
        for key, value in after.items():
            if key in before:
                _collect(operations, _below(path, key), before[key], value)
            else:
                operations.append({"op": "add", "path": _below(path, key), "value": value})
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (left, right) in enumerate(zip(before, after, strict=True)):
            _collect(operations, f"{path}/{index}", left, right)
    elif not _equal(before, after):
        operations.append({"op": "replace", "path": path, "value": after})


def _below(path: str, key: str) -> str:
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"


def _decoded(patch: Any) -> list[dict[str, Any]]:
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise _cannot_decode(patch, f"value of type []{_OPERATION_TYPE}")
    operations = []
    for operation in patch:
        if operation is None:
            operation = {}
        if not isinstance(operation, dict):
            raise _cannot_decode(operation, f"value of type {_OPERATION_TYPE}")
        for field in ("op", "path", "from"):
            value = operation.get(field, "")
            if not isinstance(value, str):
                raise _cannot_decode(value, f"struct field jsonPatchOp.{field} of type string")
        operations.append(operation)
    return operations


def _cannot_decode(value: Any, into: str) -> BadPatch:
    return BadPatch(f"error decoding patch: json: cannot unmarshal {go_kind(value)} into Go {into}")


class _Document:
    """The object being patched, and which of its containers are already its own copies."""

    __slots__ = ("_own", "copied", "root")

    def __init__(self, root: Any) -> None:
        self.root = root
        # Keeps the containers alive, too: an identity is only unique while its object lives.
        self._own: dict[int, Any] = {}
        self.copied = 0

    def owned(self, container: Any) -> Any:
        if id(container) in self._own:
            return container
        copy = dict(container) if isinstance(container, Mapping) else list(container)
        self._own[id(copy)] = copy
        return copy

    def shareable(self, value: Any) -> Any:
        """A value that may stand in two places: one not yet written to is copied by the first write."""
        return deepcopy(value) if id(value) in self._own else value

    def parent(self, path: str, *, write: bool) -> tuple[Any, str] | None:
        """The container a path's last step is in, and that step; None when the way there is missing."""
        # What stands before the first slash is not looked at, as in kube-apiserver.
        parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
        if not parts:
            return None
        *steps, last = parts
        if write:
            self.root = self.owned(self.root)
        container = self.root
        for step in steps:
            child = _get(container, step, None)
            if not isinstance(child, (dict, list)):
                return None
            if write:
                child = self.owned(child)
                container[step if isinstance(container, dict) else _position(container, step)] = child
            container = child
        return container, last


def _position(array: list[Any], step: str, *, extra: int = 0) -> int | None:
    """The index a step names in an array, None when it names none."""
    if not _index(step):
        return None
    position = int(step)
    if position < 0:
        position += len(array) + extra
    return position if 0 <= position < len(array) + extra else None


def _get(container: Any, step: str, default: Any = _MISSING) -> Any:
    if isinstance(container, list):
        position = _position(container, step)
        return default if position is None else container[position]
    return container.get(step, default)


def _read(container: Any, step: str) -> Any:
    """What is there to replace, test or copy: null where a field is missing, nothing where an item is."""
    return _get(container, step, None if isinstance(container, dict) else _MISSING)


def _add_to(container: Any, step: str, value: Any, path: str) -> None:
    if isinstance(container, dict):
        container[step] = value
    elif step == "-":
        container.append(value)
    else:
        position = _position(container, step, extra=1)
        if position is None:
            raise PatchNotApplicable(
                f"error in add for path: '{path}': Unable to access invalid index: {step}: "
                "invalid index referenced"
            )
        container.insert(position, value)


def _place(
    document: _Document, operation: dict[str, Any], verb: str, *, write: bool = True
) -> tuple[Any, str]:
    path = operation.get("path")
    if path is None:
        what = "" if verb in _TERSE else "operation missing path field: "
        raise PatchNotApplicable(f"{verb} operation failed to decode path: {what}missing value")
    found = document.parent(path, write=write)
    if found is None:
        raise PatchNotApplicable(f"{_NO_WAY[verb].format(path)}: missing value")
    return found


def _source(
    document: _Document, operation: dict[str, Any], verb: str, *, write: bool
) -> tuple[Any, str, Any]:
    origin = operation.get("from")
    if origin is None:
        raise PatchNotApplicable(
            f"{verb} operation failed to decode from: operation, missing from field: missing value"
        )
    found = document.parent(origin, write=write)
    if found is None:
        raise PatchNotApplicable(
            f"{verb} operation does not apply: doc is missing from path: {origin}: missing value"
        )
    container, step = found
    value = (_get if write else _read)(container, step)
    if value is _MISSING:
        where = f"path: '{step}'" if verb == "move" else f"from: '{origin}'"
        raise PatchNotApplicable(f"error in {verb} for {where}: {_absent(container, step)}")
    return container, step, value


def _absent(container: Any, step: str) -> str:
    """Why there is nothing at a step."""
    if isinstance(container, dict):
        return f"Unable to remove nonexistent key: {step}: missing value"
    return f"Unable to access invalid index: {step}: invalid index referenced"


def _add(document: _Document, operation: dict[str, Any]) -> None:
    container, step = _place(document, operation, "add")
    _add_to(container, step, operation.get("value"), operation["path"])


def _remove(document: _Document, operation: dict[str, Any]) -> None:
    container, step = _place(document, operation, "remove")
    if _get(container, step) is _MISSING:
        why = _absent(container, step)
        raise PatchNotApplicable(f"error in remove for path: '{operation['path']}': {why}")
    _delete(container, step)


def _delete(container: Any, step: str) -> None:
    if isinstance(container, dict):
        del container[step]
    else:
        container.pop(_position(container, step) or 0)


def _replace(document: _Document, operation: dict[str, Any]) -> None:
    value = operation.get("value")
    if operation.get("path") == "":
        if not isinstance(value, (dict, list)):
            raise PatchNotApplicable("replace operation value must be object or array")
        document.root = value
        return
    container, step = _place(document, operation, "replace")
    if _read(container, step) is _MISSING:
        raise PatchNotApplicable(
            f"replace operation does not apply: doc is missing key: {operation['path']}: missing value"
        )
    container[step if isinstance(container, dict) else _position(container, step)] = value


def _move(document: _Document, operation: dict[str, Any]) -> None:
    container, step, value = _source(document, operation, "move", write=True)
    _delete(container, step)
    container, step = _place(document, operation, "move")
    _add_to(container, step, value, operation["path"])


def _copy(document: _Document, operation: dict[str, Any]) -> None:
    _, _, value = _source(document, operation, "copy", write=False)
    document.copied += len(orjson.dumps(value))
    if document.copied > COPY_SIZE_LIMIT:
        raise PatchNotApplicable(
            "Unable to complete the copy, the accumulated size increase of copy is "
            f"{document.copied}, exceeding the limit {COPY_SIZE_LIMIT}"
        )
    container, step = _place(document, operation, "copy")
    _add_to(container, step, document.shareable(value), operation["path"])


def _test(document: _Document, operation: dict[str, Any]) -> None:
    path = operation.get("path")
    if path == "":
        value = document.root
    else:
        container, step = _place(document, operation, "test", write=False)
        value = _read(container, step)
        if value is _MISSING:
            raise PatchNotApplicable(f"error in test for path: '{path}': {_absent(container, step)}")
    if not _equal(value, operation.get("value")):
        raise PatchNotApplicable(f"testing value {path} failed: test failed")


def _equal(left: Any, right: Any) -> bool:
    """Equal as JSON text: 1, 1.0 and true are three things."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return type(left) is type(right) and bool(left == right)


_OPERATIONS: Final[dict[str, Callable[[_Document, dict[str, Any]], None]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
