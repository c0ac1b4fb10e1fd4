"""Which nodes pods want."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.objects.node_selection import node_affinity_of

Object = dict[str, Any]


def affinity(*terms: Object) -> Object:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


@pytest.mark.parametrize(
    ("spec", "selected"),
    [
        ({}, True),
        ({"nodeSelector": {"zone": "a"}}, True),
        ({"affinity": affinity({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]})}, True),
        ({"affinity": affinity({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]})}, False),
        ({"affinity": affinity({"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["4"]}]})}, True),
        ({"affinity": affinity({"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]})}, True),
        ({"affinity": affinity({"matchExpressions": [{"key": "x", "operator": "Like", "values": ["a"]}]})}, False),
        ({"affinity": affinity({})}, False),
        ({"affinity": affinity({}, {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]})}, True),
    ],
)  # fmt: skip
def test_which_node_a_pod_wants(spec: Object, selected: bool) -> None:
    assert node_affinity_of(spec).allows("n", {"zone": "a", "cores": "8"}) is selected
