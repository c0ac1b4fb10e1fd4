"""Active, ready, available: what controllers read from a pod."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from steersman.cluster.controllers.pod_states import PodState, matters_to_owner, next_availability_s
from steersman.runtime import Cached
from tests.unit.cluster.controllers.workload_objects import NOW, pod_state


@pytest.mark.parametrize(
    ("pod", "active", "terminating"),
    [
        pytest.param({"phase": "Running"}, True, False, id="running"),
        pytest.param({"phase": "Pending"}, True, False, id="pending"),
        pytest.param({"phase": "Succeeded"}, False, False, id="succeeded"),
        pytest.param({"phase": "Failed"}, False, False, id="failed"),
        pytest.param({"phase": "Running", "deleting": True}, False, True, id="being deleted"),
        pytest.param({"phase": "Failed", "deleting": True}, False, False, id="failed and being deleted"),
    ],
)
def test_what_is_active(pod: dict[str, Any], active: bool, terminating: bool) -> None:
    state = pod_state(**pod)
    assert (state.active, state.terminating) == (active, terminating)


@pytest.mark.parametrize(
    ("ready", "ready_for_s", "min_ready_s", "available"),
    [
        pytest.param(True, 0, 0, True, id="ready is enough"),
        pytest.param(True, 9, 10, False, id="not long enough"),
        pytest.param(True, 10, 10, True, id="just long enough"),
        pytest.param(False, 100, 0, False, id="not ready"),
        pytest.param(False, 100, 10, False, id="not ready for long"),
    ],
)
def test_a_pod_is_available_when_it_was_ready_for_long_enough(
    ready: bool, ready_for_s: float, min_ready_s: int, available: bool
) -> None:
    assert pod_state(ready=ready, ready_for_s=ready_for_s).available(min_ready_s, NOW) is available


def test_a_pod_without_a_transition_time_is_never_available_for_some_time() -> None:
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": None}]
    state = PodState.of({"metadata": {"name": "p"}, "status": {"phase": "Running", "conditions": conditions}})
    assert state.ready
    assert state.available(0, NOW)
    assert not state.available(1, NOW)


def test_the_next_pod_to_become_available_sets_the_time() -> None:
    pods = [
        pod_state(ready_for_s=4),
        pod_state(ready_for_s=7),
        pod_state(ready_for_s=70),
        pod_state(ready=False),
    ]
    assert next_availability_s(pods, 10, NOW) == 3
    assert next_availability_s(pods[2:], 10, NOW) is None
    assert next_availability_s(pods, 0, NOW) is None


def _cached(**changes: Any) -> Cached:
    pod = {
        "metadata": {"name": "p", "uid": "u", "labels": changes.get("labels", {}), "resourceVersion": "1"},
        "spec": {"nodeName": changes.get("node", "")},
        "status": {
            "phase": changes.get("phase", "Pending"),
            "podIP": changes.get("ip", ""),
            "conditions": [{"type": "Ready", "status": changes.get("ready", "False")}],
        },
    }
    return Cached("default", "p", 1, orjson.dumps(pod))


@pytest.mark.parametrize(
    ("change", "matters"),
    [
        pytest.param({"node": "n1"}, False, id="bound"),
        pytest.param({"ip": "10.0.0.1"}, False, id="address"),
        pytest.param({"phase": "Running"}, True, id="phase"),
        pytest.param({"ready": "True"}, True, id="ready"),
        pytest.param({"labels": {"a": "b"}}, True, id="labels"),
    ],
)
def test_owners_hear_only_of_what_they_count(change: dict[str, Any], matters: bool) -> None:
    assert matters_to_owner(_cached(), _cached(**change)) is matters
