"""PersistentVolumes and PersistentVolumeClaims."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.schema.validation.storage_core import validate_volume_spec
from steersman.objects.fields import Path

VOLUME: dict[str, Any] = {
    "metadata": {"name": "v", "resourceVersion": "1"},
    "spec": {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "volumeMode": "Filesystem",
        "hostPath": {"path": "/data", "type": ""},
    },
    "status": {"phase": "Available"},
}
AFFINITY = {
    "required": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "z", "operator": "In", "values": ["a"]}]}]
    }
}


def source(**fields: Any) -> dict[str, Any]:
    return {"spec": {"hostPath": None, **fields}}


VOLUMES = {
    "valid": ({}, []),
    "no access mode": ({"spec": {"accessModes": None}}, ["spec.accessModes: Required value"]),
    "unknown access mode": (
        {"spec": {"accessModes": ["Always"]}},
        [
            'spec.accessModes: Unsupported value: "Always": supported values: '
            '"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
        ],
    ),
    "one pod and more": (
        {"spec": {"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]}},
        ["spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"],
    ),
    "no capacity": (
        {"spec": {"capacity": None}},
        [
            "spec.capacity: Required value",
            'spec.capacity: Unsupported value: null: supported values: "storage"',
        ],
    ),
    "other capacities": (
        {"spec": {"capacity": {"cpu": "1"}}},
        ['spec.capacity: Unsupported value: {"cpu":"1","storage":"1Gi"}: supported values: "storage"'],
    ),
    "negative capacity": (
        {"spec": {"capacity": {"storage": "-1"}}},
        [
            "spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
            'spec.capacity[storage]: Invalid value: "-1": must be greater than zero',
        ],
    ),
    "unknown reclaim policy": (
        {"spec": {"persistentVolumeReclaimPolicy": "Burn"}},
        [
            'spec.persistentVolumeReclaimPolicy: Unsupported value: "Burn": supported values: '
            '"Delete", "Recycle", "Retain"'
        ],
    ),
    "recycling the whole host": (
        {"spec": {"persistentVolumeReclaimPolicy": "Recycle", "hostPath": {"path": "/a/.."}}},
        [
            "spec.hostPath.path: Invalid value: \"/a/..\": must not contain '..'",
            "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
        ],
    ),
    "no source": (source(), ["spec: Required value: must specify a volume type"]),
    "two sources": (
        {"spec": {"nfs": {"server": "s", "path": "/"}, "cephfs": {"monitors": ["m"]}}},
        [
            "spec.nfs: Forbidden: may not specify more than 1 volume type",
            "spec.cephFS: Forbidden: may not specify more than 1 volume type",
        ],
    ),
    "local without a place": (
        source(local={"path": "/disk"}),
        ["spec.nodeAffinity: Required value: Local volume requires node affinity"],
    ),
    "local": (source(local={"path": "/disk"}, nodeAffinity=AFFINITY), []),
    "place without terms": (
        {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": None}}}},
        [
            "spec.nodeAffinity.required.nodeSelectorTerms: Required value: "
            "must have at least one node selector term"
        ],
    ),
    "place without constraints": (
        {"spec": {"nodeAffinity": {}}},
        ["spec.nodeAffinity.required: Required value: must specify required node constraints"],
    ),
    "CSI": (
        source(csi={"driver": "", "volumeHandle": "", "nodePublishSecretRef": {"name": "s"}}),
        [
            "spec.csi.driver: Required value",
            "spec.csi.volumeHandle: Required value",
            "spec.csi.nodePublishSecretRef.namespace: Required value",
        ],
    ),
    "ISCSI": (
        source(iscsi={"targetPortal": "t", "iqn": "nope", "lun": 256, "chapAuthSession": True}),
        [
            'spec.iscsi.iqn: Invalid value: "nope": must be valid format',
            "spec.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive",
            "spec.iscsi.secretRef: Required value",
        ],
    ),
    "disk of a cloud": (
        source(gcePersistentDisk={"pdName": "", "partition": 300}),
        [
            "spec.persistentDisk.pdName: Required value",
            "spec.persistentDisk.partition: Invalid value: 300: must be between 1 and 255, inclusive",
        ],
    ),
    "secret elsewhere": (
        source(azureFile={"secretName": "s", "shareName": "h", "secretNamespace": ""}),
        ["spec.azureFile.secretNamespace: Required value"],
    ),
    "unknown mode": (
        {"spec": {"volumeMode": "Tape"}},
        ['spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"'],
    ),
    "attributes without a driver": (
        {"spec": {"volumeAttributesClassName": ""}},
        [
            "spec.volumeAttributesClassName: Required value: an empty string is disallowed",
            "spec.csi: Required value: has to be specified when using volumeAttributesClassName",
        ],
    ),
    "mount options for a host path": (
        {"metadata": {"annotations": {"volume.beta.kubernetes.io/mount-options": "ro"}}},
        [
            "metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: "
            "may not specify mount options for this volume type"
        ],
    ),
    "gluster": (source(glusterfs={"endpoints": "e", "path": "p", "endpointsNamespace": "n"}), []),
    "gluster of a wrong namespace": (
        source(glusterfs={"endpoints": "e", "path": "p", "endpointsNamespace": "N_"}),
        [
            'spec.glusterfs.endpointsNamespace: Invalid value: "N_": a lowercase RFC 1123 '
            "label must consist of lower case alphanumeric characters or '-', and must start "
            "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
            "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        ],
    ),
    "cinder": (source(cinder={"volumeID": "x"}), []),
    "cinder of nothing": (
        source(cinder={}),
        [
            "spec.cinder.volumeID: Required value",
        ],
    ),
    "iscsi": (
        source(
            iscsi={
                "targetPortal": "1.2.3.4",
                "iqn": "iqn.2001-04.com.example:x",
                "initiatorName": "iqn.2001-04.com.example:y",
            }
        ),
        [],
    ),
    "iscsi with a long portal": (
        source(
            iscsi={
                "targetPortal": "x" * 64,
                "iqn": "iqn.2001-04.com.example:x",
                "initiatorName": "iqn.2001-04.com.example:y",
            }
        ),
        [
            "spec.iscsi.targetportal: Invalid value: "
            '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": Total length '
            "of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
            "iscsi.initiatorName is specified.",
        ],
    ),
    "iscsi with a secret": (
        source(
            iscsi={
                "targetPortal": "1.2.3.4",
                "iqn": "iqn.2001-04.com.example:x",
                "chapAuthSession": True,
                "secretRef": {"name": "s", "namespace": "n"},
            }
        ),
        [],
    ),
    "iscsi without secret": (
        source(
            iscsi={"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:x", "chapAuthSession": True}
        ),
        [
            "spec.iscsi.secretRef: Required value",
        ],
    ),
    "storage os": (source(storageos={"volumeName": "v", "secretRef": {"name": "s", "namespace": "n"}}), []),
}


@pytest.mark.parametrize("patch, expected", VOLUMES.values(), ids=VOLUMES)
def test_volume_is_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created("", "PersistentVolume", VOLUME, patch) == expected


def test_inline_volume_is_of_a_driver_and_has_no_place() -> None:
    spec = {**VOLUME["spec"], "claimRef": {}, "nodeAffinity": AFFINITY, "storageClassName": "s"}
    assert [str(error) for error in validate_volume_spec(spec, "v", Path("spec"), inline=True)] == [
        "spec.claimRef: Forbidden: may not be specified in the context of inline volumes",
        "spec.capacity: Forbidden: may not be specified in the context of inline volumes",
        "spec.csi: Required value: has to be specified in the context of inline volumes",
        "spec.nodeAffinity: Forbidden: may not be specified in the context of inline volumes",
        "spec.storageClassName: Forbidden: may not be specified in the context of inline volumes",
    ]


def test_source_stays_and_the_difference_is_shown(updated: Any) -> None:
    assert updated("", "PersistentVolume", VOLUME, {"spec": {"hostPath": {"path": "/other"}}}) == [
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n"
        "@@ -2,7 +2,7 @@\n"
        '  "GCEPersistentDisk": null,\n'
        '  "AWSElasticBlockStore": null,\n'
        '  "HostPath": {\n'
        '-  "Path": "/data",\n'
        '+  "Path": "/other",\n'
        '   "Type": ""\n'
        "  },\n"
        '  "Glusterfs": null,\n'
    ]


CSI_VOLUME: dict[str, Any] = {
    **VOLUME,
    "spec": {
        **{key: value for key, value in VOLUME["spec"].items() if key != "hostPath"},
        "csi": {"driver": "d.example", "volumeHandle": "h", "volumeAttributes": {"b": "1", "a": "2"}},
        "volumeAttributesClassName": "gold",
        "nodeAffinity": {
            "required": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": "beta.kubernetes.io/os", "operator": "In", "values": ["linux"]}
                        ]
                    }
                ]
            }
        },
    },
}


def place(key: str, value: str) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]
    return {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}}


SECRET = {"name": "s", "namespace": "n"}
VOLUME_UPDATES = {
    "secret for expanding": ({"spec": {"csi": {"controllerExpandSecretRef": SECRET}}}, []),
    "label renamed": (place("kubernetes.io/os", "linux"), []),
    "other place": (
        place("beta.kubernetes.io/os", "windows"),
        [
            'nodeAffinity: Invalid value: {"Required":{"NodeSelectorTerms":[{"MatchExpressions":'
            '[{"Key":"beta.kubernetes.io/os","Operator":"In","Values":["windows"]}],"MatchFields":null}]}}: '
            "field is immutable, except for updating from beta label to GA"
        ],
    ),
    "other mode": (
        {"spec": {"volumeMode": "Block"}},
        ['volumeMode: Invalid value: "Block": field is immutable'],
    ),
    "attributes dropped": (
        {"spec": {"volumeAttributesClassName": None}},
        ["spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden"],
    ),
}


@pytest.mark.parametrize("patch, expected", VOLUME_UPDATES.values(), ids=VOLUME_UPDATES)
def test_volume_is_updated_or_refused(updated: Any, patch: Any, expected: list[str]) -> None:
    assert updated("", "PersistentVolume", CSI_VOLUME, patch) == expected


CLAIM: dict[str, Any] = {
    "metadata": {"name": "c", "namespace": "default", "resourceVersion": "1"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "fast",
        "volumeMode": "Filesystem",
    },
    "status": {"phase": "Pending"},
}
CLAIMS = {
    "valid": ({}, []),
    "no access mode": (
        {"spec": {"accessModes": None}},
        ["spec.accessModes: Required value: at least 1 access mode is required"],
    ),
    "no size": ({"spec": {"resources": {"requests": None}}}, ["spec.resources[storage]: Required value"]),
    "size of nothing": (
        {"spec": {"resources": {"requests": {"storage": "0"}}}},
        ['spec.resources[storage]: Invalid value: "0": must be greater than zero'],
    ),
    "unknown mode": (
        {"spec": {"volumeMode": "Tape"}},
        ['spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"'],
    ),
    "source of an unknown kind": (
        {"spec": {"dataSource": {"kind": "Pod", "name": ""}, "dataSourceRef": {"kind": "Pod", "name": ""}}},
        [
            f"spec.{field}{error}"
            for field in ("dataSource", "dataSourceRef")
            for error in (
                ".name: Required value",
                ': Invalid value: "Pod": '
                "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
            )
        ],
    ),
    "sources that differ": (
        {
            "spec": {
                "dataSource": {"kind": "PersistentVolumeClaim", "name": "a"},
                "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "b"},
            }
        },
        ["spec: Invalid value: {}: must match dataSourceRef"],
    ),
    "odd selector": (
        {"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}},
        ['spec.selector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator'],
    ),
}


@pytest.mark.parametrize("patch, expected", CLAIMS.values(), ids=CLAIMS)
def test_claim_is_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created("", "PersistentVolumeClaim", CLAIM, patch) == expected


BOUND: dict[str, Any] = {
    **CLAIM,
    "spec": {**CLAIM["spec"], "volumeName": "v"},
    "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}},
}
ONLY = (
    "spec: Forbidden: spec is immutable after creation except resources.requests and "
    "volumeAttributesClassName for bound claims\n"
)
CLAIM_UPDATES = {
    "labels": (CLAIM, {"metadata": {"labels": {"a": "b"}}}, []),
    "volume is found": (CLAIM, {"spec": {"volumeName": "v"}}, []),
    "same size, other spelling": (CLAIM, {"spec": {"resources": {"requests": {"storage": "1024Mi"}}}}, []),
    "bound claim grows": (BOUND, {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}, []),
    "bound claim changes attributes": (BOUND, {"spec": {"volumeAttributesClassName": "gold"}}, []),
    "bound claim shrinks": (
        BOUND,
        {"spec": {"resources": {"requests": {"storage": "500Mi"}}}},
        ["spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"],
    ),
    "pending claim grows": (
        CLAIM,
        {"spec": {"resources": {"requests": {"storage": "2Gi"}}}},
        [
            f"{ONLY}@@ -6,7 +6,7 @@\n"
            '  "Resources": {\n'
            '   "Limits": null,\n'
            '   "Requests": {\n'
            '-   "storage": "1Gi"\n'
            '+   "storage": "2Gi"\n'
            "   }\n"
            "  },\n"
            '  "VolumeName": "",\n'
        ],
    ),
    "other class": (
        CLAIM,
        {"spec": {"storageClassName": "slow"}},
        [
            f"{ONLY}@@ -10,7 +10,7 @@\n"
            "   }\n"
            "  },\n"
            '  "VolumeName": "",\n'
            '- "StorageClassName": "fast",\n'
            '+ "StorageClassName": "slow",\n'
            '  "VolumeMode": "Filesystem",\n'
            '  "DataSource": null,\n'
            '  "DataSourceRef": null,\n'
        ],
    ),
}


@pytest.mark.parametrize("old, patch, expected", CLAIM_UPDATES.values(), ids=CLAIM_UPDATES)
def test_claim_is_updated_or_refused(updated: Any, old: Any, patch: Any, expected: list[str]) -> None:
    assert updated("", "PersistentVolumeClaim", old, patch) == expected


def test_class_may_be_set_once_or_moved_from_the_annotation(updated: Any) -> None:
    key = "volume.beta.kubernetes.io/storage-class"
    spec = {name: value for name, value in CLAIM["spec"].items() if name != "storageClassName"}
    classless = {**CLAIM, "spec": spec}
    annotated = {**classless, "metadata": {**CLAIM["metadata"], "annotations": {key: "fast"}}}
    assert updated("", "PersistentVolumeClaim", classless, {"spec": {"storageClassName": "fast"}}) == []
    assert updated("", "PersistentVolumeClaim", annotated, {"spec": {"storageClassName": "fast"}}) == []
    errors = updated("", "PersistentVolumeClaim", annotated, {"metadata": {"annotations": {key: "slow"}}})
    assert errors == [f'metadata.annotations.{key}: Invalid value: "slow": field is immutable']


STATUSES = {
    "progress": (
        {
            "capacity": {"storage": "1Gi"},
            "allocatedResources": {"storage": "2Gi"},
            "allocatedResourceStatuses": {"storage": "NodeResizePending"},
        },
        [],
    ),
    "unknown state": (
        {"allocatedResourceStatuses": {"storage": "Stuck"}},
        [
            'status.allocatedResourceStatuses: Unsupported value: "storage": supported values: '
            '"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", '
            '"NodeResizeInfeasible", "NodeResizePending"'
        ],
    ),
    "foreign resource": (
        {"allocatedResources": {"cpu": "1"}},
        ['status.allocatedResources: Unsupported value: "cpu": supported values: "storage"'],
    ),
    "negative": (
        {"capacity": {"storage": "-1Gi"}},
        ["status.capacity[storage]: Invalid value: -1073741824: must be a valid resource quantity"],
    ),
}


@pytest.mark.parametrize("status, expected", STATUSES.values(), ids=STATUSES)
def test_claim_status(reported: Any, status: Any, expected: list[str]) -> None:
    assert reported("", "PersistentVolumeClaim", BOUND, {"status": status}) == expected


def claimed(status: Any = None, **spec: Any) -> dict[str, Any]:
    return {**BOUND, "spec": {**BOUND["spec"], **spec}, "status": {**BOUND["status"], **(status or {})}}


@pytest.mark.parametrize("name, shown", [(None, "nil"), ("", "empty string")])
def test_attributes_that_are_applied_are_not_given_up(updated: Any, name: str | None, shown: str) -> None:
    current = {"currentVolumeAttributesClassName": "gold"}
    patch = {"spec": {"volumeAttributesClassName": name}}
    gold = claimed(current, volumeAttributesClassName="gold")
    errors = updated("", "PersistentVolumeClaim", gold, patch)
    assert errors[-1] == (
        f"spec.volumeAttributesClassName: Forbidden: update to {shown} is forbidden when "
        "status.currentVolumeAttributesClassName is not nil"
    )
    assert not any("update to" in error for error in updated("", "PersistentVolumeClaim", claimed(), patch))
    silver = {"spec": {"volumeAttributesClassName": "silver"}}
    assert updated("", "PersistentVolumeClaim", gold, silver) == []


SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
ORIGINS = {
    "a snapshot": ({"dataSource": SNAPSHOT, "dataSourceRef": SNAPSHOT}, []),
    "a claim": ({"dataSource": {"kind": "PersistentVolumeClaim", "name": "c"}}, []),
    "what has no group": (
        {"dataSource": {"kind": "VolumeSnapshot", "name": "s"}},
        [
            'spec.dataSource: Invalid value: "VolumeSnapshot": '
            "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        ],
    ),
    "two origins": (
        {"dataSource": SNAPSHOT, "dataSourceRef": {**SNAPSHOT, "name": "t"}},
        ["spec: Invalid value: {}: must match dataSourceRef"],
    ),
    "another namespace": ({"dataSourceRef": {**SNAPSHOT, "namespace": "n"}}, []),
    "another namespace and a source": (
        {"dataSource": SNAPSHOT, "dataSourceRef": {**SNAPSHOT, "namespace": "n"}},
        ["spec: Invalid value: {}: may not be specified when dataSourceRef.namespace is specified"],
    ),
}


@pytest.mark.parametrize("spec, expected", ORIGINS.values(), ids=ORIGINS)
def test_a_claim_starts_from(created: Any, spec: Any, expected: list[str]) -> None:
    assert created("", "PersistentVolumeClaim", CLAIM, {"spec": spec}) == expected


def test_an_odd_group_of_old_may_stay(updated: Any) -> None:
    odd = {"dataSource": {**SNAPSHOT, "apiGroup": "A_"}}
    label = {"metadata": {"labels": {"a": "b"}}}
    assert updated("", "PersistentVolumeClaim", claimed(**odd), label) == []


def test_odd_places_of_old_may_stay(updated: Any) -> None:
    odd = {**VOLUME, "spec": {**VOLUME["spec"], **place("z", "x y")["spec"]}}
    assert updated("", "PersistentVolume", odd, {"metadata": {"labels": {"a": "b"}}}) == []
    error, *_ = updated("", "PersistentVolume", VOLUME, place("z", "x y"))
    assert '.values[0]: Invalid value: "x y"' in error
