"""PodTopologyLabels and PodResizeValidator."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.admission import Attributes
from steersman.cluster.admission.placed_pods import PodResizeValidator, PodTopologyLabels

from .conftest import Object, Stored, write
from .refusals import ask, refused

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


def add_node(stored: Stored, labels: Object | None = None, **allocatable: str) -> None:
    stored.add("", "nodes", "n1", metadata={"labels": labels or {}}, status={"allocatable": allocatable})


def test_a_pod_gets_the_place_of_its_node(stored: Stored) -> None:
    add_node(stored, {ZONE: "z", REGION: "r", "other": "x"})
    new = {"metadata": {"labels": {ZONE: "mine", "a": "b"}}, "spec": {"nodeName": "n1"}}
    ask(PodTopologyLabels(stored), write("pods", new))
    assert new["metadata"]["labels"] == {"a": "b", REGION: "r", ZONE: "z"}


@pytest.mark.parametrize(
    "target", [{"kind": "Node", "name": "n1"}, {"kind": "Other", "name": "n1"}, {}], ids=str
)
def test_a_binding_carries_the_place(stored: Stored, target: Object) -> None:
    add_node(stored, {ZONE: "z"})
    binding = {"metadata": {}, "target": target}
    ask(PodTopologyLabels(stored), write("pods", binding, subresource="binding"))
    assert binding["metadata"] == ({"labels": {ZONE: "z"}} if target.get("kind") == "Node" else {})


@pytest.mark.parametrize("spec", [{}, {"nodeName": "n1"}, {"nodeName": "gone"}], ids=str)
def test_without_place_nothing_changes(stored: Stored, spec: Object) -> None:
    add_node(stored)
    new = {"metadata": {}, "spec": spec}
    ask(PodTopologyLabels(stored), write("pods", new))
    assert new["metadata"] == {}


def resize(generation: int = 2, node: str = "n1", **requests: str) -> Attributes:
    def pod(number: int) -> Object:
        resources: dict[str, Any] = {"requests": requests}
        spec = {
            "nodeName": node,
            "containers": [{"name": "c", "resources": resources}],
            "overhead": {"cpu": "1"},
        }
        return {"metadata": {"name": "a", "generation": number}, "spec": spec}

    return write("pods", pod(generation), operation="UPDATE", subresource="resize", old=pod(1))


def test_a_resize_must_fit_the_node(stored: Stored) -> None:
    add_node(stored, cpu="2", memory="1Ki")
    plugin = PodResizeValidator(stored)
    ask(plugin, resize(cpu="1", memory="1024"))
    error = refused(plugin, resize(cpu="1001m", memory="2Ki"))
    assert error.message == (
        'pods "a" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 2001, '
        "allocatable: 2000; memory, requested: 2048, allocatable: 1024"
    )
    assert error.details == {"name": "a", "kind": "pods", "causes": [{"reason": "NodeCapacity"}]}


def test_what_is_not_resized_or_placed_is_not_asked_about(stored: Stored) -> None:
    plugin = PodResizeValidator(stored)
    ask(plugin, resize(node="", cpu="9"))
    ask(plugin, resize(generation=1, cpu="9"))
    assert refused(plugin, resize(cpu="9")).message.endswith('node "n1" not found')


def test_other_systems_cannot_resize(stored: Stored) -> None:
    add_node(stored, {"kubernetes.io/os": "windows"}, cpu="9", memory="9")
    error = refused(PodResizeValidator(stored), resize())
    assert error.message.endswith('pod resize is only supported on linux nodes, node "n1" is "windows"')
    assert error.details is not None
    assert error.details["causes"] == [{"reason": "UnsupportedPlatform"}]


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (("CREATE", "", "pods", ""), True),
        (("CREATE", "", "pods", "binding"), True),
        (("CREATE", "", "pods", "eviction"), False),
        (("UPDATE", "", "pods", ""), False),
        (("CREATE", "example.com", "pods", ""), False),
        (("CREATE", "", "services", ""), False),
    ],
    ids=str,
)
def test_places_are_given_when_pods_get_their_node(
    stored: Stored, write: tuple[str, str, str, str], expected: bool
) -> None:
    assert PodTopologyLabels(stored).handles(*write) is expected
