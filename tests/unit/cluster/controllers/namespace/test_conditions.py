"""What a namespace's status tells about its end."""

from __future__ import annotations

from collections import Counter

import pytest

from steersman.cluster.controllers.namespace.conditions import RemainingContent, conditions_of
from steersman.objects.resources import DEPLOYMENTS, PODS

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
TYPES = [
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
    "NamespaceContentRemaining",
    "NamespaceFinalizersRemaining",
]


@pytest.mark.parametrize(
    ("findings", "kind", "reason", "message"),
    [
        pytest.param(
            RemainingContent(stale=["metrics.k8s.io/v1beta1"]),
            "NamespaceDeletionDiscoveryFailure",
            "DiscoveryFailed",
            "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: "
            "metrics.k8s.io/v1beta1: stale GroupVersion discovery: metrics.k8s.io/v1beta1",
            id="stale",
        ),
        pytest.param(
            RemainingContent(undiscovered="no route"),
            "NamespaceDeletionDiscoveryFailure",
            "DiscoveryFailed",
            "no route",
            id="undiscovered",
        ),
        pytest.param(
            RemainingContent(failures=["b", "a"]),
            "NamespaceDeletionContentFailure",
            "ContentDeletionFailed",
            "Failed to delete all resource types, 2 remaining: a, b",
            id="failures",
        ),
        pytest.param(
            RemainingContent(remaining={PODS: 2, DEPLOYMENTS: 1}),
            "NamespaceContentRemaining",
            "SomeResourcesRemain",
            "Some resources are remaining: deployments.apps has 1 resource instances, "
            "pods. has 2 resource instances",
            id="remaining",
        ),
        pytest.param(
            RemainingContent(finalizers=Counter({"x/b": 1, "x/a": 3})),
            "NamespaceFinalizersRemaining",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: x/a in 3 resource instances, "
            "x/b in 1 resource instances",
            id="finalizers",
        ),
    ],
)
def test_each_trouble_has_its_condition(
    findings: RemainingContent, kind: str, reason: str, message: str
) -> None:
    conditions = conditions_of(findings, None, NOW)
    assert [one["type"] for one in conditions] == TYPES
    troubles = [one for one in conditions if one["status"] == "True"]
    assert [(one["type"], one["reason"], one["message"]) for one in troubles] == [(kind, reason, message)]


def test_times_move_with_the_status_and_nothing_new_is_nothing() -> None:
    first = conditions_of(RemainingContent(remaining={PODS: 2}), None, NOW)
    assert conditions_of(RemainingContent(remaining={PODS: 2}), first, LATER) is first
    fewer = conditions_of(RemainingContent(remaining={PODS: 1}), first, LATER)
    assert fewer[3]["message"] == "Some resources are remaining: pods. has 1 resource instances"
    assert {one["lastTransitionTime"] for one in fewer} == {NOW}
    done = conditions_of(RemainingContent(), fewer, LATER)
    assert [one["lastTransitionTime"] for one in done] == [NOW, NOW, NOW, LATER, NOW]
