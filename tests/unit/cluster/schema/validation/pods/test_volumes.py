"""Volumes: one source each, and the rules of every source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Errors = Callable[[dict[str, Any]], list[str]]

MODE = "must be a number between 0 and 0777 (octal), both inclusive"
SOURCES = {
    "none": ({}, [": Required value: must specify a volume type"]),
    "two": (
        {"emptyDir": {}, "hostPath": {"path": "/x"}},
        [".hostPath: Forbidden: may not specify more than 1 volume type"],
    ),
    "emptyDir": (
        {"emptyDir": {"sizeLimit": "-1"}},
        [".emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"],
    ),
    "hostPath": (
        {"hostPath": {"path": "/a/../b", "type": "Folder"}},
        [
            ".hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
            '.hostPath.type: Unsupported value: "Folder": supported values: "", "BlockDevice", "CharDevice", '
            '"Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
        ],
    ),
    "secret": (
        {"secret": {"defaultMode": 512, "items": [{"key": "", "path": "..x"}]}},
        [
            ".secret.secretName: Required value",
            f".secret.defaultMode: Invalid value: 512: {MODE}",
            ".secret.items[0].key: Required value",
            ".secret.items[0].path: Invalid value: \"..x\": must not start with '..'",
        ],
    ),
    "configMap": ({"configMap": {}}, [".configMap.name: Required value"]),
    "nfs": (
        {"nfs": {"server": "s", "path": "x"}},
        ['.nfs.path: Invalid value: "x": must be an absolute path'],
    ),
    "persistentVolumeClaim": (
        {"persistentVolumeClaim": {}},
        [".persistentVolumeClaim.claimName: Required value"],
    ),
    "csi": ({"csi": {}}, [".csi.driver: Required value"]),
    "iscsi": (
        {"iscsi": {"targetPortal": "p", "iqn": "x", "lun": 256}},
        [
            '.iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa',
            ".iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive",
        ],
    ),
    "gcePersistentDisk": ({"gcePersistentDisk": {}}, [".persistentDisk.pdName: Required value"]),
    "quobyte": (
        {"quobyte": {"registry": "host", "volume": "v"}},
        [
            '.quobyte.registry: Invalid value: "host": '
            "must be a host:port pair or multiple pairs separated by commas"
        ],
    ),
    "azureDisk": (
        {"azureDisk": {"diskName": "d", "diskURI": "x", "kind": "Managed"}},
        [
            '.azureDisk.diskURI: Unsupported value: "x": supported values: '
            ""
            '"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"'
        ],
    ),
    "fc": (
        {"fc": {"targetWWNs": ["a"]}},
        [".fc.lun: Required value: lun is required if targetWWNs is specified"],
    ),
    "flexVolume": (
        {"flexVolume": {"driver": "d", "options": {"kubernetes.io/x": "y"}}},
        [
            '.flexVolume.options[kubernetes.io/x]: Invalid value: "kubernetes.io/x": '
            "kubernetes.io and k8s.io namespaces are reserved"
        ],
    ),
    "downwardAPI": (
        {"downwardAPI": {"items": [{"path": "a"}]}},
        [".downwardAPI: Required value: one of fieldRef and resourceFieldRef is required"],
    ),
    "projected token": (
        {"projected": {"sources": [{"serviceAccountToken": {"expirationSeconds": 1, "path": "/t"}}]}},
        [
            ".projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 1: "
            "may not specify a duration less than 10 minutes",
            '.projected.path: Invalid value: "/t": must be a relative path',
            ".projected.sources[0].serviceAccountToken: Forbidden: "
            "must not be specified when serviceAccountName is not set",
        ],
    ),
    "projected twice to one path": (
        {
            "projected": {
                "sources": [
                    {"secret": {"name": "s", "items": [{"key": "k", "path": "p"}]}},
                    {"configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}},
                ]
            }
        },
        ['.projected: Invalid value: "c": conflicting duplicate paths'],
    ),
    "projected certificate": (
        {"projected": {"sources": [{"podCertificate": {"signerName": "x", "keyType": "RSA1"}}]}},
        [
            '.projected.sources[0].podCertificate.signerName: Invalid value: "x": must be a fully qualified '
            "domain "
            "and path of the form 'example.com/signer-name'",
            '.projected.sources[0].podCertificate.keyType: Unsupported value: "RSA1": supported values: '
            '"RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"',
            ".projected.sources[0].podCertificate: Required value: "
            "specify at least one of credentialBundlePath, keyPath, and certificateChainPath",
        ],
    ),
    "ephemeral": (
        {"ephemeral": {"volumeClaimTemplate": {"metadata": {"name": "n"}, "spec": {"resources": {}}}}},
        [
            ".ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set",
            ".ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is "
            "required",
            ".ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value",
        ],
    ),
    "image": ({"image": {"pullPolicy": "Always"}}, [".image.reference: Required value"]),
}


@pytest.mark.parametrize(("source", "expected"), SOURCES.values(), ids=SOURCES)
def test_a_source_is_judged(spec_errors: Errors, source: dict[str, Any], expected: list[str]) -> None:
    errors = spec_errors({"volumes": [{"name": "v", **source}]})
    assert [error.removeprefix("volumes[0]") for error in errors] == expected


def test_a_volume_s_name_is_taken_once(spec_errors: Errors) -> None:
    volume = {"name": "v", "emptyDir": {}}
    assert spec_errors({"volumes": [volume, volume]}) == ['volumes[1].name: Duplicate value: "v"']


def test_a_claim_made_for_the_pod_is_not_claimed_by_name(spec_errors: Errors) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    errors = spec_errors(
        {
            "volumes": [
                {"name": "a", "ephemeral": {"volumeClaimTemplate": {"metadata": {}, "spec": claim}}},
                {"name": "b", "persistentVolumeClaim": {"claimName": "p-a"}},
            ]
        }
    )
    assert errors == [
        'volumes[1].persistentVolumeClaim.claimName: Invalid value: "p-a": '
        "must not reference a PVC that gets created for an ephemeral volume"
    ]


MOUNTS = {
    "twice at one place": (
        [{"name": "v", "mountPath": "/x"}, {"name": "v", "mountPath": "/x"}],
        ['[1].mountPath: Invalid value: "/x": must be unique'],
    ),
    "no place": ([{"name": "v", "mountPath": ""}], ["[0].mountPath: Required value"]),
    "climbing": (
        [{"name": "v", "mountPath": "/x", "subPath": "a/../b"}],
        [".subPath: Invalid value: \"a/../b\": must not contain '..'"],
    ),
    "both sub paths": (
        [{"name": "v", "mountPath": "/x", "subPath": "a", "subPathExpr": "b"}],
        ['[0].subPathExpr: Invalid value: "b": subPathExpr and subPath are mutually exclusive'],
    ),
    "both ways": (
        [{"name": "v", "mountPath": "/x", "mountPropagation": "Bidirectional"}],
        [
            ".mountPropagation: Forbidden: "
            "Bidirectional mount propagation is available only to privileged containers"
        ],
    ),
    "read-only all the way": (
        [{"name": "v", "mountPath": "/x", "recursiveReadOnly": "Enabled"}],
        [".recursiveReadOnly: Forbidden: may only be specified when readOnly is true"],
    ),
}


@pytest.mark.parametrize(("mounts", "expected"), MOUNTS.values(), ids=MOUNTS)
def test_mounts_are_judged(
    spec_errors: Errors, container: dict[str, Any], mounts: list[dict[str, Any]], expected: list[str]
) -> None:
    container["volumeMounts"] = mounts
    errors = spec_errors({"containers": [container], "volumes": [{"name": "v", "emptyDir": {}}]})
    assert [error.removeprefix("containers[0].volumeMounts") for error in errors] == expected


def test_only_claims_are_block_devices(spec_errors: Errors, container: dict[str, Any]) -> None:
    container["volumeDevices"] = [{"name": "v", "devicePath": "/dev/x"}]
    assert spec_errors({"containers": [container], "volumes": [{"name": "v", "emptyDir": {}}]}) == [
        'containers[0].volumeDevices[0].name: Invalid value: "v": '
        "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
    ]


def test_an_image_says_when_it_is_pulled(spec_errors: Any) -> None:
    def errors(**image: str) -> list[str]:
        found: list[str] = spec_errors({"volumes": [{"name": "v", "image": {"reference": "nginx", **image}}]})
        return found

    assert errors(pullPolicy="Always") == []
    assert errors() == ["volumes[0].image.pullPolicy: Required value"]
    assert errors(pullPolicy="Odd") == [
        'volumes[0].image.pullPolicy: Unsupported value: "Odd": supported values: "Always", "IfNotPresent", '
        '"Never"'
    ]


def test_a_token_needs_an_account(spec_errors: Any) -> None:
    token = {"path": "t", "expirationSeconds": 3600}
    volumes = [{"name": "v", "projected": {"sources": [{"downwardAPI": {}}, {"serviceAccountToken": token}]}}]
    account = {"serviceAccountName": "a", "serviceAccount": "a"}
    assert spec_errors({"volumes": volumes, **account}) == []
    (error,) = spec_errors({"volumes": volumes})
    assert error.startswith("volumes[0].projected.sources[1].serviceAccountToken: Forbidden: ")
