"""What objects cost."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.admission.quota.evaluators import Pods, evaluator_for
from steersman.cluster.admission.quota.scopes import ScopeSelector, claim_matches, pod_matches

from .conftest import Object, write

ONE_POD = {"count/pods": "1", "pods": "1"}


def cost(plural: str, obj: Object, group: str = "") -> dict[str, str]:
    usage = evaluator_for(group, plural).usage({"metadata": {}, **obj})
    return {name: str(amount) for name, amount in usage.items() if amount}


def pod(requests: Object | None = None, limits: Object | None = None, **spec: Any) -> Object:
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    return {"metadata": {}, "spec": {"containers": [{"name": "c", "resources": resources}], **spec}}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (pod(), ONE_POD),
        (
            pod({"cpu": "1", "memory": "1Gi"}, {"cpu": "2"}),
            ONE_POD
            | {"cpu": "1", "requests.cpu": "1", "memory": "1Gi", "requests.memory": "1Gi", "limits.cpu": "2"},
        ),
        (
            pod({"ephemeral-storage": "1Gi"}, {"ephemeral-storage": "2Gi"}),
            ONE_POD
            | {
                "ephemeral-storage": "1Gi",
                "requests.ephemeral-storage": "1Gi",
                "limits.ephemeral-storage": "2Gi",
            },
        ),
        (
            pod({"hugepages-2Mi": "4Mi", "nvidia.com/gpu": "2", "kubernetes.io/x": "1"}),
            ONE_POD
            | {"hugepages-2Mi": "4Mi", "requests.hugepages-2Mi": "4Mi", "requests.nvidia.com/gpu": "2"},
        ),
        (pod({"cpu": "1"}) | {"status": {"phase": "Succeeded"}}, {"count/pods": "1"}),
    ],
    ids=["nothing", "compute", "ephemeral", "huge and extended", "ended"],
)
def test_pods(obj: Object, expected: dict[str, str]) -> None:
    assert cost("pods", obj) == expected


@pytest.mark.parametrize(("now", "counts"), [(100.0, True), (161.0, False)])
def test_a_pod_stuck_in_its_end_costs_nothing(now: float, counts: bool) -> None:
    ending = pod()
    ending["metadata"] = {"deletionTimestamp": "1970-01-01T00:01:40Z", "deletionGracePeriodSeconds": 60}
    assert ("pods" in Pods(now=lambda: now).usage(ending)) is counts


@pytest.mark.parametrize(
    "metadata",
    [{"deletionTimestamp": "1970-01-01T00:01:40Z"}, {"deletionGracePeriodSeconds": 60}],
    ids=["no time to end in", "not ending"],
)
def test_a_pod_that_may_take_its_time_costs(metadata: Object) -> None:
    assert "pods" in Pods(now=lambda: 1e6).usage({**pod(), "metadata": metadata})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"type": "ClusterIP", "ports": [{}]}, {}),
        ({"type": "NodePort", "ports": [{}, {}]}, {"services.nodeports": "2"}),
        ({"type": "LoadBalancer", "ports": [{}]}, {"services.nodeports": "1", "services.loadbalancers": "1"}),
        (
            {
                "type": "LoadBalancer",
                "ports": [{}, {"nodePort": 30000}, {"nodePort": 30001}],
                "allocateLoadBalancerNodePorts": False,
            },
            {"services.nodeports": "2", "services.loadbalancers": "1"},
        ),
        ({"type": "ExternalName"}, {}),
    ],
    ids=["plain", "node ports", "load balancer", "without node ports", "external"],
)
def test_services(spec: Object, expected: dict[str, str]) -> None:
    assert cost("services", {"spec": spec}) == {"count/services": "1", "services": "1"} | expected


def claim(storage: str, storage_class: str = "", **status: Any) -> Object:
    spec: Object = {"resources": {"requests": {"storage": storage}}}
    if storage_class:
        spec["storageClassName"] = storage_class
    return {"metadata": {}, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (claim("1Gi"), {"requests.storage": "1Gi"}),
        (
            claim("1Gi", "gold"),
            {
                "requests.storage": "1Gi",
                "gold.storageclass.storage.k8s.io/requests.storage": "1Gi",
                "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
            },
        ),
        (claim("1Gi", allocatedResources={"storage": "2Gi"}), {"requests.storage": "2Gi"}),
        (claim("1500m"), {"requests.storage": "2"}),
    ],
    ids=["plain", "class", "allocated more", "whole bytes"],
)
def test_claims(obj: Object, expected: dict[str, str]) -> None:
    counts = {"count/persistentvolumeclaims": "1", "persistentvolumeclaims": "1"}
    assert cost("persistentvolumeclaims", obj) == counts | expected


def test_device_claims_are_charged_the_worst_case() -> None:
    requests = [
        {"exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}},
        {"exactly": {"deviceClassName": "nic", "allocationMode": "All"}},
        {
            "firstAvailable": [
                {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1},
                {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 3},
            ]
        },
    ]
    assert cost("resourceclaims", {"spec": {"devices": {"requests": requests}}}, "resource.k8s.io") == {
        "count/resourceclaims.resource.k8s.io": "1",
        "gpu.deviceclass.resource.k8s.io/devices": "5",
        "nic.deviceclass.resource.k8s.io/devices": "32",
    }


def test_device_claims_are_counted_by_number_and_device_class() -> None:
    names = ["count/resourceclaims.resource.k8s.io", "gpu.deviceclass.resource.k8s.io/devices"]
    assert evaluator_for("resource.k8s.io", "resourceclaims").matching([*names, "pods"]) == names


@pytest.mark.parametrize(
    ("group", "plural", "names"),
    [
        ("", "configmaps", ["count/configmaps", "configmaps"]),
        ("apps", "deployments", ["count/deployments.apps"]),
        ("example.com", "widgets", ["count/widgets.example.com"]),
    ],
)
def test_everything_else_is_one_of_its_kind(group: str, plural: str, names: list[str]) -> None:
    assert cost(plural, {}, group) == dict.fromkeys(names, "1")
    assert evaluator_for(group, plural).matching([*names, "pods"]) == names


@pytest.mark.parametrize(
    ("plural", "name", "expected"),
    [
        ("pods", "requests.nvidia.com/gpu", True),
        ("pods", "hugepages-1Gi", True),
        ("pods", "requests.storage", False),
        ("pods", "gold.storageclass.storage.k8s.io/requests.storage", False),
        ("pods", "services", False),
        ("persistentvolumeclaims", "gold.storageclass.storage.k8s.io/requests.storage", True),
        ("persistentvolumeclaims", "requests.cpu", False),
    ],
)
def test_which_amounts_are_whose(plural: str, name: str, expected: bool) -> None:
    assert bool(evaluator_for("", plural).matching([name])) is expected


def test_a_quota_on_compute_makes_containers_speak() -> None:
    silent = pod({"cpu": "1"}, initContainers=[{"name": "i", "resources": {}}])
    missing = evaluator_for("", "pods").missing
    assert missing(["limits.cpu", "requests.cpu", "pods"], silent) == (
        "must specify limits.cpu for: c,i; requests.cpu for: i"
    )
    assert missing(["limits.ephemeral-storage", "pods"], silent) == ""
    assert missing(["limits.cpu"], pod(resources={"limits": {"cpu": "1"}})) == ""


@pytest.mark.parametrize(
    ("selector", "spec", "expected"),
    [
        (ScopeSelector("Terminating"), {"activeDeadlineSeconds": 5}, True),
        (ScopeSelector("Terminating"), {}, False),
        (ScopeSelector("NotTerminating"), {}, True),
        (ScopeSelector("NotTerminating"), {"activeDeadlineSeconds": 5}, False),
        (ScopeSelector("Terminating"), {"activeDeadlineSeconds": 0}, True),
        (ScopeSelector("Terminating"), {"activeDeadlineSeconds": -1}, False),
        (ScopeSelector("BestEffort"), {}, True),
        (ScopeSelector("NotBestEffort"), {}, False),
        (ScopeSelector("PriorityClass"), {"priorityClassName": "high"}, True),
        (ScopeSelector("PriorityClass"), {}, False),
        (ScopeSelector("PriorityClass", "DoesNotExist"), {}, True),
        (ScopeSelector("PriorityClass", "In", ("high", "low")), {"priorityClassName": "high"}, True),
        (ScopeSelector("PriorityClass", "In", ("low",)), {"priorityClassName": "high"}, False),
        (ScopeSelector("PriorityClass", "NotIn", ("low",)), {"priorityClassName": "high"}, True),
        (ScopeSelector("PriorityClass", "NotIn", ("low",)), {}, True),
        (ScopeSelector("PriorityClass", "In", ("low",)), {}, False),
        (ScopeSelector("VolumeAttributesClass"), {}, False),
    ],
    ids=str,
)
def test_scopes_of_pods(selector: ScopeSelector, spec: Object, expected: bool) -> None:
    assert pod_matches(selector, pod(**spec)) is expected


def test_a_pod_that_asks_for_something_is_not_best_effort() -> None:
    assert not pod_matches(ScopeSelector("BestEffort"), pod({"cpu": "1"}))
    assert pod_matches(ScopeSelector("BestEffort"), pod({"cpu": "0"}))
    assert not pod_matches(ScopeSelector("BestEffort"), pod() | {"status": {"qosClass": "Burstable"}})


@pytest.mark.parametrize("term", [{"namespaces": ["x"]}, {"namespaceSelector": {}}], ids=str)
def test_affinity_to_other_namespaces(term: Object) -> None:
    weighted = [{"weight": 1, "podAffinityTerm": term}]
    selector = ScopeSelector("CrossNamespacePodAffinity")
    for rules in (
        {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
        {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted}},
    ):
        assert pod_matches(selector, pod(affinity=rules))
    assert not pod_matches(selector, pod(affinity={"podAffinity": {}}))


def test_scopes_of_claims() -> None:
    gold = claim("1Gi", currentVolumeAttributesClassName="gold")
    assert claim_matches(ScopeSelector("VolumeAttributesClass", "In", ("gold",)), gold)
    assert claim_matches(ScopeSelector("VolumeAttributesClass"), gold)
    assert not claim_matches(ScopeSelector("VolumeAttributesClass"), claim("1Gi"))
    assert not claim_matches(ScopeSelector("BestEffort"), gold)


def test_an_update_of_a_pod_matters_when_it_gets_a_deadline() -> None:
    concerns = evaluator_for("", "pods").concerns
    assert not concerns(write("pods", pod(), operation="UPDATE", old=pod()))
    assert concerns(write("pods", pod(activeDeadlineSeconds=1), operation="UPDATE", old=pod()))
    assert concerns(write("pods", pod(), operation="UPDATE", subresource="resize", old=pod()))
