"""A node's object: as it registers, and what is sent later."""

from __future__ import annotations

from typing import Any

from steersman.cluster.node.cri import ImageStatus, RuntimeVersion
from steersman.cluster.node.node_object import NodeConfig, NodeHealth, initial_node, node_status_patch

CONFIG = NodeConfig(
    "n",
    ("10.0.0.1",),
    {"cpu": "4", "memory": "8Gi", "pods": "110"},
    reserved={"cpu": "500m"},
    labels={"zone": "a"},
    taints=({"key": "t", "effect": "NoSchedule"},),
)
VERSION = RuntimeVersion("simulated", "1")
NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"


def patch(
    node: dict[str, Any], health: NodeHealth | None = None, *images: ImageStatus, due: bool = False
) -> Any:
    return node_status_patch(CONFIG, VERSION, health or NodeHealth(), images, node, LATER, due=due)


def test_a_node_registers_with_all_it_has() -> None:
    node = initial_node(CONFIG, VERSION, NodeHealth(), NOW)
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "n"
    assert node["metadata"]["labels"]["zone"] == "a"
    assert node["spec"] == {"taints": [{"key": "t", "effect": "NoSchedule"}]}
    assert node["status"]["allocatable"] == {"cpu": "3500m", "memory": "8Gi", "pods": "110"}
    assert node["status"]["nodeInfo"]["containerRuntimeVersion"] == "simulated://1"
    assert [one["type"] for one in node["status"]["conditions"]][-1] == "Ready"


def test_nothing_is_sent_while_nothing_changes() -> None:
    node = initial_node(CONFIG, VERSION, NodeHealth(), NOW)
    node["status"]["capacity"]["example.com/gpu"] = "2"
    node["status"]["conditions"].append({"type": "Example", "status": "True"})
    assert patch(node) == {}


def test_a_report_that_is_due_moves_heartbeats_only() -> None:
    sent = patch(initial_node(CONFIG, VERSION, NodeHealth(), NOW), due=True)
    assert list(sent) == ["conditions"]
    assert {one["lastHeartbeatTime"] for one in sent["conditions"]} == {LATER}
    assert {one["lastTransitionTime"] for one in sent["conditions"]} == {NOW}


def test_a_change_of_condition_is_sent_with_its_time() -> None:
    node = initial_node(CONFIG, VERSION, NodeHealth(), NOW)
    sent = patch(node, NodeHealth("runtime is down", memory_pressure=True))["conditions"]
    memory, ready = sent[0], sent[-1]
    assert (memory["status"], memory["reason"], memory["lastTransitionTime"]) == (
        "True",
        "KubeletHasInsufficientMemory",
        LATER,
    )
    assert (ready["status"], ready["reason"], ready["message"]) == (
        "False",
        "KubeletNotReady",
        "runtime is down",
    )


def test_images_are_sent_when_there_are_new_ones() -> None:
    node = initial_node(CONFIG, VERSION, NodeHealth(), NOW)
    small, large = ImageStatus("a", 1, ("a@1", "a")), ImageStatus("b", 2, ("b@1", "b"))
    sent = patch(node, None, small, large)
    assert sent["images"] == [
        {"names": ["b@1", "b"], "sizeBytes": 2},
        {"names": ["a@1", "a"], "sizeBytes": 1},
    ]
    node["status"]["images"] = sent["images"]
    assert patch(node, None, small, large) == {}
