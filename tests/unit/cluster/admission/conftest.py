"""Stored objects and writes for admission plugins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from steersman.cluster.admission import Attributes
from steersman.cluster.auth.users import ANONYMOUS

Object = dict[str, Any]


class Stored:
    """A reader of objects given as {(group, plural): [object, …]}."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], list[Object]] = {}

    def add(self, group: str, plural: str, name: str, **rest: Any) -> None:
        metadata = {
            "name": name,
            "creationTimestamp": "2024-01-01T00:00:00Z",
            **rest.pop("metadata", {}),
        }
        self.objects.setdefault((group, plural), []).append({"metadata": metadata, **rest})

    def get(self, group: str, plural: str, namespace: str, name: str) -> Object | None:
        found = (each for each in self.list(group, plural) if each["metadata"]["name"] == name)
        return next(found, None)

    def list(self, group: str, plural: str, namespace: str = "") -> Sequence[Object]:
        return self.objects.get((group, plural), [])


@pytest.fixture
def stored() -> Stored:
    return Stored()


def write(plural: str, obj: Object | None = None, **rest: Any) -> Attributes:
    """Attributes of a write, by default the creation of something called "a" in "default"."""
    if obj is not None:
        obj.setdefault("metadata", {})
        obj.setdefault("spec", {})
    fields: dict[str, Any] = {
        "operation": "CREATE",
        "group": "",
        "version": "v1",
        "plural": plural,
        "kind": "",
        "subresource": "",
        "namespace": "default",
        "name": "a",
        "object": obj,
        "old": None,
        "user": ANONYMOUS,
    }
    return Attributes(**{**fields, **rest})
