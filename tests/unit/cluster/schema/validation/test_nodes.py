"""Nodes. Updates look at the new node twice, so that what is wrong with it is told twice."""

from __future__ import annotations

from typing import Any

import pytest

NODE: dict[str, Any] = {
    "metadata": {"name": "n1", "resourceVersion": "1"},
    "spec": {"podCIDRs": ["10.2.0.0/24"], "podCIDR": "10.2.0.0/24", "providerID": "cloud://1"},
    "status": {"nodeInfo": {}, "daemonEndpoints": {"kubeletEndpoint": {}}},
}
TAINT = {"key": "a", "value": "b", "effect": "NoSchedule"}
CREATE = {
    "valid": ({"spec": {"taints": [TAINT]}, "status": {"capacity": {"cpu": "4", "pods": "110"}}}, []),
    "taint without effect": (
        {"spec": {"taints": [{"key": "a"}]}},
        ["metadata.taints[0].effect: Required value"],
    ),
    "unknown effect": (
        {"spec": {"taints": [{"key": "a", "effect": "Melt"}]}},
        [
            'metadata.taints[0].effect: Unsupported value: "Melt": supported values: '
            '"NoSchedule", "PreferNoSchedule", "NoExecute"'
        ],
    ),
    "same taint twice": (
        {"spec": {"taints": [TAINT, {"key": "a", "effect": "NoSchedule"}]}},
        [
            'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"","Effect":"NoSchedule",'
            '"TimeAdded":null}: taints must be unique by key and effect pair'
        ],
    ),
    "negative capacity": (
        {"status": {"capacity": {"cpu": "-1", "pods": "1500m"}}},
        [
            'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
            'status.capacity.pods: Invalid value: "1500m": must be an integer',
        ],
    ),
    "swap without swap": (
        {"status": {"nodeInfo": {"swap": {"capacity": 0}}}},
        ["metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero"],
    ),
    "not a block": (
        {"spec": {"podCIDRs": ["x"]}},
        [
            'spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 '
            "or 2001:db8::/64)"
        ],
    ),
    "two blocks of one family": (
        {"spec": {"podCIDRs": ["10.2.0.0/24", "10.3.0.0/24"]}},
        [
            'spec.podCIDRs: Invalid value: ["10.2.0.0/24","10.3.0.0/24"]: '
            "may specify no more than one CIDR for each IP family"
        ],
    ),
    "unsorted features": (
        {"status": {"declaredFeatures": ["B", "A", "A"]}},
        [
            'status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically',
            'status.declaredFeatures[2]: Duplicate value: "A"',
        ],
    ),
    "taints in the annotation": (
        {
            "metadata": {
                "annotations": {"scheduler.alpha.kubernetes.io/taints": '[{"key": "a", "effect": "Melt"}]'}
            }
        },
        [
            "metadata.annotations.scheduler.alpha.kubernetes.io/taints[0].effect: Unsupported value: "
            '"Melt": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'
        ],
    ),
    "broken annotation": (
        {"metadata": {"annotations": {"scheduler.alpha.kubernetes.io/taints": "oops"}}},
        [
            'metadata.annotations: Invalid value: "scheduler.alpha.kubernetes.io/taints": '
            "invalid character 'o' looking for beginning of value"
        ],
    ),
}


@pytest.mark.parametrize("text", ["[" * 9000 + "]" * 9000, "{}", "[1]", '[{"key": 1}]'])
def test_annotation_of_another_shape_is_refused(created: Any, text: str) -> None:
    patch = {"metadata": {"annotations": {"scheduler.alpha.kubernetes.io/taints": text}}}
    (error,) = created("", "Node", NODE, patch)
    assert error.startswith("metadata.annotations: Invalid value: ")


@pytest.mark.parametrize("patch, expected", CREATE.values(), ids=CREATE)
def test_node_is_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created("", "Node", NODE, patch) == expected


UPDATE = {
    "unschedulable": ({"spec": {"unschedulable": True}}, []),
    "wrong taint is told twice": (
        {"spec": {"taints": [{"key": "a"}]}},
        ["metadata.taints[0].effect: Required value"] * 2,
    ),
    "other block": (
        {"spec": {"podCIDRs": ["10.3.0.0/24"]}},
        ['spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'],
    ),
    "other provider": (
        {"spec": {"providerID": "cloud://2"}},
        ["spec.providerID: Invalid value: null: field cannot be modified once set"],
    ),
    "no provider": (
        {"spec": {"providerID": None}},
        ["spec.providerID: Invalid value: null: field cannot be cleared once set"],
    ),
    "external ID": (
        {"spec": {"externalID": "x"}},
        ["spec.externalID: Forbidden: may not be updated"],
    ),
}


@pytest.mark.parametrize("patch, expected", UPDATE.values(), ids=UPDATE)
def test_node_is_updated_or_refused(updated: Any, patch: Any, expected: list[str]) -> None:
    assert updated("", "Node", NODE, patch) == expected


def test_first_block_and_provider_may_come_later(updated: Any) -> None:
    bare = {**NODE, "spec": {}}
    assert updated("", "Node", bare, {"spec": NODE["spec"]}) == []


def test_status_lists_each_address_once(reported: Any) -> None:
    address = {"type": "InternalIP", "address": "10.0.0.1"}
    assert reported("", "Node", NODE, {"status": {"addresses": [address, address]}}) == [
        'status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"10.0.0.1"}'
    ]
