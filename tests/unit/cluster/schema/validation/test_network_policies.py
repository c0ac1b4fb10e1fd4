"""NetworkPolicies."""

from __future__ import annotations

from typing import Any

import pytest

GROUP = "networking.k8s.io"
POLICY: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "default", "resourceVersion": "1"},
    "spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
}


def ingress(**fields: Any) -> dict[str, Any]:
    return {"spec": {"ingress": [fields]}}


def block(cidr: str, *holes: str) -> dict[str, Any]:
    return {"ipBlock": {"cidr": cidr, "except": list(holes)}}


PORT = "spec.ingress[0].ports[0]"
PEER = "spec.ingress[0].from[0]"
POLICIES = {
    "valid": (
        ingress(
            ports=[{"protocol": "TCP", "port": 80, "endPort": 90}, {"port": "http"}],
            **{"from": [block("10.0.0.0/8", "10.1.0.0/16"), {"podSelector": {}, "namespaceSelector": {}}]},
        ),
        [],
    ),
    "unknown protocol": (
        ingress(ports=[{"protocol": "ICMP"}]),
        [f'{PORT}.protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"'],
    ),
    "range turned around": (
        ingress(ports=[{"port": 80, "endPort": 70}]),
        [f"{PORT}.endPort: Invalid value: 70: must be greater than or equal to `port`"],
    ),
    "range from a name": (
        ingress(ports=[{"port": "http", "endPort": 90}]),
        [f"{PORT}.endPort: Invalid value: 90: may not be specified when `port` is non-numeric"],
    ),
    "range from nowhere": (
        ingress(ports=[{"endPort": 90}]),
        [f"{PORT}.endPort: Invalid value: 90: may not be specified when `port` is not specified"],
    ),
    "no peer": (ingress(**{"from": [{}]}), [f"{PEER}: Required value: must specify a peer"]),
    "block and more": (
        ingress(**{"from": [{**block("10.0.0.0/8"), "podSelector": {}}]}),
        [f"{PEER}: Forbidden: may not specify both ipBlock and another peer"],
    ),
    "hole outside": (
        ingress(**{"from": [block("10.0.0.0/8", "11.0.0.0/16", "10.0.0.0/8", "fd00::/8")]}),
        [
            f'{PEER}.ipBlock.except[{index}]: Invalid value: "{hole}": must be a strict subset of `cidr`'
            for index, hole in enumerate(["11.0.0.0/16", "10.0.0.0/8", "fd00::/8"])
        ],
    ),
    "empty block is told last": (
        {
            "spec": {
                "egress": [{"to": [block("")]}],
                "policyTypes": ["Sideways"],
            }
        },
        [
            'spec.policyTypes[0]: Unsupported value: "Sideways": supported values: "Ingress", "Egress"',
            "spec.egress[0].to[0].ipBlock.cidr: Required value",
        ],
    ),
    "too many types": (
        {"spec": {"policyTypes": ["Ingress", "Egress", "Egress"]}},
        [
            'spec.policyTypes: Invalid value: ["Ingress","Egress","Egress"]: '
            "may not specify more than two policyTypes"
        ],
    ),
    "odd selector": (
        {"spec": {"podSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}},
        [
            "spec.podSelector.matchExpressions[0].values: Required value: "
            "must be specified when `operator` is 'In' or 'NotIn'"
        ],
    ),
}


@pytest.mark.parametrize("patch, expected", POLICIES.values(), ids=POLICIES)
def test_policy_is_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created(GROUP, "NetworkPolicy", POLICY, patch) == expected


def test_odd_blocks_of_old_may_move_but_not_come(updated: Any) -> None:
    old = {**POLICY, "spec": {**POLICY["spec"], **ingress(**{"from": [block("10.0.0.1/8")]})["spec"]}}
    moved = {"spec": {"ingress": None, "egress": [{"to": [block("10.0.0.1/8")]}]}}
    assert updated(GROUP, "NetworkPolicy", old, moved) == []
    assert updated(GROUP, "NetworkPolicy", POLICY, moved) == [
        'spec.egress[0].to[0].ipBlock.cidr: Invalid value: "10.0.0.1/8": '
        "must not have bits set beyond the prefix length"
    ]


def test_odd_exceptions_and_labels_of_old_may_stay(updated: Any) -> None:
    label = {"metadata": {"labels": {"a": "b"}}}
    holes = {
        **POLICY,
        "spec": {**POLICY["spec"], **ingress(**{"from": [block("10.0.0.0/8", "10.1.0.1/16")]})["spec"]},
    }
    assert updated(GROUP, "NetworkPolicy", holes, label) == []
    assert updated(GROUP, "NetworkPolicy", POLICY, {"spec": holes["spec"]}) != []
    odd = {"podSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x y"]}]}}
    labelled = {**POLICY, "spec": {**POLICY["spec"], **odd}}
    assert updated(GROUP, "NetworkPolicy", labelled, label) == []
    assert updated(GROUP, "NetworkPolicy", POLICY, {"spec": odd}) != []
