"""The status that a node reports of a pod, and the patch that makes the API's status so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from steersman.cluster.node.container_statuses import ObservedPod, time_text
from steersman.cluster.node.health import ContainerHealth
from steersman.cluster.node.pod_status import (
    NodeTermination,
    final_status,
    pod_status,
    rejected_status,
    status_patch,
)
from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.shapes import schema_of
from steersman.objects.conditions import find_condition
from steersman.objects.patches import strategic

from .views import NOW, SANDBOX, container, pod, view

Object = dict[str, Any]

UNREADY = ContainerHealth(started=True, ready=False)


def status(known: ObservedPod, old: Object | None = None, **more: Any) -> Object:
    return pod_status(
        known, known.pod["status"] if old is None else old, host_ips=("172.18.0.2",), now=NOW, **more
    )


def first(status: Object) -> Object:
    found: Object = status["containerStatuses"][0]
    return found


def condition(status: Object, kind: str) -> Object:
    found = find_condition(status["conditions"], kind)
    assert found is not None
    return dict(found)


# --- containers


def test_a_pod_that_was_just_taken() -> None:
    made = status(view(pod("b", "a"), sandboxes=()))
    assert made["phase"] == "Pending"
    assert [one["name"] for one in made["containerStatuses"]] == ["a", "b"]
    assert first(made)["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert (first(made)["image"], first(made)["imageID"], first(made)["started"]) == ("app:1", "", False)
    sandbox = condition(made, "PodReadyToStartContainers")
    assert (sandbox["status"], sandbox["reason"], sandbox["message"]) == (
        "False",
        "PodSandboxNotReady",
        "no pod sandbox exists",
    )
    assert condition(made, "Ready")["message"] == "containers with unready status: [b a]"
    assert "podIP" not in made
    assert made["observedGeneration"] == 3


def test_a_running_container() -> None:
    made = first(status(view(pod("a"), container("a"))))
    assert made["state"] == {"running": {"startedAt": time_text(100)}}
    assert made["containerID"] == "simulated://a-0"
    assert made["lastState"] == {}
    assert (made["ready"], made["started"]) == (True, True)


def test_a_restarted_container_tells_how_it_ended_before() -> None:
    made = first(status(view(pod("a"), container("a", attempt=1), container("a", "exited", 3))))
    assert made["restartCount"] == 1
    assert made["lastState"]["terminated"] == {
        "exitCode": 3,
        "reason": "Error",
        "startedAt": time_text(100),
        "finishedAt": time_text(101),
        "containerID": "simulated://a-0",
    }


def test_a_container_that_cannot_be_started_says_why() -> None:
    reasons = {"a": ("CrashLoopBackOff", "back-off 10s …")}
    made = first(status(view(pod("a"), container("a", "exited", 1), reasons=reasons)))
    assert made["state"] == {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s …"}}
    assert made["lastState"]["terminated"]["exitCode"] == 1


def test_why_a_container_does_not_start_is_no_news_once_it_is_not_to_start() -> None:
    known = view(pod("a", restartPolicy="Never"), container("a", "exited", 1), reasons={"a": ("Old", "")})
    assert "terminated" in first(status(known))["state"]


def test_a_container_that_the_runtime_lost_counts_as_ended() -> None:
    before = status(view(pod("a"), container("a")))
    made = first(status(view(pod("a")), before))
    assert made["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert made["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"
    assert made["restartCount"] == 1


def test_mounts_are_told() -> None:
    known = pod("a")
    known["spec"]["containers"][0]["volumeMounts"] = [
        {"name": "v", "mountPath": "/v", "readOnly": True},
        {"name": "w", "mountPath": "/w"},
    ]
    assert first(status(view(known)))["volumeMounts"] == [
        {"name": "v", "mountPath": "/v", "readOnly": True, "recursiveReadOnly": "Disabled"},
        {"name": "w", "mountPath": "/w"},
    ]


def test_an_init_container_that_nobody_saw_end_was_fine_if_the_pod_runs() -> None:
    made = status(view(pod("a", init=("i",)), container("a")))
    assert made["phase"] == "Running"
    ended = made["initContainerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (0, "Completed")


# --- the whole


def test_a_pod_that_is_over_has_no_sandbox_to_start_containers_in() -> None:
    stopped = (replace(SANDBOX, ready=False),)
    made = status(
        view(pod("a", restartPolicy="Never"), container("a", "exited"), sandboxes=stopped), over=True
    )
    assert condition(made, "PodReadyToStartContainers")["message"] == "pod sandbox is not ready"
    assert made["podIP"] == "10.0.0.1"


def test_readiness_follows_probes() -> None:
    made = status(view(pod("a"), container("a"), health={"a": UNREADY}))
    assert made["phase"] == "Running"
    assert condition(made, "Ready")["reason"] == "ContainersNotReady"
    assert condition(made, "Initialized")["status"] == "True"


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    old = status(view(pod("a"), container("a"), health={"a": UNREADY}))
    for one in old["conditions"]:
        one["lastTransitionTime"] = "2025-01-01T00:00:00Z"
    made = status(view(pod("a"), container("a")), old)
    assert condition(made, "Initialized")["lastTransitionTime"] == "2025-01-01T00:00:00Z"
    assert condition(made, "Ready")["lastTransitionTime"] == NOW


def test_host_network_pods_have_the_addresses_of_their_node() -> None:
    known = view(pod("a", hostNetwork=True), container("a"), sandboxes=(replace(SANDBOX, ips=()),))
    assert status(known)["podIPs"] == [{"ip": "172.18.0.2"}]


def test_a_pod_is_not_over_before_its_node_says_so() -> None:
    known = view(
        pod("a", init=("s",), sidecars=("s",), restartPolicy="Never"),
        container("a", "exited"),
        container("s"),
    )
    assert status(known, {"phase": "Running"})["phase"] == "Running"
    stopped = view(known.pod, container("s", "exited", 137), container("a", "exited"))
    # Until the node has let go of it, nobody may be given its place.
    assert status(stopped, {"phase": "Running"})["phase"] == "Running"
    made = status(stopped, {"phase": "Running"}, over=True)
    assert made["phase"] == "Succeeded"
    assert condition(made, "Ready")["reason"] == "PodCompleted"


def test_a_phase_that_is_final_stays() -> None:
    old = {"phase": "Failed", "reason": "Evicted", "message": "no room"}
    made = status(view(pod("a"), container("a")), old)
    assert (made["phase"], made["reason"], made["message"]) == ("Failed", "Evicted", "no room")


def test_a_node_may_end_a_pod() -> None:
    known = view(pod("a"), container("a", "exited", 137))
    ending = NodeTermination("Evicted", "The node was low on resource: memory. ", disruption=True)
    assert status(known, {"phase": "Running"}, ending=ending)["phase"] == "Running"
    made = status(known, {"phase": "Running"}, ending=ending, over=True)
    assert (made["phase"], made["reason"]) == ("Failed", "Evicted")
    assert condition(made, "DisruptionTarget")["reason"] == "TerminationByKubelet"


def test_a_refused_pod() -> None:
    made = rejected_status(pod("a"), "OutOfcpu", "no CPU", NOW)
    assert made == {
        "phase": "Failed",
        "reason": "OutOfcpu",
        "message": "Pod was rejected: no CPU",
        "qosClass": "BestEffort",
        "startTime": NOW,
        "observedGeneration": 3,
        "conditions": [],
    }


# --- the last word


def test_what_never_ran_ended_somehow() -> None:
    known = pod("a")
    made = final_status(known, status(view(known)))
    assert made["phase"] == "Failed"
    assert first(made)["state"]["terminated"] == {
        "reason": "ContainerStatusUnknown",
        "message": "The container could not be located when the pod was terminated",
        "exitCode": 137,
    }


def test_containers_that_waited_for_init_containers_never_ran() -> None:
    known = pod("a", init=("i", "j"))
    known["status"] = status(view(known))
    made = final_status(known, known["status"])
    assert "waiting" in first(made)["state"]
    assert [list(one["state"]) for one in made["initContainerStatuses"]] == [["terminated"], ["waiting"]]


def test_a_pod_that_succeeded_stays_so() -> None:
    known = pod("a", restartPolicy="Never")
    made = status(view(known, container("a", "exited")), over=True)
    assert final_status(known, made) == made


# --- patches

FOREIGN = {"type": "example.com/warm", "status": "True", "lastProbeTime": None}


def test_nothing_is_sent_when_nothing_changed() -> None:
    made = status(view(pod("a"), container("a")))
    shown = {
        **made,
        "conditions": [FOREIGN, *({**one, "lastProbeTime": None} for one in made["conditions"])],
        "containerStatuses": [{**first(made), "state": {"running": {"startedAt": time_text(100)}}}],
    }
    assert status_patch(shown, made) == {}


@pytest.mark.parametrize(
    "old",
    [
        {},
        {"phase": "Pending", "conditions": [FOREIGN, {"type": "PodScheduled", "status": "True"}]},
        {"podIP": "10.9.9.9", "podIPs": [{"ip": "10.9.9.9"}], "reason": "Gone", "conditions": []},
        {
            "conditions": [
                {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "x"}
            ]
        },
    ],
    ids=["blank", "bound", "another address", "not ready"],
)
def test_a_patch_makes_the_status_what_it_is(old: Object) -> None:
    made = status(view(pod("a"), container("a")))
    patch = {"status": status_patch(old, made)}
    patched = strategic.apply({"status": old}, patch, schema_of(GVK("", "v1", "Pod")))["status"]
    foreign = [one for one in old.get("conditions") or () if one["type"] == FOREIGN["type"]]
    assert patched["conditions"] == [*foreign, *made["conditions"]]
    assert {**patched, "conditions": None} == {**made, "conditions": None}
