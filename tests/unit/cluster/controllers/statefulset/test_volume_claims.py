"""Whose the storage is."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.controllers.ownership import controller_reference
from steersman.cluster.controllers.statefulset.volume_claims import (
    belongs_to_earlier_pod,
    has_other_controller,
    new_claim,
    right_owners,
)
from steersman.objects.resources import PODS, STATEFUL_SETS
from tests.unit.cluster.controllers.statefulset.sets import CLAIM, stateful_set

Object = dict[str, Any]


def _set(scaled: str, deleted: str) -> Object:
    policy = {"whenScaled": scaled, "whenDeleted": deleted}
    return stateful_set(3, persistentVolumeClaimRetentionPolicy=policy)


def _pod(ordinal: int, uid: str = "p") -> Object:
    return {"metadata": {"name": f"db-{ordinal}", "uid": uid}}


def _claim(*owners: Object) -> Object:
    return {"metadata": {"name": "data-db-0", "ownerReferences": list(owners)}}


OTHER = {"apiVersion": "v1", "kind": "Thing", "name": "t", "uid": "t", "controller": True}
WANTED, UNWANTED = 0, 3


@pytest.mark.parametrize(
    ("scaled", "deleted", "ordinal", "owner"),
    [
        pytest.param("Retain", "Retain", WANTED, None, id="kept"),
        pytest.param("Retain", "Retain", UNWANTED, None, id="kept after scaling"),
        pytest.param("Retain", "Delete", WANTED, "s", id="goes with the set"),
        pytest.param("Retain", "Delete", UNWANTED, "s", id="goes with the set, not by scaling"),
        pytest.param("Delete", "Retain", WANTED, None, id="kept until scaled"),
        pytest.param("Delete", "Retain", UNWANTED, "p", id="goes with the pod"),
        pytest.param("Delete", "Delete", WANTED, "s", id="goes with the set first"),
        pytest.param("Delete", "Delete", UNWANTED, "p", id="then with the pod"),
    ],
)
def test_owners_follow_the_policy(scaled: str, deleted: str, ordinal: int, owner: str | None) -> None:
    subject, pod = _set(scaled, deleted), _pod(ordinal)
    for before in (
        [],
        [controller_reference(subject, STATEFUL_SETS)],
        [controller_reference(pod, PODS)],
        [{**controller_reference(subject, STATEFUL_SETS), "controller": False}],
    ):
        claim = _claim(*before)
        owners = right_owners(claim, subject, pod)
        after = claim["metadata"]["ownerReferences"] if owners is None else owners
        assert [(one["uid"], one["controller"]) for one in after] == ([(owner, True)] if owner else [])
        assert right_owners(_claim(*after), subject, pod) is None


def test_what_others_control_is_left_to_them() -> None:
    subject, pod = _set("Delete", "Delete"), _pod(WANTED)
    assert has_other_controller(_claim(OTHER), subject, pod)
    assert right_owners(_claim(OTHER), subject, pod) is None
    assert right_owners(_claim(OTHER, controller_reference(subject, STATEFUL_SETS)), subject, pod) == [OTHER]
    assert not has_other_controller(_claim(OTHER), _set("Retain", "Retain"), pod)


def test_other_owners_stay() -> None:
    mere_owner = {**OTHER, "controller": False}
    owners = right_owners(_claim(mere_owner), _set("Retain", "Delete"), _pod(WANTED))
    assert owners is not None
    assert [one["uid"] for one in owners] == ["t", "s"]


def test_claims_of_earlier_objects_of_the_same_name_are_not_touched() -> None:
    subject = _set("Delete", "Delete")
    earlier_pod = _claim(controller_reference(_pod(WANTED, "earlier"), PODS))
    assert belongs_to_earlier_pod(earlier_pod, _pod(WANTED))
    assert right_owners(earlier_pod, subject, _pod(WANTED)) is None
    earlier_set = {"metadata": {**subject["metadata"], "uid": "earlier"}}
    assert (
        right_owners(_claim(controller_reference(earlier_set, STATEFUL_SETS)), subject, _pod(WANTED)) is None
    )


def test_a_claim_is_made_from_its_template_with_the_sets_labels() -> None:
    assert new_claim(stateful_set(), CLAIM, 2) == {
        "metadata": {"name": "data-db-2", "namespace": "default", "labels": {"x": "y", "app": "db"}},
        "spec": {"accessModes": ["ReadWriteOnce"]},
    }
