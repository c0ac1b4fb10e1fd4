"""What is filled in, per kind; the whole objects a real server answers are replayed with the strategies."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from steersman.cluster.schema.decode import decode
from steersman.cluster.schema.defaults import apply_defaults
from steersman.cluster.schema.resources import GVK, ResourceType, all_resources

Object = dict[str, Any]


def defaulted(api_version: str, kind: str, **fields: Any) -> Object:
    gvk = GVK.of(api_version, kind)
    obj = decode(gvk, {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}} | fields).obj
    apply_defaults(*gvk, obj)
    return obj


def at(obj: Any, path: str) -> Any:
    for step in path.split("."):
        obj = obj[int(step)] if step.isdecimal() else obj[step]
    return obj


def pod_spec(**container: Any) -> Object:
    return {"containers": [{"name": "c", "image": "i:1"} | container]}


CASES = [
    # (apiVersion, kind, fields, {path: value})
    (
        "v1",
        "Pod",
        {"spec": pod_spec() | {"terminationGracePeriodSeconds": -5}},
        {"spec.terminationGracePeriodSeconds": 1},
    ),
    ("v1", "Pod", {"spec": pod_spec() | {"serviceAccount": "a"}}, {"spec.serviceAccountName": "a"}),
    (
        "v1",
        "Pod",
        {"spec": pod_spec() | {"serviceAccount": "a", "serviceAccountName": "b"}},
        {"spec.serviceAccount": "b"},
    ),
    (
        "v1",
        "Pod",
        {"spec": pod_spec(ports=[{"containerPort": 8080}]) | {"hostNetwork": True}},
        {"spec.containers.0.ports.0": {"containerPort": 8080, "hostPort": 8080, "protocol": "TCP"}},
    ),
    (
        "v1",
        "Pod",
        {"spec": pod_spec(resources={"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m"}})},
        {"spec.containers.0.resources.requests": {"cpu": "100m", "memory": "1Gi"}},
    ),
    (
        "v1",
        "Pod",
        {"spec": pod_spec(resources={"requests": {"cpu": "100u"}})},
        {"spec.containers.0.resources.requests": {"cpu": "1m"}},
    ),
    (
        "v1",
        "Pod",
        {
            "spec": pod_spec(
                livenessProbe={"grpc": {"port": 1}}, lifecycle={"preStop": {"httpGet": {"port": 80}}}
            )
        },
        {
            "spec.containers.0.livenessProbe.grpc.service": "",
            "spec.containers.0.lifecycle.preStop.httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
        },
    ),
    (
        "v1",
        "Pod",
        {
            "spec": pod_spec()
            | {
                "volumes": [
                    {"name": "none"},
                    {"name": "host", "hostPath": {"path": "/"}},
                    {"name": "rbd", "rbd": {"monitors": ["m"], "image": "i", "pool": "p"}},
                    {
                        "name": "token",
                        "projected": {
                            "sources": [
                                {"serviceAccountToken": {"path": "t"}},
                                {
                                    "downwardAPI": {
                                        "items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]
                                    }
                                },
                            ]
                        },
                    },
                    {"name": "image", "image": {"reference": "x"}},
                    {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
                ]
            }
        },
        {
            "spec.volumes.0": {"name": "none", "emptyDir": {}},
            "spec.volumes.1.hostPath": {"path": "/", "type": ""},
            "spec.volumes.2.rbd": {
                "monitors": ["m"],
                "image": "i",
                "pool": "p",
                "user": "admin",
                "keyring": "/etc/ceph/keyring",
            },
            "spec.volumes.3.projected.defaultMode": 420,
            "spec.volumes.3.projected.sources.0.serviceAccountToken.expirationSeconds": 3600,
            "spec.volumes.3.projected.sources.1.downwardAPI.items.0.fieldRef.apiVersion": "v1",
            "spec.volumes.4.image.pullPolicy": "Always",
            "spec.volumes.5.ephemeral.volumeClaimTemplate.spec.volumeMode": "Filesystem",
        },
    ),
    (
        "v1",
        "Pod",
        {"spec": pod_spec(), "status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.2"}]}},
        {"status.podIPs": [{"ip": "10.0.0.1"}]},
    ),
    (
        "v1",
        "Pod",
        {"spec": pod_spec(), "status": {"podIPs": [{"ip": "10.0.0.2"}]}},
        {"status.podIP": "10.0.0.2"},
    ),
    (
        "v1",
        "Service",
        {"spec": {"type": "LoadBalancer", "ports": [{"port": 80}], "sessionAffinity": "ClientIP"}},
        {
            "spec.sessionAffinityConfig.clientIP.timeoutSeconds": 10800,
            "spec.allocateLoadBalancerNodePorts": True,
            "spec.externalTrafficPolicy": "Cluster",
            "spec.ports.0.targetPort": 80,
        },
    ),
    (
        "v1",
        "Service",
        {"spec": {"externalIPs": ["1.2.3.4"], "ports": [{"port": 80, "targetPort": "http"}]}},
        {"spec.externalTrafficPolicy": "Cluster", "spec.ports.0.targetPort": "http"},
    ),
    (
        "v1",
        "Secret",
        {"data": {"a": "eA=="}, "stringData": {"a": "y", "b": "z"}},
        {"data": {"a": "eQ==", "b": "eg=="}},
    ),
    ("v1", "Node", {"spec": {"podCIDRs": ["10.0.0.0/24"]}}, {"spec.podCIDR": "10.0.0.0/24"}),
    ("v1", "Node", {"status": {"capacity": {"cpu": "4"}}}, {"status.allocatable": {"cpu": "4"}}),
    (
        "v1",
        "PersistentVolume",
        {},
        {"spec.persistentVolumeReclaimPolicy": "Retain", "status.phase": "Pending"},
    ),
    (
        "v1",
        "ReplicationController",
        {"spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec()}}},
        {"spec.selector": {"a": "b"}, "metadata.labels": {"a": "b"}, "spec.replicas": 1},
    ),
    (
        "v1",
        "LimitRange",
        {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}]}},
        {
            "spec.limits.0.default": {"cpu": "2"},
            "spec.limits.0.defaultRequest": {"cpu": "2", "memory": "1Mi"},
        },
    ),
    ("v1", "Endpoints", {"subsets": [{"ports": [{"port": 1}]}]}, {"subsets.0.ports.0.protocol": "TCP"}),
    ("apps/v1", "Deployment", {"spec": {"replicas": 0}}, {"spec.replicas": 0}),
    (
        "apps/v1",
        "Deployment",
        {"spec": {"strategy": {"type": "Recreate"}}},
        {"spec.strategy": {"type": "Recreate"}},
    ),
    (
        "apps/v1",
        "StatefulSet",
        {"spec": {"updateStrategy": {"type": "RollingUpdate"}}},
        {"spec.updateStrategy": {"type": "RollingUpdate"}},
    ),
    ("batch/v1", "Job", {"spec": {"parallelism": 3}}, {"spec.parallelism": 3, "spec.backoffLimit": 6}),
    ("batch/v1", "Job", {"spec": {"backoffLimitPerIndex": 1}}, {"spec.backoffLimit": 2147483647}),
    (
        "batch/v1",
        "Job",
        {"spec": {"podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "X"}]}]}}},
        {
            "spec.podReplacementPolicy": "Failed",
            "spec.podFailurePolicy.rules.0.onPodConditions.0.status": "True",
        },
    ),
    (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        {"spec": {"behavior": {"scaleDown": {"selectPolicy": "Min"}}}},
        {
            "spec.behavior.scaleDown": {
                "selectPolicy": "Min",
                "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
            },
            "spec.behavior.scaleUp.stabilizationWindowSeconds": 0,
        },
    ),
    (
        "networking.k8s.io/v1",
        "NetworkPolicy",
        {"spec": {"egress": [{}]}},
        {"spec.policyTypes": ["Ingress", "Egress"]},
    ),
    (
        "networking.k8s.io/v1",
        "IngressClass",
        {"spec": {"parameters": {"kind": "K", "name": "n"}}},
        {"spec.parameters.scope": "Cluster"},
    ),
    (
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        {"roleRef": {"kind": "ClusterRole", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}]},
        {
            "roleRef.apiGroup": "rbac.authorization.k8s.io",
            "subjects.0.apiGroup": "rbac.authorization.k8s.io",
        },
    ),
    (
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
        {
            "webhooks": [
                {"name": "w", "clientConfig": {"service": {"name": "s", "namespace": "n"}}, "rules": [{}]}
            ]
        },
        {
            "webhooks.0.failurePolicy": "Fail",
            "webhooks.0.timeoutSeconds": 10,
            "webhooks.0.reinvocationPolicy": "Never",
            "webhooks.0.clientConfig.service.port": 443,
            "webhooks.0.rules.0.scope": "*",
            "webhooks.0.namespaceSelector": {},
        },
    ),
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
        {"spec": {"matchConstraints": {"resourceRules": [{}]}}},
        {
            "spec.matchConstraints.matchPolicy": "Equivalent",
            "spec.matchConstraints.resourceRules.0.scope": "*",
        },
    ),
    (
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        {"spec": {"names": {"kind": "Foo", "plural": "foos"}, "versions": [{"name": "v1", "storage": True}]}},
        {
            "spec.names.singular": "foo",
            "spec.names.listKind": "FooList",
            "spec.conversion": {"strategy": "None"},
            "status.storedVersions": ["v1"],
        },
    ),
    ("storage.k8s.io/v1", "StorageClass", {}, {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}),
    (
        "storage.k8s.io/v1",
        "CSIDriver",
        {},
        {"spec.attachRequired": True, "spec.volumeLifecycleModes": ["Persistent"]},
    ),
    (
        "flowcontrol.apiserver.k8s.io/v1",
        "PriorityLevelConfiguration",
        {"spec": {"limited": {"limitResponse": {"type": "Queue", "queuing": {}}}}},
        {
            "spec.limited.nominalConcurrencyShares": 30,
            "spec.limited.limitResponse.queuing": {"handSize": 8, "queues": 64, "queueLengthLimit": 50},
        },
    ),
    (
        "resource.k8s.io/v1",
        "ResourceClaim",
        {
            "spec": {
                "devices": {
                    "requests": [{"name": "r", "exactly": {"deviceClassName": "c", "tolerations": [{}]}}]
                }
            }
        },
        {
            "spec.devices.requests.0.exactly.allocationMode": "ExactCount",
            "spec.devices.requests.0.exactly.count": 1,
            "spec.devices.requests.0.exactly.tolerations.0.operator": "Equal",
        },
    ),
    ("scheduling.k8s.io/v1", "PriorityClass", {}, {"preemptionPolicy": "PreemptLowerPriority"}),
]


@pytest.mark.parametrize(
    ("api_version", "kind", "fields", "expected"),
    [pytest.param(*case, id=f"{case[1]}-{'-'.join(case[3])[:60]}") for case in CASES],
)
def test_fields_left_out_are_filled_in(api_version: str, kind: str, fields: Object, expected: Object) -> None:
    obj = defaulted(api_version, kind, **fields)
    assert {path: at(obj, path) for path in expected} == expected


def test_templates_do_not_get_what_only_pods_get() -> None:
    spec = pod_spec(resources={"limits": {"cpu": "1"}}, ports=[{"containerPort": 1}]) | {"hostNetwork": True}
    template = defaulted("apps/v1", "Deployment", spec={"template": {"spec": spec}})["spec"]["template"][
        "spec"
    ]
    assert "enableServiceLinks" not in template
    assert template["containers"][0]["resources"] == {"limits": {"cpu": "1"}}
    assert "hostPort" not in template["containers"][0]["ports"][0]


def test_string_data_of_a_secret_is_not_kept() -> None:
    assert "stringData" not in defaulted("v1", "Secret", stringData={"a": "b"})


def test_a_namespace_without_name_is_not_labelled() -> None:
    assert "labels" not in defaulted("v1", "Namespace", metadata={"generateName": "a-"})["metadata"]


def test_round_trip_annotations_are_dropped_from_a_v2_autoscaler() -> None:
    annotations = {"autoscaling.alpha.kubernetes.io/metrics": "[]", "mine": "1"}
    obj = defaulted(
        "autoscaling/v2", "HorizontalPodAutoscaler", metadata={"name": "x", "annotations": annotations}
    )
    assert obj["metadata"]["annotations"] == {"mine": "1"}


@pytest.mark.parametrize(
    "resource", all_resources(), ids=lambda resource: f"{resource.api_version}-{resource.kind}"
)
def test_an_empty_object_of_any_kind_takes_its_defaults_once(resource: ResourceType) -> None:
    obj = defaulted(resource.api_version, resource.kind)
    again = deepcopy(obj)
    apply_defaults(*resource.gvk, again)
    assert again == obj
