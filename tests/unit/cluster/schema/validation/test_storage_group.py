"""storage.k8s.io: classes, drivers, their nodes, attachments and capacities."""

from __future__ import annotations

from typing import Any

import pytest

GROUP = "storage.k8s.io"
META = {"name": "a", "resourceVersion": "1"}
BASES: dict[str, dict[str, Any]] = {
    "StorageClass": {
        "metadata": META,
        "provisioner": "example.com/disk",
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
    },
    "VolumeAttributesClass": {"metadata": META, "driverName": "example.com", "parameters": {"iops": "5"}},
    "VolumeAttachment": {
        "metadata": META,
        "spec": {"attacher": "example.com", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
        "status": {},
    },
    "CSIDriver": {
        "metadata": META,
        "spec": {"attachRequired": True, "podInfoOnMount": False, "storageCapacity": False},
    },
    "CSINode": {
        "metadata": META,
        "spec": {"drivers": [{"name": "example.com", "nodeID": "n"}]},
        "status": {},
    },
    "CSIStorageCapacity": {
        "metadata": {**META, "namespace": "n"},
        "storageClassName": "fast",
        "capacity": "1Gi",
    },
}
IMMUTABLE = "Invalid value: null: field is immutable"
LONG = "a" * 64


@pytest.mark.parametrize("kind", BASES)
def test_a_valid_object_is_created_and_updated(created: Any, updated: Any, kind: str) -> None:
    assert created(GROUP, kind, BASES[kind], {}) == []
    assert updated(GROUP, kind, BASES[kind], {"metadata": {"labels": {"a": "b"}}}) == []


def topology(*expressions: tuple[str, list[str]]) -> dict[str, Any]:
    return {"matchLabelExpressions": [{"key": key, "values": values} for key, values in expressions]}


CREATED: dict[str, tuple[str, Any, list[str]]] = {
    "no provisioner": ("StorageClass", {"provisioner": None}, ["provisioner: Required value"]),
    "choices": (
        "StorageClass",
        {"reclaimPolicy": "Recycle", "volumeBindingMode": "Later"},
        [
            'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
            'volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", '
            '"WaitForFirstConsumer"',
        ],
    ),
    "empty parameter": (
        "StorageClass",
        {"parameters": {"": "x"}},
        ['parameters: Invalid value: "": field can not be empty.'],
    ),
    "large parameters": (
        "StorageClass",
        {"parameters": {"x": "x" * 256 * 1024}},
        ["parameters: Too long: may not be more than 262144 bytes"],
    ),
    "topologies": (
        "StorageClass",
        {
            "allowedTopologies": [
                topology(("zone", ["a", "a"]), ("zone", ["b"])),
                topology(("zone", ["b"])),
                topology(("rack", [])),
            ]
        },
        [
            'allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "a"',
            'allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: "zone"',
            'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
            "allowedTopologies[2].matchLabelExpressions[0].values: Required value",
        ],
    ),
    "no attributes": (
        "VolumeAttributesClass",
        {"driverName": None, "parameters": None},
        [
            "driverName: Required value",
            "parameters: Required value: must contain at least one key/value pair",
        ],
    ),
    "attachment to nothing": (
        "VolumeAttachment",
        {"spec": {"attacher": None, "source": {"persistentVolumeName": None}}},
        [
            "spec.source: Required value: must specify exactly one of inlineVolumeSpec and "
            "persistentVolumeName",
            "spec.attacher: Required value",
        ],
    ),
    "long attacher": (
        "VolumeAttachment",
        {"spec": {"attacher": LONG}},
        ["spec.attacher: Too long: may not be more than 63 characters"],
    ),
    "driver choices": (
        "CSIDriver",
        {"spec": {"fsGroupPolicy": "Some", "volumeLifecycleModes": ["Eternal"]}},
        [
            'spec.fsGroupPolicy: Unsupported value: "Some": '
            'supported values: "File", "None", "ReadWriteOnceWithFSType"',
            'spec.volumeLifecycleModes: Unsupported value: "Eternal": supported values: '
            '"Persistent", "Ephemeral"',
        ],
    ),
    "driver tokens": (
        "CSIDriver",
        {"spec": {"tokenRequests": [{"audience": "a", "expirationSeconds": 1}, {"audience": "a"}]}},
        [
            "spec.tokenRequests[0].expirationSeconds: Invalid value: 1: "
            "may not specify a duration less than 10 minutes",
            'spec.tokenRequests[1].audience: Duplicate value: "a"',
        ],
    ),
    "tokens in secrets": (
        "CSIDriver",
        {"spec": {"serviceAccountTokenInSecrets": True, "nodeAllocatableUpdatePeriodSeconds": 9}},
        [
            "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or "
            "equal to 10 seconds",
            "spec.serviceAccountTokenInSecrets: Invalid value: true: "
            "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
        ],
    ),
    "node drivers": (
        "CSINode",
        {
            "spec": {
                "drivers": [
                    {"name": "a", "nodeID": "n", "topologyKeys": ["k", "k"]},
                    {"name": "a", "allocatable": {"count": -1}},
                ]
            }
        },
        [
            'spec.drivers[0]: Duplicate value: "k"',
            "spec.drivers[1].nodeID: Required value",
            "spec.drivers[1].allocatable.count: Invalid value: -1: must be greater than or equal to 0",
            'spec.drivers[1].name: Duplicate value: "a"',
        ],
    ),
    "negative capacity": (
        "CSIStorageCapacity",
        {"capacity": "-1"},
        ['capacity: Invalid value: "-1": must be greater than or equal to 0'],
    ),
    "attachment of a volume": ("VolumeAttachment", {"spec": {"source": {"persistentVolumeName": "v"}}}, []),
    "attachment of a wrong volume": (
        "VolumeAttachment",
        {"spec": {"source": {"persistentVolumeName": "V_"}}},
        [
            'spec.source.persistentVolumeName: Invalid value: "V_": a lowercase RFC 1123 '
            "subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
            "must start and end with an alphanumeric character (e.g. 'example.com', regex "
            "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\."
            "[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ],
    ),
    "attachment that failed": (
        "VolumeAttachment",
        {"status": {"attachError": {"errorCode": 0}, "detachError": {"errorCode": -1}}},
        [
            "status.detachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive",
        ],
    ),
    "tokens": (
        "CSIDriver",
        {"spec": {"tokenRequests": [{"audience": "a", "expirationSeconds": 600}, {"audience": "b"}]}},
        [],
    ),
    "tokens for a moment": (
        "CSIDriver",
        {
            "spec": {
                "tokenRequests": [
                    {"audience": "a", "expirationSeconds": 599},
                    {"audience": "b", "expirationSeconds": (1 << 32) + 1},
                ]
            }
        },
        [
            "spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a "
            "duration less than 10 minutes",
            "spec.tokenRequests[1].expirationSeconds: Invalid value: 4294967297: may not "
            "specify a duration larger than 2^32 seconds",
        ],
    ),
    "topology keys twice": (
        "CSINode",
        {"spec": {"drivers": [{"name": "d", "nodeID": "n", "topologyKeys": ["a", "b", "a"]}]}},
        [
            'spec.drivers[0]: Duplicate value: "a"',
        ],
    ),
    "attachment of two volumes": (
        "VolumeAttachment",
        {"spec": {"source": {"persistentVolumeName": "v", "inlineVolumeSpec": {}}}},
        [
            "spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName",
        ],
    ),
}


@pytest.mark.parametrize(("kind", "patch", "expected"), CREATED.values(), ids=CREATED)
def test_a_wrong_object_is_refused(created: Any, kind: str, patch: Any, expected: list[str]) -> None:
    assert created(GROUP, kind, BASES[kind], patch) == expected


UPDATED: dict[str, tuple[str, Any, list[str]]] = {
    "class": (
        "StorageClass",
        {
            "provisioner": "other",
            "parameters": {"a": "b"},
            "reclaimPolicy": "Retain",
            "volumeBindingMode": None,
        },
        [
            f"{field}: {IMMUTABLE}"
            for field in ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode")
        ],
    ),
    "class without provisioner": (
        "StorageClass",
        {"provisioner": None},
        ["provisioner: Required value", f"provisioner: {IMMUTABLE}"],
    ),
    "attributes": (
        "VolumeAttributesClass",
        {"driverName": "other", "parameters": {"iops": "6"}},
        [
            "driverName: Forbidden: updates to driverName are forbidden.",
            "parameters: Forbidden: updates to parameters are forbidden.",
        ],
    ),
    "attachment": ("VolumeAttachment", {"spec": {"nodeName": "m"}}, [f"spec: {IMMUTABLE}"]),
    "driver": (
        "CSIDriver",
        {"spec": {"attachRequired": False, "volumeLifecycleModes": ["Ephemeral"]}},
        [
            "spec.attachedRequired: Invalid value: false: field is immutable",
            'spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable',
        ],
    ),
    "node": (
        "CSINode",
        {"spec": {"drivers": [{"name": "example.com", "nodeID": "m"}]}},
        [
            'spec.drivers: Invalid value: {"Name":"example.com","NodeID":"m","TopologyKeys":null,'
            '"Allocatable":null}: field is immutable'
        ],
    ),
    "node's allocatable": (
        "CSINode",
        {"spec": {"drivers": [{"name": "example.com", "nodeID": "n", "allocatable": {"count": 3}}]}},
        [],
    ),
    "capacity": (
        "CSIStorageCapacity",
        {"storageClassName": "slow", "capacity": "2Gi"},
        ['storageClassName: Invalid value: "slow": field is immutable'],
    ),
}


@pytest.mark.parametrize(("kind", "patch", "expected"), UPDATED.values(), ids=UPDATED)
def test_what_may_not_change(updated: Any, kind: str, patch: Any, expected: list[str]) -> None:
    assert updated(GROUP, kind, BASES[kind], patch) == expected


def test_health_of_storage_is_reported_once_for_each_driver(reported: Any) -> None:
    health = [{"name": "d"}, {"name": "d", "healthConditions": [{"status": "Fine"}]}]
    assert reported(GROUP, "CSINode", BASES["CSINode"], {"status": {"storageHealth": health}}) == [
        'status.storageHealth[1]: Duplicate value: "d"',
        'status.storageHealth[1].healthConditions[0].status: Unsupported value: "Fine": '
        'supported values: "StorageDegraded", "StorageUnreachable"',
        "status.storageHealth[1].healthConditions[0].reason: Required value",
    ]
