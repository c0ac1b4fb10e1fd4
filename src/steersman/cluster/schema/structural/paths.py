"""Plain paths of fields (`.spec.replicas`): the scale subresource's, read, checked and written.

The definition names three fields of the custom resource; a Scale is made from them, and an update of the
Scale writes one back.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from steersman.cluster.schema.structural.errors import FieldTypeError
from steersman.cluster.schema.structural.go_types import go_type, go_value
from steersman.objects.fields import FieldError, Path, invalid
from steersman.objects.kinds import Object

__all__ = ["get_path", "scale_spec_errors", "scale_status_errors", "set_path"]


_LARGEST: Final = 2**31 - 1


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.removeprefix(".").split("."))


def get_path(obj: Object, path: str, kind: type | None = None) -> Any:
    """The value at a path, None when there is none. Raises FieldTypeError when it is not of the kind."""
    value: Any = obj
    steps = _steps(path)
    for index, step in enumerate(steps):
        if not isinstance(value, dict):
            if value is None:
                return None
            raise _wrong(".".join(steps[: index + 1]), value, "map[string]interface{}")
        if step not in value:
            return None
        value = value[step]
    if kind is not None and type(value) is not kind:
        raise _wrong(".".join(steps), value, go_type(kind()))
    return value


def _wrong(steps: str, value: Any, expected: str) -> FieldTypeError:
    shown = f"{go_value(value)} is of the type {go_type(value)}"
    return FieldTypeError(f".{steps} accessor error: {shown}, expected {expected}")


def set_path(obj: Object, path: str, value: Any) -> None:
    """Put a value at a path, making the maps on the way. Raises FieldTypeError when one is no map."""
    *parents, last = _steps(path)
    for index, step in enumerate(parents):
        obj = obj.setdefault(step, {})
        if not isinstance(obj, dict):
            shown = ".".join(parents[: index + 1])
            raise FieldTypeError(f"value cannot be set because .{shown} is not a map[string]interface{{}}")
    obj[last] = value


def scale_spec_errors(obj: Object, scale: Object | None) -> list[FieldError]:
    """What is wrong with the replicas that a resource with a scale subresource asks for."""
    return _replica_errors(obj, scale["specReplicasPath"]) if scale else []


def scale_status_errors(obj: Object, scale: Object | None) -> list[FieldError]:
    """What is wrong with the replicas and the selector that its status tells."""
    if not scale:
        return []
    errors = _replica_errors(obj, scale["statusReplicasPath"])
    if path := scale.get("labelSelectorPath"):
        try:
            get_path(obj, path, str)
        except FieldTypeError as error:
            errors.append(invalid(Path(path), "", str(error)))
    return errors


def _replica_errors(obj: Object, path: str) -> list[FieldError]:
    try:
        replicas = get_path(obj, path, int)
    except FieldTypeError as error:
        return [invalid(Path(path), 0, str(error))]
    if replicas is None or 0 <= replicas <= _LARGEST:
        return []
    text = (
        "should be a non-negative integer" if replicas < 0 else f"should be less than or equal to {_LARGEST}"
    )
    return [invalid(Path(path), replicas, text)]
