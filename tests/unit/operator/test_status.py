from __future__ import annotations

from steersman.operator import NewCondition
from steersman.operator.status import with_conditions

READY = NewCondition("Ready", "True", "AllGood", "fine")


def test_a_transition_time_moves_only_with_the_status():
    first = with_conditions({}, [READY], generation=1, now="t1")
    same = with_conditions(first, [READY], generation=1, now="t2")
    assert same == first
    reworded = with_conditions(first, [READY._replace(message="better")], generation=2, now="t3")
    assert reworded["conditions"][0]["lastTransitionTime"] == "t1"
    assert reworded["conditions"][0]["observedGeneration"] == 2
    turned = with_conditions(first, [READY._replace(status="False")], generation=2, now="t4")
    assert turned["conditions"][0]["lastTransitionTime"] == "t4"


def test_other_conditions_and_fields_are_kept():
    others = {"conditions": [{"type": "Other", "status": "True"}], "replicas": 3}
    status = with_conditions(others, [READY], generation=None, now="t")
    assert [condition["type"] for condition in status["conditions"]] == ["Other", "Ready"]
    assert status["replicas"] == 3
    assert "observedGeneration" not in status["conditions"][1]


def test_a_status_without_conditions_stays_without():
    assert with_conditions({"a": 1}, [], generation=1, now="t") == {"a": 1}
