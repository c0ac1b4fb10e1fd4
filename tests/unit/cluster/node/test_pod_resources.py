"""What a pod as a whole is expected to have."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.node.pod_resources import allocated_resources


def container(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None) -> dict[str, Any]:
    return {"resources": {"requests": requests or {}, "limits": limits or {}}}


GUARANTEED = {"cpu": "100m", "memory": "64Mi"}


@pytest.mark.parametrize(
    ("spec", "phase", "expected"),
    [
        pytest.param({"containers": [{}]}, "Running", {"resources": {}}, id="nothing asked for"),
        pytest.param(
            {"containers": [container(GUARANTEED, GUARANTEED)]},
            "Running",
            {"allocatedResources": GUARANTEED, "resources": {"requests": GUARANTEED, "limits": GUARANTEED}},
            id="guaranteed",
        ),
        pytest.param(
            {"containers": [container({"cpu": "1"}, {"cpu": "2"}), container({"cpu": "500m"})]},
            "Running",
            {"allocatedResources": {"cpu": "1500m"}, "resources": {"requests": {"cpu": "1500m"}}},
            id="one is not limited",
        ),
        pytest.param(
            {"containers": [container({"cpu": "1"}, {"cpu": "2"}), container({"cpu": "500m"})]},
            "Pending",
            {
                "allocatedResources": {"cpu": "1500m"},
                "resources": {"requests": {"cpu": "1500m"}, "limits": {"cpu": "2"}},
            },
            id="not in force yet",
        ),
        pytest.param(
            {"containers": [container({"ephemeral-storage": "1Gi"})]},
            "Running",
            {"allocatedResources": {"ephemeral-storage": "1Gi"}, "resources": {}},
            id="no matter of cgroups",
        ),
        pytest.param(
            {"containers": [container()], "resources": {"requests": {"cpu": "3"}, "limits": {"cpu": "4"}}},
            "Running",
            {
                "allocatedResources": {"cpu": "3"},
                "resources": {"requests": {"cpu": "3"}, "limits": {"cpu": "4"}},
            },
            id="of the pod itself",
        ),
    ],
)
def test_resources(spec: dict[str, Any], phase: str, expected: dict[str, Any]) -> None:
    assert allocated_resources(spec, phase) == expected
