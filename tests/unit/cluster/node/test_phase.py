"""The phase of a pod, from the statuses of its containers."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.node.phase import pod_phase

Object = dict[str, Any]

RUNNING: Object = {"state": {"running": {}}, "started": True}
UNSTARTED: Object = {"state": {"running": {}}, "started": False}
WAITING: Object = {"state": {"waiting": {"reason": "ContainerCreating"}}}


def ended(code: int) -> Object:
    return {"state": {"terminated": {"exitCode": code}}}


def waiting_after(code: int) -> Object:
    return {"state": {"waiting": {}}, "lastState": {"terminated": {"exitCode": code}}}


CASES: dict[str, tuple[str, Object, list[Object], str]] = {
    "nothing is known": ("Always", {}, [], "Pending"),
    "not started yet": ("Always", {"a": WAITING}, [], "Pending"),
    "one of two is not started": ("Always", {"a": RUNNING, "b": WAITING}, [], "Pending"),
    "one of two is unknown": ("Always", {"a": RUNNING, "b": None}, [], "Pending"),
    "all run": ("Always", {"a": RUNNING, "b": RUNNING}, [], "Running"),
    "one ended, one runs": ("Never", {"a": ended(1), "b": RUNNING}, [], "Running"),
    "restarted always": ("Always", {"a": ended(0)}, [], "Running"),
    "in back-off": ("Always", {"a": waiting_after(1)}, [], "Running"),
    "restarted on failure": ("OnFailure", {"a": ended(1)}, [], "Running"),
    "succeeded": ("OnFailure", {"a": ended(0)}, [], "Succeeded"),
    "failed for good": ("Never", {"a": ended(0), "b": ended(2)}, [], "Failed"),
    "init container runs": ("Always", {"a": WAITING, "i": RUNNING}, [{"name": "i"}], "Pending"),
    "init container waits": ("Always", {"a": WAITING, "i": WAITING}, [{"name": "i"}], "Pending"),
    "init container failed for good": ("Never", {"a": WAITING, "i": ended(1)}, [{"name": "i"}], "Failed"),
    "init container fails and is retried": (
        "Always",
        {"a": WAITING, "i": ended(1)},
        [{"name": "i"}],
        "Pending",
    ),
    "init container done": ("Always", {"a": RUNNING, "i": ended(0)}, [{"name": "i"}], "Running"),
    "sidecar not started": (
        "Always",
        {"a": WAITING, "s": UNSTARTED},
        [{"name": "s", "restartPolicy": "Always"}],
        "Pending",
    ),
    "sidecar runs": (
        "Never",
        {"a": RUNNING, "s": RUNNING},
        [{"name": "s", "restartPolicy": "Always"}],
        "Running",
    ),
    "sidecar outlives the work": (
        "Never",
        {"a": ended(0), "s": RUNNING},
        [{"name": "s", "restartPolicy": "Always"}],
        "Running",
    ),
    "sidecar ended with the work": (
        "Never",
        {"a": ended(0), "s": ended(137)},
        [{"name": "s", "restartPolicy": "Always"}],
        "Succeeded",
    ),
    "a rule restarts this exit code": ("Never", {"rule": ended(42)}, [], "Running"),
    "a rule does not restart another": ("Never", {"rule": ended(43)}, [], "Failed"),
}

RULE: Object = {
    "name": "rule",
    "restartPolicy": "Never",
    "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}],
}


def _spec(policy: str, statuses: Object, init: list[Object]) -> Object:
    inits = {one["name"] for one in init}
    containers = [RULE if name == "rule" else {"name": name} for name in statuses if name not in inits]
    return {"restartPolicy": policy, "containers": containers or [{"name": "a"}], "initContainers": init}


@pytest.mark.parametrize(("policy", "statuses", "init", "phase"), CASES.values(), ids=CASES.keys())
def test_the_phase_of_a_pod(policy: str, statuses: Object, init: list[Object], phase: str) -> None:
    known = [{"name": name, **status} for name, status in statuses.items() if status is not None]
    assert pod_phase(_spec(policy, statuses, init), known) == phase


@pytest.mark.parametrize(("code", "phase"), [(0, "Succeeded"), (143, "Failed")])
def test_a_pod_that_is_to_end_is_not_restarted(code: int, phase: str) -> None:
    spec = _spec("Always", {"a": None}, [])
    assert pod_phase(spec, [{"name": "a", **ended(code)}], ending=True) == phase


def test_a_restarting_sidecar_does_not_make_a_pod_pending_again() -> None:
    spec = _spec("Always", {"a": RUNNING}, [{"name": "s", "restartPolicy": "Always"}])
    statuses = [{"name": "a", **RUNNING}, {"name": "s", **UNSTARTED}]
    assert pod_phase(spec, statuses, initialized=True) == "Running"
    assert pod_phase(spec, statuses) == "Pending"
