from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from steersman.cluster.apiserver.resources.strategies import grace_period_s, strategy_for
from steersman.cluster.apiserver.resources.strategies.pod_resources import default_pod_level_resources

Object = dict[str, Any]
Make = Callable[..., Object]
PODS = strategy_for("", "pods")


def container(requests: Object | None = None, limits: Object | None = None, **more: Any) -> Object:
    resources = {k: v for k, v in (("requests", requests), ("limits", limits)) if v}
    return {"name": "c", "image": "i", "resources": resources} | more


def test_pod_level_requests_come_from_the_containers_that_run_together() -> None:
    spec = {
        "resources": {"limits": {"cpu": "4"}},
        "initContainers": [
            container({"cpu": "1"}, restartPolicy="Always"),
            container({"cpu": "3", "memory": "1Gi"}),
        ],
        "containers": [container({"cpu": "500m", "memory": "256Mi"}), container({"cpu": "500m"})],
    }
    default_pod_level_resources(spec)
    assert spec["resources"] == {"limits": {"cpu": "4"}, "requests": {"cpu": "4", "memory": "1Gi"}}


def test_pod_level_limits_need_a_limit_in_every_container() -> None:
    spec = {
        "resources": {"requests": {"cpu": "3", "memory": "1"}},
        "containers": [
            container(limits={"cpu": "1", "memory": "1"}),
            container(limits={"cpu": "1"}),
        ],
    }
    default_pod_level_resources(spec)
    assert spec["resources"]["limits"] == {"cpu": "3"}


def test_a_pod_with_gates_says_why_it_is_not_scheduled(make: Make) -> None:
    pod = make("v1", "Pod", spec={"schedulingGates": [{"name": "g"}]}, status={"phase": "Running"})
    PODS.prepare_create(pod)
    assert pod["status"]["phase"] == "Pending"
    (condition,) = pod["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "PodScheduled",
        "False",
        "SchedulingGated",
    )


def test_label_keys_become_requirements(make: Make) -> None:
    term = {
        "topologyKey": "t",
        "labelSelector": {},
        "matchLabelKeys": ["a", "missing"],
        "mismatchLabelKeys": ["b"],
    }
    pod = make(
        "v1",
        "Pod",
        {"labels": {"a": "1", "b": "2"}},
        spec={"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}},
    )
    PODS.prepare_create(pod)
    (prepared,) = pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert prepared["labelSelector"]["matchExpressions"] == [
        {"key": "a", "operator": "In", "values": ["1"]},
        {"key": "b", "operator": "NotIn", "values": ["2"]},
    ]


def test_an_app_armor_annotation_becomes_the_field_with_a_warning(make: Make) -> None:
    key = "container.apparmor.security.beta.kubernetes.io/c"
    pod = make("v1", "Pod", {"annotations": {key: "localhost/p"}}, spec={"containers": [{"name": "c"}]})
    assert PODS.prepare_create(pod) == [
        f'metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'
    ]
    profile = {"type": "Localhost", "localhostProfile": "p"}
    assert pod["spec"]["containers"][0]["securityContext"] == {"appArmorProfile": profile}
    again = make(
        "v1",
        "Pod",
        {"annotations": {key: "localhost/p"}},
        spec={"containers": [{"name": "c", "securityContext": {"appArmorProfile": profile}}]},
    )
    assert PODS.prepare_create(again) == []


@pytest.mark.parametrize(
    ("spec", "phase", "requested", "seconds"),
    [
        ({"nodeName": "n"}, "Running", None, 30),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 5}, "Running", None, 5),
        ({"nodeName": "n"}, "Running", 3, 3),
        ({"nodeName": "n"}, "Running", 0, 0),
        ({"nodeName": "n"}, "Running", -1, 1),
        ({"nodeName": "n"}, "Succeeded", None, 0),
        ({"nodeName": "n"}, "Failed", 10, 0),
        ({}, "Pending", 10, 0),
    ],
)
def test_how_long_a_pod_is_given_to_end(
    make: Make, spec: Object, phase: str, requested: int | None, seconds: int
) -> None:
    assert grace_period_s(make("v1", "Pod", spec=spec, status={"phase": phase}), requested) == seconds


def test_a_changed_spec_counts_and_a_changed_label_does_not(make: Make) -> None:
    old = make("v1", "Pod", spec={"containers": [{"name": "c", "image": "a"}]})
    PODS.prepare_create(old)
    labelled = deepcopy(old)
    labelled["metadata"]["labels"] = {"a": "b"}
    PODS.prepare_update(labelled, old)
    assert labelled["metadata"]["generation"] == 1
    changed = deepcopy(old)
    changed["spec"]["containers"][0]["image"] = "b"
    PODS.prepare_update(changed, old)
    assert changed["metadata"]["generation"] == 2


def test_resize_takes_only_resources(make: Make) -> None:
    old = make("v1", "Pod", spec={"containers": [{"name": "c", "image": "a"}]})
    PODS.prepare_create(old)
    new = deepcopy(old)
    new["metadata"]["labels"] = {"a": "b"}
    new["spec"]["containers"][0] |= {"image": "b", "resources": {"requests": {"cpu": "1"}}}
    PODS.prepare_subresource("resize", new, old)
    assert new["spec"]["containers"][0]["image"] == "a"
    assert new["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "1"}}
    assert "labels" not in new["metadata"]
    assert new["metadata"]["generation"] == 2
    assert old["spec"]["containers"][0]["resources"] == {}


def test_ephemeral_containers_are_added_and_nothing_else(make: Make) -> None:
    old = make("v1", "Pod", spec={"containers": [{"name": "c", "image": "a"}]})
    PODS.prepare_create(old)
    new = deepcopy(old)
    new["spec"] |= {"nodeName": "n", "ephemeralContainers": [{"name": "e"}]}
    PODS.prepare_subresource("ephemeralcontainers", new, old)
    assert new["spec"] == old["spec"] | {"ephemeralContainers": [{"name": "e"}]}
    assert "ephemeralContainers" not in old["spec"]


def test_a_status_update_cannot_lose_what_the_server_set(make: Make) -> None:
    old = make("v1", "Pod")
    PODS.prepare_create(old)
    old["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
    old["status"] |= {"observedGeneration": 3, "conditions": [{"type": "Ready", "observedGeneration": 2}]}
    new = deepcopy(old)
    new["metadata"].pop("deletionTimestamp")
    new["metadata"]["ownerReferences"] = [{"name": "o"}]
    new["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    PODS.prepare_subresource("status", new, old)
    assert new["status"]["qosClass"] == "BestEffort"
    assert new["status"]["observedGeneration"] == 3
    assert new["status"]["conditions"] == [{"type": "Ready", "status": "True", "observedGeneration": 2}]
    assert new["metadata"] == old["metadata"]
