"""Which owner of an object is its controller."""

from __future__ import annotations

from typing import Any

from steersman.objects.ownership import controlling_reference, is_controlled_by


def _owned(*owners: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "child", "ownerReferences": list(owners)}}


def test_the_controller_is_the_reference_that_says_so() -> None:
    owner, controller = {"uid": "1"}, {"uid": "2", "controller": True}
    assert controlling_reference(_owned(owner, controller)) == controller
    assert is_controlled_by(_owned(owner, controller), "2")
    assert not is_controlled_by(_owned(owner, controller), "1")


def test_an_orphan_has_no_controller() -> None:
    assert controlling_reference(_owned({"uid": "1", "controller": False})) is None
    assert controlling_reference({"metadata": {"name": "orphan"}}) is None
    assert not is_controlled_by({"metadata": {"name": "orphan"}}, "")
