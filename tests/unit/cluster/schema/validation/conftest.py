"""What the tables of this folder share: a valid object, a merge patch that spoils it, the errors found."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from steersman.cluster.schema.validation import validate_create, validate_status_update, validate_update

Object = dict[str, Any]
Spoil = Callable[[str, str, Object, Object], list[str]]


def _merged(base: Any, patch: Any) -> Any:
    """JSON merge patch: null removes."""
    if not isinstance(patch, dict):
        return deepcopy(patch)
    merged = deepcopy(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value)
    return merged


def _is_namespaced(obj: Object) -> bool:
    return "namespace" in obj["metadata"]


@pytest.fixture
def created() -> Spoil:
    """`created(group, kind, base, patch)`: the errors of creating the patched object."""

    def errors(group: str, kind: str, base: Object, patch: Object) -> list[str]:
        return [
            str(error) for error in validate_create(group, kind, _is_namespaced(base), _merged(base, patch))
        ]

    return errors


@pytest.fixture
def updated() -> Spoil:
    """`updated(group, kind, old, patch)`: the errors of replacing `old` by the patched object."""

    def errors(group: str, kind: str, old: Object, patch: Object) -> list[str]:
        new = _merged(old, patch)
        return [str(error) for error in validate_update(group, kind, _is_namespaced(old), new, old)]

    return errors


@pytest.fixture
def reported() -> Spoil:
    """`reported(group, kind, old, patch)`: the errors of writing the status of the patched object."""

    def errors(group: str, kind: str, old: Object, patch: Object) -> list[str]:
        new = _merged(old, patch)
        return [str(error) for error in validate_status_update(group, kind, _is_namespaced(old), new, old)]

    return errors
