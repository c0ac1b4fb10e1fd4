"""What the simulated engine knows again from a pod's status."""

from __future__ import annotations

from typing import Any

from steersman.cluster.node.cri import ContainerState
from steersman.cluster.node.simulated.recovery import recovered

RUNNING: dict[str, Any] = {
    "name": "a",
    "image": "app:1",
    "imageID": "app@sha256:1",
    "containerID": "simulated://one",
    "restartCount": 2,
    "state": {"running": {"startedAt": "2026-01-01T00:00:10Z"}},
    "lastState": {},
}
ENDED: dict[str, Any] = {
    **RUNNING,
    "name": "b",
    "containerID": "simulated://two",
    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    "lastState": {"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": "2026-01-01T00:00:20Z"}},
}


def pod(*statuses: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"uid": "u"},
        "spec": spec,
        "status": {"podIPs": [{"ip": "10.0.0.1"}], "containerStatuses": list(statuses)},
    }


def test_running_and_ended_containers_are_known_again() -> None:
    found = recovered(pod(RUNNING, ENDED), "simulated")
    assert found is not None
    sandbox, (ended, running) = found
    assert (sandbox.ready, sandbox.ips) == (True, ("10.0.0.1",))
    assert (running.id, running.state, running.attempt) == ("one", ContainerState.RUNNING, 2)
    assert (ended.id, ended.state, ended.exit_code, ended.reason) == (
        "two",
        ContainerState.EXITED,
        3,
        "Error",
    )
    assert ended.finished_at - running.started_at == 10


def test_what_another_runtime_ran_is_not_known() -> None:
    assert recovered(pod({**RUNNING, "containerID": "containerd://one"}), "simulated") is None
    assert recovered(pod({"name": "a", "state": {"waiting": {}}}), "simulated") is None
    assert recovered({"metadata": {"uid": "u"}, "spec": {}}, "simulated") is None


def test_a_pod_on_the_host_network_has_no_address_of_its_own() -> None:
    found = recovered(pod(RUNNING, hostNetwork=True), "simulated")
    assert found is not None
    assert found[0].ips == ()
