"""RuntimeClass."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.admission.runtime_classes import RuntimeClass

from .conftest import Object, Stored, write
from .refusals import ask, why

OTHER = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


def runtime(stored: Stored, **rest: Any) -> RuntimeClass:
    stored.add("node.k8s.io", "runtimeclasses", "kata", handler="kata", **rest)
    return RuntimeClass(stored)


def pod(**spec: Any) -> Object:
    return {"spec": {"runtimeClassName": "kata", **spec}}


def test_the_class_must_exist(stored: Stored) -> None:
    assert why(RuntimeClass(stored), write("pods", pod())) == 'pod rejected: RuntimeClass "kata" not found'


def test_overhead_comes_from_the_class(stored: Stored) -> None:
    plugin = runtime(stored, overhead={"podFixed": {"cpu": "250m"}})
    new = pod()
    ask(plugin, write("pods", new))
    assert new["spec"]["overhead"] == {"cpu": "250m"}
    ask(plugin, write("pods", pod(overhead={"cpu": "0.25"})))
    assert why(plugin, write("pods", pod(overhead={"cpu": "1"}))) == OTHER
    assert why(plugin, write("pods", pod(overhead={"cpu": "250m", "memory": "1"}))) == OTHER


def test_overhead_that_vanished_later_is_missed(stored: Stored) -> None:
    plugin = runtime(stored, overhead={"podFixed": {"cpu": "250m"}})
    attributes = write("pods", pod())
    plugin.admit(attributes)
    assert attributes.object is not None
    del attributes.object["spec"]["overhead"]
    with pytest.raises(Exception, match="doesn't match"):
        plugin.validate(attributes)


@pytest.mark.parametrize("spec", [{"runtimeClassName": None}, {}], ids=["no class", "class without"])
def test_overhead_needs_a_class_that_has_some(stored: Stored, spec: Object) -> None:
    new = pod(overhead={"cpu": "1"}, **spec)
    assert why(runtime(stored), write("pods", new)) == (
        "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
    )


def test_scheduling_is_merged(stored: Stored) -> None:
    plugin = runtime(
        stored, scheduling={"nodeSelector": {"b": "2"}, "tolerations": [{"key": "k", "operator": "Exists"}]}
    )
    new = pod(nodeSelector={"a": "1"}, tolerations=[{"key": "x", "operator": "Exists"}])
    ask(plugin, write("pods", new))
    assert new["spec"]["nodeSelector"] == {"a": "1", "b": "2"}
    assert [each["key"] for each in new["spec"]["tolerations"]] == ["x", "k"]
    assert why(plugin, write("pods", pod(nodeSelector={"b": "3"}))) == (
        "conflict: runtimeClass.scheduling.nodeSelector[b] = 2; pod.spec.nodeSelector[b] = 3"
    )


@pytest.mark.parametrize(
    ("given", "added", "expected"),
    [
        ({"key": "k", "operator": "Exists"}, {"key": "k", "operator": "Exists"}, ["given"]),
        ({"key": "k", "operator": "Equal", "value": "v"}, {"key": "k", "operator": "Exists"}, ["added"]),
        ({"operator": "Exists"}, {"key": "k", "operator": "Exists"}, ["given"]),
        (
            {"key": "k", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "k", "operator": "Exists"},
            ["added"],
        ),
        (
            {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
            {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 10},
            ["added"],
        ),
        (
            {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 10},
            {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
            ["given"],
        ),
        (
            {"key": "k", "operator": "Exists", "effect": "NoExecute"},
            {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
            ["given"],
        ),
        (
            {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
            {"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute"},
            ["given", "added"],
        ),
        (
            {"key": "k", "operator": "Equal", "value": "a"},
            {"key": "k", "operator": "Equal", "value": "b"},
            ["given", "added"],
        ),
    ],
    ids=[
        "same",
        "any value",
        "any key",
        "any effect",
        "longer",
        "shorter",
        "for ever",
        "not for ever",
        "other value",
    ],
)
def test_a_toleration_that_another_covers_goes(
    stored: Stored, given: Object, added: Object, expected: list[str]
) -> None:
    plugin = runtime(stored, scheduling={"tolerations": [added]})
    new = pod(tolerations=[given])
    ask(plugin, write("pods", new))
    assert new["spec"]["tolerations"] == [{"given": given, "added": added}[name] for name in expected]


def test_a_class_without_selector_adds_none(stored: Stored) -> None:
    new = pod()
    ask(runtime(stored, scheduling={}), write("pods", new))
    assert new["spec"] == pod()["spec"]


def test_pods_without_a_class_pass(stored: Stored) -> None:
    ask(RuntimeClass(stored), write("pods", {"spec": {}}))
    assert RuntimeClass(stored).handles("CREATE", "", "pods", "")
    assert not RuntimeClass(stored).handles("UPDATE", "", "pods", "")
