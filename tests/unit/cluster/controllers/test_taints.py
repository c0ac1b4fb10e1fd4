"""Which taints a node's state asks for, and who tolerates them."""

from __future__ import annotations

import pytest

from steersman.cluster.controllers.taints import (
    NO_EXECUTE,
    NO_SCHEDULE,
    NOT_READY,
    UNREACHABLE,
    Taint,
    Toleration,
    changed_taints,
    condition_taints,
)

NOW = "2026-01-01T00:00:00Z"
READY = ("Ready", "True")
OWN = Taint("example.com/own", "x", NO_SCHEDULE)


@pytest.mark.parametrize(
    ("conditions", "unschedulable", "keys"),
    [
        pytest.param([READY], False, [], id="ready"),
        pytest.param([("Ready", "False")], False, ["not-ready"], id="not ready"),
        pytest.param([("Ready", "Unknown")], False, ["unreachable"], id="silent"),
        pytest.param([READY, ("MemoryPressure", "True")], False, ["memory-pressure"], id="memory"),
        pytest.param([READY, ("MemoryPressure", "Unknown")], False, [], id="memory unknown"),
        pytest.param([READY, ("DiskPressure", "True")], False, ["disk-pressure"], id="disk"),
        pytest.param([READY, ("PIDPressure", "True")], False, ["pid-pressure"], id="processes"),
        pytest.param([READY, ("NetworkUnavailable", "True")], False, ["network-unavailable"], id="network"),
        pytest.param([READY], True, ["unschedulable"], id="cordoned"),
        pytest.param([("Ready", "False")], True, ["not-ready", "unschedulable"], id="both"),
        pytest.param([("Example", "True")], False, [], id="a condition nobody knows"),
    ],
)
def test_conditions_ask_for_taints(
    conditions: list[tuple[str, str]], unschedulable: bool, keys: list[str]
) -> None:
    taints = condition_taints(conditions, unschedulable=unschedulable)
    assert [taint.kind for taint in taints] == [(f"node.kubernetes.io/{key}", NO_SCHEDULE) for key in keys]


def test_wanted_taints_are_added_with_their_time_and_others_kept() -> None:
    wanted = condition_taints([("Ready", "False")], unschedulable=False)
    added = Taint(NOT_READY, effect=NO_SCHEDULE, time_added=NOW)
    assert changed_taints([OWN], wanted, (), NOW) == [OWN, added]


def test_nothing_changes_when_all_is_there() -> None:
    wanted = condition_taints([("Ready", "False")], unschedulable=False)
    there = [Taint(NOT_READY, effect=NO_SCHEDULE, time_added="2020-01-01T00:00:00Z"), OWN]
    assert changed_taints(there, wanted, (), NOW) is None


def test_taints_of_conditions_that_are_over_go() -> None:
    there = [Taint("node.kubernetes.io/disk-pressure", effect=NO_SCHEDULE), OWN]
    assert changed_taints(there, [], (), NOW) == [OWN]


def test_no_execute_taints_go_only_where_they_are_managed() -> None:
    there = [Taint(UNREACHABLE, effect=NO_EXECUTE)]
    assert changed_taints(there, [], (), NOW) is None
    assert changed_taints(there, [], {(UNREACHABLE, NO_EXECUTE)}, NOW) == []


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        pytest.param(Toleration("k", "Exists"), True, id="exists"),
        pytest.param(Toleration("", "Exists"), True, id="everything"),
        pytest.param(Toleration("k", "Exists", "", NO_SCHEDULE), False, id="another effect"),
        pytest.param(Toleration("k", "Equal", "5"), True, id="equal"),
        pytest.param(Toleration("k", "", "5"), True, id="equal by default"),
        pytest.param(Toleration("k", "Equal", "6"), False, id="another value"),
        pytest.param(Toleration("other", "Exists"), False, id="another key"),
        pytest.param(Toleration("k", "Gt", "4"), True, id="more than"),
        pytest.param(Toleration("k", "Gt", "5"), False, id="not more than"),
        pytest.param(Toleration("k", "Lt", "6"), True, id="less than"),
        pytest.param(Toleration("k", "Lt", "x"), False, id="no number"),
    ],
)
def test_tolerations(toleration: Toleration, tolerates: bool) -> None:
    assert toleration.tolerates(Taint("k", "5", NO_EXECUTE)) is tolerates
