"""Containers: each rule with the words kube-apiserver uses for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Errors = Callable[[dict[str, Any]], list[str]]

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
    "start and "
    "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
PORT = {"containerPort": 80, "protocol": "TCP"}
HTTP = {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}, "successThreshold": 1, "periodSeconds": 10}
CONTAINER = {
    "valid": (
        {"ports": [PORT], "livenessProbe": HTTP, "lifecycle": {"preStop": {"sleep": {"seconds": 5}}}},
        [],
    ),
    "no name": ({"name": ""}, ["name: Required value"]),
    "bad name": ({"name": "A_b"}, [f'name: Invalid value: "A_b": {LABEL}']),
    "no image": ({"image": ""}, ["image: Required value"]),
    "padded image": (
        {"image": " x"},
        ['image: Invalid value: " x": must not have leading or trailing whitespace'],
    ),
    "message policy": (
        {"terminationMessagePolicy": "Shout"},
        [
            'terminationMessagePolicy: Unsupported value: "Shout": '
            'supported values: "File", "FallbackToLogsOnError"'
        ],
    ),
    "pull policy": (
        {"imagePullPolicy": "Sometimes"},
        [
            'imagePullPolicy: Unsupported value: "Sometimes": '
            'supported values: "Always", "IfNotPresent", "Never"'
        ],
    ),
    "port without number": ({"ports": [{"protocol": "TCP"}]}, ["ports[0].containerPort: Required value"]),
    "port too large": (
        {"ports": [{"containerPort": 70000, "protocol": "TCP"}]},
        ["ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"],
    ),
    "port protocol": (
        {"ports": [{"containerPort": 80, "protocol": "ICMP"}]},
        ['ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"'],
    ),
    "port name twice": (
        {"ports": [{**PORT, "name": "web"}, {**PORT, "name": "web"}]},
        ['ports[1].name: Duplicate value: "web"'],
    ),
    "port name too long": (
        {"ports": [{**PORT, "name": "sixteen-letters-"}]},
        [
            'ports[0].name: Invalid value: "sixteen-letters-": must be no more than 15 characters',
            'ports[0].name: Invalid value: "sixteen-letters-": must not begin or end with a hyphen',
        ],
    ),
    "host port twice": (
        {"ports": [{**PORT, "hostPort": 8080}, {**PORT, "hostPort": 8080}]},
        ['ports[1].hostPort: Duplicate value: "TCP//8080"'],
    ),
    "variable without name": ({"env": [{"value": "x"}]}, ["env[0].name: Required value"]),
    "variable name": (
        {"env": [{"name": "a=b"}]},
        [
            'env[0].name: Invalid value: "a=b": a valid environment variable name must consist only of '
            "printable ASCII characters other than '='"
        ],
    ),
    "no value source": (
        {"env": [{"name": "A", "valueFrom": {}}]},
        [
            'env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, '
            "`configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        ],
    ),
    "value and source": (
        {"env": [{"name": "A", "value": "x", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
        ['env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty'],
    ),
    "unknown field": (
        {"env": [{"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.x"}}}]},
        [
            'env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.x": '
            "error converting fieldPath: field label not supported: spec.x"
        ],
    ),
    "field for volumes only": (
        {
            "env": [
                {"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}}}
            ]
        },
        [
            'env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: '
            '"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", '
            '"spec.serviceAccountName", '
            '"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"'
        ],
    ),
    "field with subscript": (
        {
            "env": [
                {
                    "name": "A",
                    "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels['a']"}},
                }
            ]
        },
        [],
    ),
    "unknown resource": (
        {"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.x", "divisor": "0"}}}]},
        [
            'env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.x": supported values: '
            '"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", '
            '"requests.ephemeral-storage", "requests.memory"'
        ],
    ),
    "divisor": (
        {
            "env": [
                {"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1k"}}}
            ]
        },
        [
            'env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": '
            "only divisor's values 1m and 1 are supported with the cpu resource"
        ],
    ),
    "secret key missing": (
        {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": ""}}}]},
        ["env[0].valueFrom.secretKeyRef.key: Required value"],
    ),
    "environment from nothing": (
        {"envFrom": [{}]},
        ['envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`'],
    ),
    "mount of no volume": (
        {"volumeMounts": [{"name": "no", "mountPath": "/x"}]},
        ['volumeMounts[0].name: Not found: "no"'],
    ),
    "limit below request": (
        {"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}},
        ['resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
    ),
    "unknown compute resource": (
        {"resources": {"limits": {"hats": "1"}}},
        [
            'resources.limits[hats]: Invalid value: "hats": must be a standard resource type or fully '
            "qualified",
            'resources.limits[hats]: Invalid value: "hats": must be a standard resource for containers',
        ],
    ),
    "negative amount": (
        {"resources": {"limits": {"memory": "-1"}}},
        ['resources.limits[memory]: Invalid value: "-1": must be greater than or equal to 0'],
    ),
    "extended resource not equal": (
        {"resources": {"limits": {"example.com/gpu": "2"}, "requests": {"example.com/gpu": "1"}}},
        ['resources.requests: Invalid value: "1": must be equal to example.com/gpu limit of 2'],
    ),
    "extended resource in parts": (
        {"resources": {"limits": {"example.com/gpu": "1500m"}, "requests": {"example.com/gpu": "1500m"}}},
        [
            'resources.limits[example.com/gpu]: Invalid value: "1500m": must be an integer',
            'resources.requests[example.com/gpu]: Invalid value: "1500m": must be an integer',
        ],
    ),
    "huge pages alone": (
        {"resources": {"limits": {"hugepages-2Mi": "4Mi"}, "requests": {"hugepages-2Mi": "4Mi"}}},
        ["resources: Forbidden: HugePages require cpu or memory"],
    ),
    "huge pages in parts": (
        {"resources": {"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}}},
        [
            'resources.limits[hugepages-2Mi]: Invalid value: "3Mi": '
            "3Mi is not positive integer multiple of hugepages-2Mi"
        ],
    ),
    "claim that the pod has not": (
        {"resources": {"claims": [{"name": "gpu"}]}},
        [
            'resources.claims[0]: Not found: "gpu": must be one of the names in pod.spec.resourceClaims '
            "which is empty"
        ],
    ),
    "no handler": (
        {"livenessProbe": {"successThreshold": 1}},
        ["livenessProbe: Required value: must specify a handler type"],
    ),
    "two handlers": (
        {"readinessProbe": {**HTTP, "tcpSocket": {"port": 80}}},
        ["readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type"],
    ),
    "liveness threshold": (
        {"livenessProbe": {**HTTP, "successThreshold": 2}},
        ["livenessProbe.successThreshold: Invalid value: 2: must be 1"],
    ),
    "negative period": (
        {"readinessProbe": {**HTTP, "periodSeconds": -1}},
        ["readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "probe port zero": (
        {"readinessProbe": {"tcpSocket": {"port": 0}}},
        ["readinessProbe.tcpSocket.port: Invalid value: 0: must be between 1 and 65535, inclusive"],
    ),
    "sleep beyond grace": (
        {"lifecycle": {"preStop": {"sleep": {"seconds": 60}}}},
        [
            "lifecycle.preStop.sleep: Invalid value: 60: "
            "must be non-negative and less than terminationGracePeriodSeconds (30)"
        ],
    ),
    "resize policy": (
        {"resizePolicy": [{"resourceName": "disk", "restartPolicy": "NotRequired"}]},
        ['resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"'],
    ),
    "user": (
        {"securityContext": {"runAsUser": -1}},
        ["securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive"],
    ),
    "privileged without escalation": (
        {"securityContext": {"privileged": True, "allowPrivilegeEscalation": False}},
        [
            'securityContext: Invalid value: {"Capabilities":null,"Privileged":true,"SELinuxOptions":null,'
            '"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,'
            '"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,'
            '"SeccompProfile":null,"AppArmorProfile":null}: '
            "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        ],
    ),
    "seccomp without file": (
        {"securityContext": {"seccompProfile": {"type": "Localhost"}}},
        [
            "securityContext.seccompProfile.localhostProfile: Required value: "
            "must be set when seccomp type is Localhost"
        ],
    ),
    "restart policy": (
        {"restartPolicy": "Maybe"},
        ['restartPolicy: Unsupported value: "Maybe": supported values: "Always", "Never", "OnFailure"'],
    ),
}


@pytest.mark.parametrize(("fields", "expected"), CONTAINER.values(), ids=CONTAINER)
def test_a_container_is_judged(container_errors: Errors, fields: dict[str, Any], expected: list[str]) -> None:
    assert container_errors(fields) == expected


def test_a_name_is_taken_once_among_regular_and_init_containers(
    spec_errors: Errors, container: dict[str, Any]
) -> None:
    assert spec_errors({"containers": [container, container]}) == ['containers[1].name: Duplicate value: "c"']
    assert spec_errors({"initContainers": [container]}) == ['initContainers[0].name: Duplicate value: "c"']


def test_only_sidecars_among_init_containers_are_probed(
    spec_errors: Errors, container: dict[str, Any]
) -> None:
    init = {**container, "name": "i", "readinessProbe": HTTP}
    assert spec_errors({"initContainers": [init]}) == [
        "initContainers[0].readinessProbe: Forbidden: "
        "may not be set for init containers without restartPolicy=Always"
    ]
    assert spec_errors({"initContainers": [{**init, "restartPolicy": "Always"}]}) == []


def test_ephemeral_containers_come_later_and_have_no_ports(
    spec_errors: Errors, container: dict[str, Any]
) -> None:
    debug = {**container, "name": "d", "ports": [PORT], "targetContainerName": "x"}
    assert spec_errors({"ephemeralContainers": [debug]}) == [
        'ephemeralContainers[0].targetContainerName: Not found: "x"',
        "ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container",
        "ephemeralContainers: Forbidden: cannot be set on create",
    ]
    debug = {**container, "name": "d", "lifecycle": {}, "resources": {}}
    assert spec_errors({"ephemeralContainers": [debug]})[:-1] == [
        "ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container"
    ]
