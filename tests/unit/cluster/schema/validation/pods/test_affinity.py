"""Where pods may run: affinity, tolerations, topology."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Object = dict[str, Any]
Errors = Callable[[Object], list[str]]


def preferring(**term: Any) -> Object:
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}}


def requiring(**term: Any) -> Object:
    selector = {"nodeSelectorTerms": [term]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}}


def near(**term: Any) -> Object:
    terms = [{"topologyKey": "zone", **term}]
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def spread(**fields: Any) -> Object:
    base = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**base, **fields}]}


CASES: dict[str, tuple[Object, list[str]]] = {
    "preference": (
        preferring(
            weight=1,
            preference={"matchExpressions": [{"key": "a", "operator": "In", "values": ["any value"]}]},
        ),
        [],
    ),
    "preference of a wrong key": (
        preferring(weight=1, preference={"matchExpressions": [{"key": "-", "operator": "Exists"}]}),
        [
            "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]."
            'preference.matchExpressions[0].key: Invalid value: "-": name part must consist '
            "of alphanumeric characters, '-', '_' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used "
            "for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ],
    ),
    "preference without weight": (
        preferring(preference={}),
        [
            "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
            "Invalid value: 0: must be in the range 1-100",
        ],
    ),
    "label value": (
        requiring(matchExpressions=[{"key": "a", "operator": "In", "values": ["any value"]}]),
        [
            "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            'nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "any value": '
            "a valid label must be an empty string or consist of alphanumeric characters, "
            "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
            "'MyValue',  or 'my_value',  or '12345', regex used for validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ],
    ),
    "values of what exists": (
        requiring(matchExpressions=[{"key": "a", "operator": "Exists", "values": ["b"]}]),
        [
            "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            "nodeSelectorTerms[0].matchExpressions[0].values: Forbidden: may not be specified "
            "when `operator` is 'Exists' or 'DoesNotExist'",
        ],
    ),
    "no values": (
        requiring(matchExpressions=[{"key": "a", "operator": "NotIn"}]),
        [
            "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            "nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be "
            "specified when `operator` is 'In' or 'NotIn'",
        ],
    ),
    "one bound": (requiring(matchExpressions=[{"key": "a", "operator": "Gt", "values": ["1"]}]), []),
    "two bounds": (
        requiring(matchExpressions=[{"key": "a", "operator": "Gt", "values": ["1", "2"]}]),
        [
            "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            "nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be "
            "specified single value when `operator` is 'Lt' or 'Gt'",
        ],
    ),
    "operator": (
        requiring(matchExpressions=[{"key": "a", "operator": "Like"}]),
        [
            "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            'nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: "Like": not a '
            "valid selector operator",
        ],
    ),
    "node by name": (
        requiring(matchFields=[{"key": "metadata.name", "operator": "In", "values": ["n"]}]),
        [],
    ),
    "nodes by name": (
        requiring(matchFields=[{"key": "metadata.name", "operator": "In", "values": ["n", "m"]}]),
        [
            "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            "nodeSelectorTerms[0].matchFields[0].values: Required value: must be only one "
            "value when `operator` is 'In' or 'NotIn' for node field selector",
        ],
    ),
    "node of no name": (
        requiring(matchFields=[{"key": "metadata.name", "operator": "NotIn"}]),
        [
            "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            "nodeSelectorTerms[0].matchFields[0].values: Required value: must be only one "
            "value when `operator` is 'In' or 'NotIn' for node field selector",
        ],
    ),
    "node of a wrong name": (
        requiring(matchFields=[{"key": "metadata.name", "operator": "In", "values": ["N_"]}]),
        [
            "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            'nodeSelectorTerms[0].matchFields[0].values[0]: Invalid value: "N_": a lowercase '
            "RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
            "'.', and must start and end with an alphanumeric character (e.g. 'example.com', "
            "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\."
            "[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ],
    ),
    "node by another field": (
        requiring(matchFields=[{"key": "metadata.uid", "operator": "Exists", "values": ["n"]}]),
        [
            "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            'nodeSelectorTerms[0].matchFields[0].operator: Invalid value: "Exists": not a '
            "valid selector operator",
            "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            'nodeSelectorTerms[0].matchFields[0].key: Invalid value: "metadata.uid": not a '
            "valid field selector key",
        ],
    ),
    "near pods": (
        near(labelSelector={"matchLabels": {"a": "b"}}, matchLabelKeys=["c"], mismatchLabelKeys=["d"]),
        [],
    ),
    "keys without selector": (
        near(matchLabelKeys=["c"], mismatchLabelKeys=["d"]),
        [
            "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]."
            "matchLabelKeys: Forbidden: must not be specified when labelSelector is not set",
            "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]."
            "mismatchLabelKeys: Forbidden: must not be specified when labelSelector is not "
            "set",
        ],
    ),
    "keys of a wrong form": (
        near(labelSelector={}, matchLabelKeys=["-"]),
        [
            "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]."
            'matchLabelKeys[0]: Invalid value: "-": name part must consist of alphanumeric '
            "characters, '-', '_' or '.', and must start and end with an alphanumeric "
            "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
            "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ],
    ),
    "keys that are merged": (
        near(
            labelSelector={"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
            matchLabelKeys=["a"],
        ),
        [],
    ),
    "keys that were there": (
        near(
            labelSelector={
                "matchLabels": {"a": "b"},
                "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}],
            },
            matchLabelKeys=["a"],
        ),
        [
            "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0][0]: "
            'Invalid value: "a": exists in both matchLabelKeys and labelSelector',
        ],
    ),
    "keys both ways": (
        near(labelSelector={}, matchLabelKeys=["a"], mismatchLabelKeys=["a"]),
        [
            "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]."
            'matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and '
            "mismatchLabelKeys",
        ],
    ),
    "other keys": (
        near(
            labelSelector={
                "matchLabels": {"x": "b"},
                "matchExpressions": [{"key": "x", "operator": "Exists"}],
            },
            matchLabelKeys=["a"],
        ),
        [],
    ),
    "toleration of a number": (
        {"tolerations": [{"key": "a", "operator": "Lt", "value": "1"}]},
        [
            'tolerations[0].operator: Unsupported value: "Lt": supported values: "Equal", '
            '"Exists", "Lt", "Gt"',
        ],
    ),
    "toleration of another operator": (
        {"tolerations": [{"key": "a", "operator": "Like", "value": "1"}]},
        [
            'tolerations[0].operator: Unsupported value: "Like": supported values: "Equal", "Exists"',
        ],
    ),
    "toleration of a wrong value": (
        {"tolerations": [{"key": "a", "value": "x y"}]},
        [
            'tolerations[0].operator: Invalid value: "x y": a valid label must be an empty '
            "string or consist of alphanumeric characters, '-', '_' or '.', and must start "
            "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
            "'12345', regex used for validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ],
    ),
    "spread": (spread(nodeAffinityPolicy="Honor", nodeTaintsPolicy="Ignore", minDomains=1), []),
    "spread by other policies": (
        spread(nodeAffinityPolicy="Maybe", nodeTaintsPolicy="Never"),
        [
            'topologySpreadConstraints[0].nodeAffinityPolicy: Unsupported value: "Maybe": '
            'supported values: "Honor", "Ignore"',
            'topologySpreadConstraints[0].nodeTaintsPolicy: Unsupported value: "Never": '
            'supported values: "Honor", "Ignore"',
        ],
    ),
    "spread over few": (
        spread(whenUnsatisfiable="ScheduleAnyway", minDomains=0),
        [
            "topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero",
            "topologySpreadConstraints[0].minDomains: Invalid value: 0: can only use "
            "minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), CASES.values(), ids=CASES)
def test_the_place_of_a_pod_is_judged(spec_errors: Errors, spec: Object, expected: list[str]) -> None:
    assert spec_errors(spec) == expected
