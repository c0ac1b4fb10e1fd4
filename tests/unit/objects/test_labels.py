"""Labels and annotations of objects that have some, none, or null."""

from __future__ import annotations

import pytest

from steersman.objects.labels import annotations_of, labels_of


def test_labels_and_annotations_are_read() -> None:
    obj = {"metadata": {"labels": {"app": "web"}, "annotations": {"note": "text"}}}
    assert labels_of(obj) == {"app": "web"}
    assert annotations_of(obj) == {"note": "text"}


@pytest.mark.parametrize("metadata", [{}, {"labels": None, "annotations": None}], ids=["absent", "null"])
def test_an_object_without_them_has_none(metadata: dict[str, None]) -> None:
    assert labels_of({"metadata": metadata}) == {}
    assert annotations_of({"metadata": metadata}) == {}
