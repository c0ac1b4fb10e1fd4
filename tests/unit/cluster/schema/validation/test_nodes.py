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
    "three blocks": (
        {"spec": {"podCIDRs": ["10.2.0.0/24", "fd00::/64", "fd01::/64"], "podCIDR": "10.2.0.0/24"}},
        [
            'spec.podCIDRs: Invalid value: ["10.2.0.0/24","fd00::/64","fd01::/64"]: may '
            "specify no more than one CIDR for each IP family",
        ],
    ),
    "a block of each family": (
        {"spec": {"podCIDRs": ["10.2.0.0/24", "fd00::/64"], "podCIDR": "10.2.0.0/24"}},
        [],
    ),
    "avoided pods": (
        {
            "metadata": {
                "annotations": {
                    "scheduler.alpha.kubernetes.io/preferAvoidPods": '{"preferAvoidPods": [{"podSignature": {"podController": {"controller": true}}}]}'
                }
            }
        },
        [],
    ),
    "avoided pods of nobody": (
        {
            "metadata": {
                "annotations": {
                    "scheduler.alpha.kubernetes.io/preferAvoidPods": '{"preferAvoidPods": [{}, {"podSignature": {"podController": {}}}]}'
                }
            }
        },
        [
            "metadata.annotations.scheduler.alpha.kubernetes."
            "io/preferAvoidPods[0].PodSignature: Required value",
            "metadata.annotations.scheduler.alpha.kubernetes."
            "io/preferAvoidPods[1].PodSignature.PodController.Controller: Invalid value: "
            "false: must point to a controller",
        ],
    ),
    "avoided pods of another shape": (
        {
            "metadata": {
                "annotations": {
                    "scheduler.alpha.kubernetes.io/preferAvoidPods": '{"preferAvoidPods": [{"podSignature": 1}]}'
                }
            }
        },
        [
            "metadata.annotations.AvoidPods: Invalid value: "
            '"scheduler.alpha.kubernetes.io/preferAvoidPods": json: cannot unmarshal the '
            "value into the annotation's Go type",
        ],
    ),
    "avoided pods that are no JSON": (
        {"metadata": {"annotations": {"scheduler.alpha.kubernetes.io/preferAvoidPods": "x"}}},
        [
            "metadata.annotations.AvoidPods: Invalid value: "
            "\"scheduler.alpha.kubernetes.io/preferAvoidPods\": invalid character 'x' looking "
            "for beginning of value",
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


CONFIG = {"namespace": "n", "name": "m", "kubeletConfigKey": "k"}
KNOWN = {"uid": "u", "resourceVersion": "1"}


def test_configuration_is_named_in_the_spec_and_known_in_the_status(updated: Any) -> None:
    def errors(where: str, source: Any) -> list[str]:
        config = {"configSource": source} if where == "spec" else {"config": {"active": source}}
        found: list[str] = updated("", "Node", NODE, {where: config})
        return found

    assert errors("spec", {"configMap": CONFIG}) == []
    assert errors("spec", {"configMap": {**CONFIG, **KNOWN}}) == [
        f"spec.configSource.configMap.{field}: Forbidden: {field} must not be set in spec" for field in KNOWN
    ]
    assert errors("spec", {})[0].endswith("exactly one reference subfield must be non-nil")
    assert errors("status", {"configMap": {**CONFIG, **KNOWN}}) == []
    assert errors("status", {"configMap": CONFIG}) == [
        f"status.config.active.configMap.{field}: Required value" for field in KNOWN
    ]
