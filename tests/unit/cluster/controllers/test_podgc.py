"""Which pods cannot end by themselves, and which of the ended ones are too many."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from steersman.cluster.controllers.pod_states import PodState
from steersman.cluster.controllers.podgc import excess, verdict_on
from steersman.runtime import Cached

GONE = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}


def node(ready: str, *taints: dict[str, str]) -> Cached:
    conditions = [{"type": "Ready", "status": ready}]
    obj = {"metadata": {"name": "n"}, "spec": {"taints": [*taints]}, "status": {"conditions": conditions}}
    return Cached("", "n", 1, orjson.dumps(obj))


@pytest.mark.parametrize(
    ("deleting", "where", "there", "verdict"),
    [
        pytest.param(False, "", None, None, id="waits for a node"),
        pytest.param(True, "", None, "unscheduled", id="never had a node"),
        pytest.param(False, "n", None, "orphaned", id="node is gone"),
        pytest.param(True, "n", None, "orphaned", id="deleted and node is gone"),
        pytest.param(False, "n", node("True"), None, id="runs"),
        pytest.param(True, "n", node("True", GONE), None, id="tainted but ready"),
        pytest.param(True, "n", node("Unknown"), None, id="not ready"),
        pytest.param(True, "n", node("Unknown", GONE), "out of service", id="out of service"),
        pytest.param(False, "n", node("False", GONE), None, id="out of service but not deleted"),
    ],
)
def test_verdicts(deleting: bool, where: str, there: Cached | None, verdict: str | None) -> None:
    metadata = {"name": "p", **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {})}
    pod = PodState.of({"metadata": metadata, "spec": {"nodeName": where}})
    assert verdict_on(pod, there) == verdict


def ended(name: str, minute: int, **status: str) -> dict[str, Any]:
    created = f"2026-01-01T00:{minute:02}:00Z"
    return {"metadata": {"name": name, "creationTimestamp": created}, "status": {"phase": "Failed", **status}}


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(5, []), (4, []), (3, ["evicted"]), (1, ["evicted", "old-a", "old-b"])],
)
def test_evicted_pods_go_first_then_the_oldest(limit: int, expected: list[str]) -> None:
    pods = [ended("new", 2), ended("old-b", 1), ended("evicted", 3, reason="Evicted"), ended("old-a", 1)]
    assert [pod["metadata"]["name"] for pod in excess(pods, limit)] == expected
