"""Versions that Kubernetes knows and does not serve."""

from __future__ import annotations

import pytest

from steersman.cluster.schema.former_versions import current_kind
from steersman.cluster.schema.resources import GVK


@pytest.mark.parametrize(
    ("asked", "current"),
    [
        (GVK("apps", "v1beta1", "Deployment"), GVK("apps", "v1", "Deployment")),
        (GVK("apps", "v1beta1", "DaemonSet"), GVK("apps", "v1beta1", "DaemonSet")),
        (GVK("extensions", "v1beta1", "Deployment"), GVK("apps", "v1", "Deployment")),
        (GVK("extensions", "v1beta1", "Ingress"), GVK("networking.k8s.io", "v1", "Ingress")),
        (GVK("policy", "v1beta1", "PodDisruptionBudget"), GVK("policy", "v1", "PodDisruptionBudget")),
        (GVK("policy", "v1beta1", "Eviction"), GVK("policy", "v1", "Eviction")),
        (GVK("policy", "v1beta1", "PodSecurityPolicy"), GVK("policy", "v1beta1", "PodSecurityPolicy")),
        (GVK("", "v1", "Pod"), GVK("", "v1", "Pod")),
    ],
)
def test_what_is_served_instead(asked: GVK, current: GVK) -> None:
    assert current_kind(asked) == current
