"""Which changes pass which predicates."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from steersman.runtime.changes import Change
from steersman.runtime.predicates import (
    Predicate,
    annotations_changed,
    generation_changed,
    labels_changed,
    resource_version_changed,
)
from tests.unit.runtime.shelf import Shelf


def changes(action: Callable[[Shelf], None]) -> list[Change]:
    shelf = Shelf()
    shelf.put("a", generation=1, labels={"x": "1"}, annotations={"y": "1"})
    heard: list[Change] = []
    shelf.cache.handlers.add(heard.append)
    action(shelf)
    return heard


BASE = {"generation": 1, "labels": {"x": "1"}, "annotations": {"y": "1"}}
PREDICATES = {
    "generation": generation_changed,
    "labels": labels_changed,
    "annotations": annotations_changed,
    "version": resource_version_changed,
}


@pytest.mark.parametrize(
    ("action", "passing"),
    [
        pytest.param(lambda s: s.put("b"), {"generation", "labels", "annotations", "version"}, id="added"),
        pytest.param(
            lambda s: s.put("a", deleted=True),
            {"generation", "labels", "annotations", "version"},
            id="deleted",
        ),
        pytest.param(lambda s: s.resync(), {"generation", "labels", "annotations"}, id="resync"),
        pytest.param(lambda s: s.put("a", **BASE), {"version"}, id="status"),
        pytest.param(lambda s: s.put("a", **BASE | {"generation": 2}), {"generation", "version"}, id="spec"),
        pytest.param(
            lambda s: s.put("a", **BASE, deletionTimestamp="2026-01-01T00:00:00Z"),
            {"generation", "version"},
            id="deletion",
        ),
        pytest.param(lambda s: s.put("a", **BASE | {"labels": {}}), {"labels", "version"}, id="labels"),
        pytest.param(
            lambda s: s.put("a", **BASE | {"annotations": {"y": "2"}}),
            {"annotations", "version"},
            id="annotations",
        ),
    ],
)
def test_what_passes(action: Callable[[Shelf], None], passing: set[str]) -> None:
    [change] = changes(action)
    assert {name for name, predicate in PREDICATES.items() if predicate(change)} == passing


def test_predicates_combine() -> None:
    [change] = changes(lambda s: s.put("a", **BASE | {"labels": {"x": "2"}}))
    assert (generation_changed | labels_changed)(change)
    assert not (generation_changed & labels_changed)(change)
    assert (~generation_changed)(change)
    assert not (labels_changed & (lambda _: False))(change)
    assert Predicate(lambda seen: seen.key.name == "a")(change)
