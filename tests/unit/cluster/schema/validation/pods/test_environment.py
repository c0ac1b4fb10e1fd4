"""Where the variables of a container come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Object = dict[str, Any]
Errors = Callable[[Object], list[str]]

CONTAINER = {
    "name": "c",
    "image": "nginx",
    "resources": {},
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "Always",
}


def variable(**source: Any) -> Object:
    return {"containers": [{**CONTAINER, "env": [{"name": "V", "valueFrom": source}]}]}


def everything(**source: Any) -> Object:
    return {"containers": [{**CONTAINER, "envFrom": [source]}]}


def field(path: str, version: str = "v1") -> Object:
    return variable(fieldRef={"apiVersion": version, "fieldPath": path})


def amount(resource: str, divisor: str = "0") -> Object:
    return variable(resourceFieldRef={"resource": resource, "divisor": divisor})


def file(volume: Object | None = None, **key: Any) -> Object:
    volumes = [{"name": "v", **volume}] if volume else []
    return {"volumes": volumes, **variable(fileKeyRef={"volumeName": "v", "path": "p", "key": "K", **key})}


CASES: dict[str, tuple[Object, list[str]]] = {
    "all of a secret": (everything(secretRef={"name": "s"}, prefix="P_"), []),
    "all of nothing": (
        everything(),
        [
            'containers[0].envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
        ],
    ),
    "all of both": (
        everything(secretRef={"name": "s"}, configMapRef={"name": "m"}),
        [
            'containers[0].envFrom: Invalid value: "": may not have more than one field specified at a time',
        ],
    ),
    "label": (field("metadata.labels['a']"), []),
    "annotation in capitals": (field("metadata.annotations['A/B']"), []),
    "label in capitals": (
        field("metadata.labels['A/B']"),
        [
            'containers[0].env[0].valueFrom.fieldRef: Invalid value: "A/B": prefix part a '
            "lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
            "'-' or '.', and must start and end with an alphanumeric character (e.g. "
            "'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\."
            "[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ],
    ),
    "subscript of another field": (
        field("spec.nodeName['a']"),
        [
            "containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "
            "\"spec.nodeName['a']\": error converting fieldPath: field label does not support "
            "subscript: spec.nodeName['a']",
        ],
    ),
    "field of another version": (
        field("metadata.name", "v2"),
        [
            "containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "
            '"metadata.name": error converting fieldPath: unsupported pod version: v2',
        ],
    ),
    "unknown field": (
        field("spec.nothing"),
        [
            "containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "
            '"spec.nothing": error converting fieldPath: field label not supported: '
            "spec.nothing",
        ],
    ),
    "field that only volumes have": (
        field("metadata.labels"),
        [
            "containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "
            '"metadata.labels": supported values: "metadata.name", "metadata.namespace", '
            '"metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", '
            '"status.hostIPs", "status.podIP", "status.podIPs"',
        ],
    ),
    "old name of a field": (field("spec.host"), []),
    "no field": (
        variable(fieldRef={"apiVersion": "v1"}),
        [
            "containers[0].env[0].valueFrom.fieldRef.fieldPath: Required value",
        ],
    ),
    "processors": (amount("limits.cpu", "1m"), []),
    "processors by bytes": (
        amount("limits.cpu", "1Ki"),
        [
            "containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "
            '"limits.cpu": only divisor\'s values 1m and 1 are supported with the cpu resource',
        ],
    ),
    "memory": (amount("requests.memory", "1Mi"), []),
    "memory by thousandths": (
        amount("requests.memory", "1m"),
        [
            "containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "
            '"requests.memory": only divisor\'s values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, '
            "1Gi, 1Ti, 1Pi, 1Ei are supported with the memory resource",
        ],
    ),
    "storage by thousandths": (
        amount("limits.ephemeral-storage", "1m"),
        [
            "containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "
            '"limits.ephemeral-storage": only divisor\'s values 1, 1k, 1M, 1G, 1T, 1P, 1E, '
            "1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the local ephemeral storage "
            "resource",
        ],
    ),
    "huge pages": (amount("limits.hugepages-2Mi", "1Mi"), []),
    "huge pages by thousandths": (
        amount("requests.hugepages-2Mi", "1m"),
        [
            "containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "
            '"requests.hugepages-2Mi": only divisor\'s values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, '
            "1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the hugepages resource",
        ],
    ),
    "other resource": (
        amount("limits.gpu", "1m"),
        [
            "containers[0].env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "
            '"limits.gpu": supported values: "limits.cpu", "limits.ephemeral-storage", '
            '"limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"',
        ],
    ),
    "no resource": (
        amount(""),
        [
            "containers[0].env[0].valueFrom.resourceFieldRef.resource: Required value",
        ],
    ),
    "file": (file({"emptyDir": {}}), []),
    "file of another volume": (
        file({"hostPath": {"path": "/"}}),
        [
            'containers[0].env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "v": '
            "referenced volume must be of type emptyDir",
        ],
    ),
    "file of no volume": (
        file(),
        [
            'containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: "v"',
        ],
    ),
    "file of nothing": (
        file({"emptyDir": {}}, path="", key="", volumeName=""),
        [
            "containers[0].env[0].valueFrom.fileKeyRef.key: Required value",
            "containers[0].env[0].valueFrom.fileKeyRef.volumeName: Required value",
            "containers[0].env[0].valueFrom.fileKeyRef.path: Required value",
            'containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: ""',
        ],
    ),
    "file above": (
        file({"emptyDir": {}}, path="../x", key="="),
        [
            'containers[0].env[0].valueFrom.fileKeyRef.key: Invalid value: "=": a valid '
            "environment variable name must consist only of printable ASCII characters other "
            "than '='",
            "containers[0].env[0].valueFrom.fileKeyRef.path: Invalid value: \"../x\": must not contain '..'",
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), CASES.values(), ids=CASES)
def test_a_variable_is_judged(spec_errors: Errors, spec: Object, expected: list[str]) -> None:
    assert spec_errors(spec) == expected
