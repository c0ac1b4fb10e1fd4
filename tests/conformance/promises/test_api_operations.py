"""Promises that a resource has all the verbs, in the way the public tests of API operations look at it."""

from __future__ import annotations

import pytest

from .keeping import Object, keep, promised
from .operations import Operations, run_operations

ADMISSION = "admissionregistration.k8s.io/v1"
FLOW_CONTROL = "flowcontrol.apiserver.k8s.io/v1"
NETWORKING = "networking.k8s.io/v1"

_DEPLOYMENTS = {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}
_MATCH = {"resourceRules": [{"operations": ["CREATE"], **_DEPLOYMENTS}]}


def _conditions(kind: str, **more: str) -> Object:
    return {"status": {"conditions": [{"type": kind, "status": "False", "reason": "e2e", **more}]}}


def _balancer(address: str) -> Object:
    return {"status": {"loadBalancer": {"ingress": [{"ip": address}]}}}


def _ingress_backend(name: str) -> Object:
    return {"service": {"name": name, "port": {"number": 8080}}}


_ANNOTATED = {"metadata": {"annotations": {"patchedstatus": "true"}}}
_SET = {"message": "Set from an e2e test", "lastTransitionTime": "2024-01-01T00:00:00Z"}
_INGRESS_PATH = {
    "path": "/",
    "pathType": "ImplementationSpecific",
    "backend": _ingress_backend("test-backend"),
}
_JOB_CONTAINER = {"name": "c", "image": "busybox", "command": ["sh", "-c", "exit 0"]}
_JOB_POD = {"spec": {"restartPolicy": "OnFailure", "containers": [_JOB_CONTAINER]}}

CASES = [
    Operations(
        "API priority and fairness should support FlowSchema API operations",
        FLOW_CONTROL,
        "flowschemas",
        {
            "spec": {
                "matchingPrecedence": 10000,
                "priorityLevelConfiguration": {"name": "global-default"},
                "distinguisherMethod": {"type": "ByUser"},
                "rules": [
                    {
                        "subjects": [{"kind": "User", "user": {"name": "example-e2e-non-existent-user"}}],
                        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                    }
                ],
            }
        },
        patch={"spec": {"matchingPrecedence": 9999}},
        update={"spec": {"matchingPrecedence": 9000}},
        status_patch=_conditions("PatchStatusFailed"),
        status_update=_conditions("StatusUpdateFailed", message="Set from an e2e test"),
    ),
    Operations(
        "API priority and fairness should support PriorityLevelConfiguration API operations",
        FLOW_CONTROL,
        "prioritylevelconfigurations",
        {
            "spec": {
                "type": "Limited",
                "limited": {"nominalConcurrencyShares": 2, "limitResponse": {"type": "Reject"}},
            }
        },
        patch={"spec": {"limited": {"nominalConcurrencyShares": 4}}},
        update={"spec": {"limited": {"nominalConcurrencyShares": 6}}},
        status_patch=_conditions("PatchStatusFailed"),
        status_update=_conditions("StatusUpdateFailed", message="Set from an e2e test"),
    ),
    Operations(
        "ValidatingAdmissionPolicy should support ValidatingAdmissionPolicy API operations",
        ADMISSION,
        "validatingadmissionpolicies",
        {
            "spec": {
                "validations": [{"expression": "object.spec.replicas <= 100"}],
                "matchConstraints": _MATCH,
            }
        },
        patch={"spec": {"failurePolicy": "Ignore"}},
        update={"spec": {"failurePolicy": "Fail"}},
        status_patch=_conditions("PatchStatusFailed", **_SET),
        status_update=_conditions("StatusUpdateFailed", **_SET),
    ),
    Operations(
        "ValidatingAdmissionPolicy should support ValidatingAdmissionPolicyBinding API operations",
        ADMISSION,
        "validatingadmissionpolicybindings",
        {"spec": {"policyName": "replicalimit-policy.example.com", "validationActions": ["Deny"]}},
        patch={"spec": {"validationActions": ["Warn"]}},
        update={"spec": {"validationActions": ["Deny"]}},
    ),
    Operations(
        "MutatingAdmissionPolicy should support MutatingAdmissionPolicy API operations",
        ADMISSION,
        "mutatingadmissionpolicies",
        {
            "spec": {
                "reinvocationPolicy": "Never",
                "mutations": [
                    {
                        "patchType": "ApplyConfiguration",
                        "applyConfiguration": {"expression": "Object{spec: Object.spec{replicas: 100}}"},
                    }
                ],
                "matchConstraints": _MATCH,
            }
        },
        patch={"spec": {"reinvocationPolicy": "IfNeeded"}},
        update={"spec": {"reinvocationPolicy": "Never"}},
    ),
    Operations(
        "MutatingAdmissionPolicy should support MutatingAdmissionPolicyBinding API operations",
        ADMISSION,
        "mutatingadmissionpolicybindings",
        {"spec": {"policyName": "replicalimit-policy.example.com"}},
        patch={"spec": {"policyName": "new-policy.example.com"}},
        update={"spec": {"policyName": "updated-policy.example.com"}},
    ),
    Operations(
        "EndpointSlice should support creating EndpointSlice API operations",
        "discovery.k8s.io/v1",
        "endpointslices",
        {
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["1.2.3.4", "5.6.7.8"]}, {"addresses": ["2.2.3.4", "6.6.7.8"]}],
            # What a typed client sends for no ports.
            "ports": None,
        },
        namespaced=True,
    ),
    Operations(
        "Ingress API should support creating Ingress API operations",
        NETWORKING,
        "ingresses",
        {
            "spec": {
                "defaultBackend": _ingress_backend("default-backend"),
                "rules": [{"host": "foo.bar.com", "http": {"paths": [_INGRESS_PATH]}}],
            },
            "status": {"loadBalancer": {}},
        },
        namespaced=True,
        status_patch=_ANNOTATED | _balancer("169.1.1.1"),
        status_update=_balancer("169.1.1.2"),
    ),
    Operations(
        "IngressClass API should support creating IngressClass API operations",
        NETWORKING,
        "ingressclasses",
        {"spec": {"controller": "example.com/controller"}},
    ),
    Operations(
        "RuntimeClass should support RuntimeClasses API operations",
        "node.k8s.io/v1",
        "runtimeclasses",
        {"handler": "e2e-handler"},
    ),
    Operations(
        "CSIStorageCapacity should support CSIStorageCapacities API operations",
        "storage.k8s.io/v1",
        "csistoragecapacities",
        {"storageClassName": "e2e.example.com"},
        namespaced=True,
    ),
    Operations(
        "CronJob should support CronJob API operations",
        "batch/v1",
        "cronjobs",
        {
            "spec": {
                "schedule": "* */1 * * ?",
                "concurrencyPolicy": "Allow",
                "successfulJobsHistoryLimit": 1,
                "failedJobsHistoryLimit": 0,
                "jobTemplate": {"spec": {"parallelism": 1, "completions": 1, "template": _JOB_POD}},
            }
        },
        namespaced=True,
        status_patch=_ANNOTATED | {"status": {"lastScheduleTime": "2026-01-01T00:00:00Z"}},
        status_update={"status": {"lastScheduleTime": "2026-01-01T00:01:00Z"}},
    ),
]


@pytest.mark.parametrize("case", [pytest.param(case, id=promised(case.promise)) for case in CASES])
def test_a_resource_has_all_the_verbs(case: Operations) -> None:
    keep(lambda client: run_operations(client, case))
