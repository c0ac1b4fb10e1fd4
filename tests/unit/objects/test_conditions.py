"""Setting and reading status conditions."""

from __future__ import annotations

from typing import Any

from steersman.objects.conditions import (
    condition_is,
    condition_patch,
    find_condition,
    is_ready,
    remove_condition,
    set_condition,
)

READY = {
    "type": "Ready",
    "status": "False",
    "reason": "Starting",
    "message": "",
    "lastTransitionTime": "t1",
    "observedGeneration": 1,
}


def test_new_condition_is_appended() -> None:
    conditions = set_condition(None, "Ready", "False", reason="Starting", observed_generation=1, now="t1")
    assert conditions == [READY]
    assert condition_is(conditions, "Ready", "False")
    assert not condition_is(conditions, "Ready")
    assert find_condition(conditions, "Other") is None


def test_transition_time_moves_only_with_the_status() -> None:
    same = set_condition([READY], "Ready", "False", reason="Pulling", observed_generation=2, now="t2")
    assert same == [{**READY, "reason": "Pulling", "observedGeneration": 2}]
    moved = set_condition([READY], "Ready", "True", reason="Up", observed_generation=2, now="t2")
    assert moved == [
        {**READY, "status": "True", "reason": "Up", "lastTransitionTime": "t2", "observedGeneration": 2}
    ]


def test_nothing_changes_when_nothing_changed() -> None:
    conditions = [READY]
    unchanged = set_condition(
        conditions, "Ready", "False", reason="Starting", observed_generation=1, now="t2"
    )
    assert unchanged is conditions


def test_other_conditions_keep_their_place() -> None:
    other = {**READY, "type": "Other"}
    conditions = set_condition([READY, other], "Ready", "True", reason="Up", now="t2")
    assert [condition["type"] for condition in conditions] == ["Ready", "Other"]
    assert conditions[1] is other


def test_removed_condition_is_gone() -> None:
    conditions = [READY]
    assert remove_condition(conditions, "Ready") == []
    assert remove_condition(conditions, "Other") is conditions
    assert remove_condition(None, "Other") == []


def test_a_patch_puts_a_new_condition_last() -> None:
    there = [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}]
    new = {"type": "DisruptionTarget", "status": "True"}
    order = [{"type": "Ready"}, {"type": "PodScheduled"}]
    assert condition_patch(there, new) == {
        "conditions": [new],
        "$setElementOrder/conditions": [*order, {"type": "DisruptionTarget"}],
    }
    assert condition_patch(there, there[0])["$setElementOrder/conditions"] == order
    assert condition_patch(None, new)["$setElementOrder/conditions"] == [{"type": "DisruptionTarget"}]


def test_a_pod_is_ready_by_its_condition() -> None:
    def pod(status: str) -> dict[str, Any]:
        return {"status": {"conditions": [{"type": "Ready", "status": status}]}}

    assert is_ready(pod("True"))
    assert not is_ready(pod("False"))
    assert not is_ready(pod("Unknown"))
    assert not is_ready({"metadata": {"name": "new"}})
