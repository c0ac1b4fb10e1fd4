"""Priority and DefaultTolerationSeconds."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.admission.pods import DefaultTolerationSeconds, Priority
from steersman.objects.status import StatusError

from .conftest import Object, Stored, write

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


def add_class(stored: Stored, name: str, value: int, **rest: Any) -> None:
    stored.add("scheduling.k8s.io", "priorityclasses", name, value=value, **rest)


def prioritized(stored: Stored, **spec: Any) -> Object:
    attributes = write("pods", {"spec": spec})
    Priority(stored).admit(attributes)
    return spec


def test_without_classes_a_pod_has_priority_zero(stored: Stored) -> None:
    assert prioritized(stored) == {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}


def test_priority_comes_from_the_named_class(stored: Stored) -> None:
    add_class(stored, "high", 100, preemptionPolicy="Never")
    assert prioritized(stored, priorityClassName="high") == {
        "priorityClassName": "high",
        "priority": 100,
        "preemptionPolicy": "Never",
    }


def test_the_lowest_global_default_is_named_in_the_pod(stored: Stored) -> None:
    add_class(stored, "other", -10)
    add_class(stored, "high", 7, globalDefault=True)
    add_class(stored, "low", 5, globalDefault=True)
    assert prioritized(stored) == {
        "priorityClassName": "low",
        "priority": 5,
        "preemptionPolicy": "PreemptLowerPriority",
    }


@pytest.mark.parametrize(
    "given",
    [{"priority": 100}, {"preemptionPolicy": "Never"}, {"priority": 100, "preemptionPolicy": "Never"}],
    ids=str,
)
def test_saying_what_the_class_says_is_fine(stored: Stored, given: Object) -> None:
    add_class(stored, "high", 100, preemptionPolicy="Never")
    assert prioritized(stored, priorityClassName="high", **given)["priority"] == 100


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"priorityClassName": "nope"}, "no PriorityClass with name nope was found"),
        (
            {"priorityClassName": "high", "priority": 99},
            "the integer value of priority (99) must not be provided in pod spec; priority admission "
            "controller computed 100 from the given PriorityClass name",
        ),
        (
            {"priority": 1},
            "the integer value of priority (1) must not be provided in pod spec; priority admission "
            "controller computed 0 from the given PriorityClass name",
        ),
        (
            {"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"},
            "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; "
            "priority admission controller computed Never from the given PriorityClass name",
        ),
    ],
)
def test_contradictions_are_refused(stored: Stored, spec: Object, why: str) -> None:
    add_class(stored, "high", 100, preemptionPolicy="Never")
    with pytest.raises(StatusError) as refused:
        prioritized(stored, **spec)
    assert (refused.value.code, refused.value.message) == (403, f'pods "a" is forbidden: {why}')


@pytest.mark.parametrize(
    ("new", "kept"),
    [
        ({}, {"priority": 5, "preemptionPolicy": "Never"}),
        ({"priority": 6}, {"priority": 6, "preemptionPolicy": "Never"}),
    ],
)
def test_an_update_without_priority_keeps_it(stored: Stored, new: Object, kept: Object) -> None:
    old = {"metadata": {}, "spec": {"priority": 5, "preemptionPolicy": "Never"}}
    Priority(stored).admit(write("pods", {"spec": new}, operation="UPDATE", old=old))
    assert new == kept


@pytest.mark.parametrize(
    ("operation", "name", "obj", "refused"),
    [
        ("CREATE", "second", {"globalDefault": True}, True),
        ("CREATE", "second", {}, False),
        ("UPDATE", "second", {"globalDefault": True}, True),
        ("UPDATE", "first", {"globalDefault": True}, False),
    ],
)
def test_there_is_one_default_class(
    stored: Stored, operation: str, name: str, obj: Object, refused: bool
) -> None:
    add_class(stored, "first", 5, globalDefault=True)
    plugin = Priority(stored)
    group = "scheduling.k8s.io"
    assert plugin.handles(operation, group, "priorityclasses", "")
    attributes = write(
        "priorityclasses", dict(obj), group=group, operation=operation, name=name, namespace=""
    )
    plugin.admit(attributes)
    if not refused:
        plugin.validate(attributes)
        return
    with pytest.raises(StatusError) as error:
        plugin.validate(attributes)
    assert error.value.message == (
        'priorityclasses.scheduling.k8s.io "second" is forbidden: PriorityClass first is already marked as '
        "default. Only one default can exist"
    )


def test_a_first_default_class_is_welcome(stored: Stored) -> None:
    Priority(stored).validate(write("priorityclasses", {"globalDefault": True}, group="scheduling.k8s.io"))


def toleration(key: str, **rest: Any) -> Object:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300, **rest}


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ([], [NOT_READY, UNREACHABLE]),
        ([{"key": NOT_READY, "operator": "Exists", "effect": "NoExecute"}], [UNREACHABLE]),
        ([{"key": UNREACHABLE, "operator": "Exists"}], [NOT_READY]),
        ([{"key": NOT_READY, "operator": "Exists", "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
        ([{"operator": "Exists"}], []),
        ([{"operator": "Exists", "effect": "NoExecute"}], []),
        ([{"operator": "Exists", "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
    ],
)
def test_tolerations_are_added_where_the_pod_says_nothing(given: list[Object], added: list[str]) -> None:
    spec: Object = {"tolerations": list(given)} if given else {}
    DefaultTolerationSeconds().admit(write("pods", {"spec": spec}))
    assert spec.get("tolerations", []) == [*given, *(toleration(key) for key in added)]


@pytest.mark.parametrize("plugin", [Priority(Stored()), DefaultTolerationSeconds()], ids=lambda p: p.name)
def test_only_writes_of_pods_themselves_are_looked_at(plugin: Priority | DefaultTolerationSeconds) -> None:
    assert plugin.handles("CREATE", "", "pods", "")
    assert plugin.handles("UPDATE", "", "pods", "")
    assert not plugin.handles("CREATE", "", "pods", "binding")
    assert not plugin.handles("UPDATE", "", "pods", "status")
    assert not plugin.handles("DELETE", "", "pods", "")
    assert not plugin.handles("CREATE", "example.com", "pods", "")
