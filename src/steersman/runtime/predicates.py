"""Which changes are worth a reconcile. Combine them: `generation_changed | labels_changed`, `~p`, `p & q`.

Each compares the object before and after. Additions, deletions and resyncs pass all of them but
`resource_version_changed`, which drops resyncs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from steersman.runtime.changes import Change

__all__ = [
    "Predicate",
    "annotations_changed",
    "generation_changed",
    "labels_changed",
    "resource_version_changed",
]


class Predicate:
    """A test of a change. Any function of a `Change` can be made one."""

    __slots__ = ("_test",)

    def __init__(self, test: Callable[[Change], bool]) -> None:
        self._test = test

    def __call__(self, change: Change) -> bool:
        return self._test(change)

    def __and__(self, other: Callable[[Change], bool]) -> Predicate:
        return Predicate(lambda change: self._test(change) and other(change))

    def __or__(self, other: Callable[[Change], bool]) -> Predicate:
        return Predicate(lambda change: self._test(change) or other(change))

    def __invert__(self) -> Predicate:
        return Predicate(lambda change: not self._test(change))


def _metadata_changed(*fields: str) -> Predicate:
    def test(change: Change) -> bool:
        if change.old is None or change.new is None or change.resync:
            return True
        old, new = change.old.metadata(), change.new.metadata()
        return any(_value(old, field) != _value(new, field) for field in fields)

    return Predicate(test)


def _value(metadata: dict[str, Any], field: str) -> Any:
    # An empty map and none at all are the same to Kubernetes.
    return metadata.get(field) or None


#: The spec changed, or deletion began; status updates and edits of metadata are left out. For resources
#: that have no generation (ConfigMaps, Secrets) nothing but additions and deletions passes.
generation_changed = _metadata_changed("generation", "deletionTimestamp")
labels_changed = _metadata_changed("labels")
annotations_changed = _metadata_changed("annotations")


@Predicate
def resource_version_changed(change: Change) -> bool:
    if change.old is None or change.new is None:
        return True
    return not change.resync and not change.old.same_version(change.new)
