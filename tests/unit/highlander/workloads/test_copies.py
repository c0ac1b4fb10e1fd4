"""What proves that a copy does not run any more, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.highlander.state import WorkloadKind
from steersman.highlander.workloads.copies import is_living, pod_view
from steersman.highlander.workloads.ownership import WorkloadKey

KEY = WorkloadKey(WorkloadKind.PROCESS, "ns", "w")


def pod(phase: str = "", *, ending: bool = False, **status: Any) -> dict[str, Any]:
    metadata = {"name": "w-pod", "namespace": "ns", **({"deletionTimestamp": "t"} if ending else {})}
    return {"metadata": metadata, "status": {**({"phase": phase} if phase else {}), **status}}


ENDED = {"name": "w", "state": {"terminated": {"exitCode": 1}}}
RUNS = {"name": "w", "state": {"running": {}}}
COLLECTED = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC"}


@pytest.mark.parametrize(
    ("given", "lives"),
    [
        pytest.param(pod(), True, id="no-status-yet"),
        pytest.param(pod("Pending"), True, id="pending"),
        pytest.param(pod("Running", containerStatuses=[RUNS]), True, id="running"),
        pytest.param(pod("Running", ending=True), True, id="asked-to-end"),
        pytest.param(pod("Unknown", ending=True), True, id="silent-node"),
        pytest.param(pod("Succeeded", containerStatuses=[ENDED]), False, id="succeeded"),
        pytest.param(pod("Failed", containerStatuses=[ENDED]), False, id="failed"),
        pytest.param(pod("Failed", containerStatuses=[ENDED, RUNS]), True, id="a-container-still-runs"),
        pytest.param(pod("Failed", conditions=[COLLECTED]), True, id="garbage-collected-pod-of-a-lost-node"),
    ],
)
def test_living(given: dict[str, Any], lives: bool) -> None:
    assert is_living(given) is lives


def test_a_pod_that_ends_is_shown_so() -> None:
    assert pod_view(pod("Running", ending=True), KEY).phase == "Terminating"


def test_why_a_pod_failed_is_shown() -> None:
    assert pod_view(pod("Failed", containerStatuses=[ENDED]), KEY).reason == "w: Error, exit code 1"
