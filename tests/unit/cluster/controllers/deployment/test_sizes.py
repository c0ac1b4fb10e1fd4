"""How many pods each ReplicaSet may have."""

from __future__ import annotations

import pytest

from steersman.cluster.controllers.deployment import sizes
from tests.unit.cluster.controllers.deployment.rollouts import deployment, replica_set


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        pytest.param(10, "25%", "25%", (3, 2), id="surge up, unavailable down"),
        pytest.param(2, 0, "1%", (0, 1), id="never none of both"),
        pytest.param(1, "1%", "25%", (1, 0), id="one is surged"),
        pytest.param(3, 1, 5, (1, 3), id="not more than there are"),
        pytest.param(0, 1, 1, (1, 0), id="of nothing"),
    ],
)
def test_fenceposts(
    replicas: int, surge: int | str, unavailable: int | str, expected: tuple[int, int]
) -> None:
    subject = deployment(replicas, surge, unavailable)
    assert (sizes.max_surge(subject), sizes.max_unavailable(subject)) == expected


def test_recreating_allows_neither() -> None:
    subject = deployment(strategy={"type": "Recreate"})
    assert (sizes.max_surge(subject), sizes.max_unavailable(subject)) == (0, 0)
    assert sizes.new_size(subject, [replica_set("old", 10)], 0) == 10


@pytest.mark.parametrize(
    ("old", "present", "expected"),
    [
        pytest.param(0, 0, 10, id="a new deployment gets all at once"),
        pytest.param(10, 0, 3, id="as many as may surge"),
        pytest.param(10, 3, 3, id="no room"),
        pytest.param(8, 3, 5, id="room that old ones made"),
        pytest.param(1, 9, 10, id="not more than wanted"),
        pytest.param(20, 2, 2, id="too many already"),
    ],
)
def test_the_new_set_grows_into_the_room_there_is(old: int, present: int, expected: int) -> None:
    sets = [replica_set("old", old), replica_set("new", present)]
    assert sizes.new_size(deployment(10, 3, 2), sets, present) == expected


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param((3, 0), [(10, 10)], [8], id="what may be unavailable goes"),
        pytest.param((5, 0), [(8, 8)], [], id="not while the new are not available"),
        pytest.param((5, 5), [(8, 8)], [3], id="as many as are available anew"),
        pytest.param((5, 0), [(8, 7)], [], id="a broken old one does not help"),
        pytest.param((10, 9), [(3, 1)], [0], id="broken old ones go first"),
        pytest.param((0, 0), [(10, 10), (3, 0)], [8, 0], id="rolling over: the unhealthy set goes entirely"),
        pytest.param((10, 10), [(0, 0)], [], id="nothing left"),
    ],
)
def test_old_sets_shrink_while_enough_is_available(
    new: tuple[int, int], old: list[tuple[int, int]], expected: list[int]
) -> None:
    olds = [replica_set(f"old-{n}", *old_one, age_s=100 - n) for n, old_one in enumerate(old)]
    changes = sizes.old_sizes(deployment(10, 3, 2), replica_set("new", *new), olds)
    assert [count for _, count in changes] == expected


def test_older_sets_shrink_first() -> None:
    olds = [replica_set("younger", 5, age_s=10), replica_set("older", 5, age_s=20)]
    changes = sizes.old_sizes(deployment(10, 3, 2), replica_set("new", 3), olds)
    assert [(one["metadata"]["name"], count) for one, count in changes] == [("older", 0)]


@pytest.mark.parametrize(
    ("replicas", "sets", "expected"),
    [
        # (size, max-replicas annotation), older first
        pytest.param(20, [(5, "13"), (8, "13")], [9, 14], id="grows by size: 23 in all"),
        pytest.param(5, [(5, "13"), (8, "13")], [3, 4], id="shrinks by size: 7 in all"),
        pytest.param(0, [(5, "13"), (8, "13")], [0, 0], id="to nothing"),
        pytest.param(10, [(6, "13"), (7, "13")], [6, 7], id="nothing to spread"),
        pytest.param(20, [(5, ""), (5, "")], [11, 12], id="without annotations by what there is"),
    ],
)
def test_scaling_in_a_rollout_is_spread(
    replicas: int, sets: list[tuple[int, str]], expected: list[int]
) -> None:
    subject = deployment(replicas, 3 if replicas >= 10 else 2, 2)
    subject["status"] = {"replicas": 10}
    made = [
        replica_set(str(n), size, age_s=100 - n, annotations={"max-replicas": most} if most else {})
        for n, (size, most) in enumerate(sets)
    ]
    changes = {one["metadata"]["name"]: count for one, count in sizes.proportional_sizes(subject, made)}
    assert [changes[str(n)] for n in range(len(sets))] == expected


def test_among_equals_the_newer_grows_and_the_older_shrinks() -> None:
    def changed(replicas: int) -> list[str]:
        made = [
            replica_set("older", 5, age_s=20, annotations={"max-replicas": "10"}),
            replica_set("newer", 5, age_s=10, annotations={"max-replicas": "10"}),
        ]
        changes = sizes.proportional_sizes(deployment(replicas, 0, 1), made)
        return [one["metadata"]["name"] for one, count in changes if count != 5]

    assert changed(11) == ["newer"]
    assert changed(9) == ["older"]


def test_only_one_set_is_scaled_directly() -> None:
    new, old, older = (
        replica_set("new", 0),
        replica_set("old", 3, age_s=10),
        replica_set("older", 0, age_s=20),
    )
    empty = replica_set("empty", 0, age_s=5)
    assert sizes.only_one_to_scale(new, [old, older]) is old
    assert sizes.only_one_to_scale(replica_set("new", 1), [old, older]) is None
    assert sizes.only_one_to_scale(new, [older]) is new
    assert sizes.only_one_to_scale(None, [older, empty]) is empty
    assert sizes.only_one_to_scale(None, []) is None


@pytest.mark.parametrize(
    ("size", "available", "desired", "saturated"),
    [
        pytest.param(10, 10, "10", True, id="yes"),
        pytest.param(10, 9, "10", False, id="one is not available"),
        pytest.param(10, 10, "8", False, id="sized for another number"),
        pytest.param(10, 10, "", False, id="not annotated"),
    ],
)
def test_saturation(size: int, available: int, desired: str, saturated: bool) -> None:
    new = replica_set("new", size, available, annotations={"desired-replicas": desired})
    assert sizes.is_saturated(deployment(10), new) is saturated
