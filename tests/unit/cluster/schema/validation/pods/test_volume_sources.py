"""Sources of volumes that are not of the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Object = dict[str, Any]
Errors = Callable[[Object], list[str]]


def volume(**source: Any) -> Object:
    return {"volumes": [{"name": "v", **source}]}


def iscsi(**source: Any) -> Object:
    return volume(iscsi={"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:x", **source})


def quobyte(registry: str) -> Object:
    return volume(quobyte={"registry": registry, "volume": "x"})


def azure(**source: Any) -> Object:
    return volume(azureDisk={"diskName": "d", **source})


CASES: dict[str, tuple[Object, list[str]]] = {
    "cinder": (volume(cinder={"volumeID": "x", "secretRef": {"name": "s"}}), []),
    "cinder without secret": (volume(cinder={"volumeID": "x"}), []),
    "cinder with a nameless secret": (
        volume(cinder={"volumeID": "x", "secretRef": {}}),
        [
            "volumes[0].cinder.secretRef.name: Required value",
        ],
    ),
    "iscsi": (iscsi(lun=255, secretRef={"name": "s"}, chapAuthSession=True), []),
    "iscsi session without secret": (
        iscsi(chapAuthSession=True),
        [
            "volumes[0].iscsi.secretRef: Required value",
        ],
    ),
    "iscsi discovery without secret": (
        iscsi(chapAuthDiscovery=True),
        [
            "volumes[0].iscsi.secretRef: Required value",
        ],
    ),
    "iscsi without authentication": (iscsi(), []),
    "iscsi initiator": (iscsi(initiatorName="iqn.2001-04.com.example:y"), []),
    "iscsi initiator of a wrong form": (
        iscsi(initiatorName="me"),
        [
            'volumes[0].iscsi.initiatorname: Invalid value: "me": must be valid format '
            "starting with iqn, eui, or naa",
        ],
    ),
    "iscsi with a long portal": (iscsi(targetPortal="x" * 63), []),
    "iscsi initiator with a long portal": (
        iscsi(targetPortal="x" * 63, initiatorName="iqn.2001-04.com.example:y"),
        [
            'volumes[0].name: Invalid value: "v": Total length of <volume '
            "name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
            "specified.",
        ],
    ),
    "flocker": (volume(flocker={"datasetName": "x"}), []),
    "flocker by id": (volume(flocker={"datasetUUID": "x"}), []),
    "flocker of nothing": (
        volume(flocker={}),
        [
            "volumes[0].flocker: Required value: one of datasetName and datasetUUID is required",
        ],
    ),
    "flocker of both": (
        volume(flocker={"datasetName": "a/b", "datasetUUID": "x"}),
        [
            'volumes[0].flocker: Invalid value: "resource": datasetName and datasetUUID can '
            "not be specified simultaneously",
            "volumes[0].flocker.datasetName: Invalid value: \"a/b\": must not contain '/'",
        ],
    ),
    "quobyte": (quobyte("host:1,[::1]:2"), []),
    "quobyte without port": (
        quobyte("host"),
        [
            'volumes[0].quobyte.registry: Invalid value: "host": must be a host:port pair or '
            "multiple pairs separated by commas",
        ],
    ),
    "quobyte without bracket": (
        quobyte("[::1:2"),
        [
            'volumes[0].quobyte.registry: Invalid value: "[::1:2": must be a host:port pair '
            "or multiple pairs separated by commas",
        ],
    ),
    "quobyte with brackets": (
        quobyte("ho[st:1"),
        [
            'volumes[0].quobyte.registry: Invalid value: "ho[st:1": must be a host:port pair '
            "or multiple pairs separated by commas",
        ],
    ),
    "quobyte without port behind brackets": (
        quobyte("[::1]"),
        [
            'volumes[0].quobyte.registry: Invalid value: "[::1]": must be a host:port pair or '
            "multiple pairs separated by commas",
        ],
    ),
    "quobyte with nested brackets": (
        quobyte("[[::1]:2"),
        [
            'volumes[0].quobyte.registry: Invalid value: "[[::1]:2": must be a host:port pair '
            "or multiple pairs separated by commas",
        ],
    ),
    "azure": (azure(diskURI="https://a.blob.core.windows.net/c/d.vhd", kind="Shared"), []),
    "azure managed": (azure(diskURI="/subscriptions/x", kind="Managed"), []),
    "azure of a wrong place": (
        azure(diskURI="/subscriptions/x", kind="Dedicated"),
        [
            'volumes[0].azureDisk.diskURI: Unsupported value: "/subscriptions/x": supported '
            'values: "https://{account-name}.blob.core.windows.'
            'net/{container-name}/{disk-name}.vhd"',
        ],
    ),
    "azure managed in a wrong place": (
        azure(diskURI="https://x", kind="Managed"),
        [
            'volumes[0].azureDisk.diskURI: Unsupported value: "https://x": supported values: '
            '"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"',
        ],
    ),
    "azure of another kind": (
        azure(diskURI="https://x", kind="Odd", cachingMode="Some"),
        [
            'volumes[0].azureDisk.cachingMode: Unsupported value: "Some": supported values: '
            '"None", "ReadOnly", "ReadWrite"',
            'volumes[0].azureDisk.kind: Unsupported value: "Odd": supported values: '
            '"Dedicated", "Managed", "Shared"',
        ],
    ),
    "storage os": (volume(storageos={"volumeName": "x"}), []),
    "storage os of a wrong name": (
        volume(storageos={"volumeName": "X_", "volumeNamespace": "Y_", "secretRef": {}}),
        [
            'volumes[0].storageos.volumeName: Invalid value: "X_": a lowercase RFC 1123 label '
            "must consist of lower case alphanumeric characters or '-', and must start and "
            "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
            "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            'volumes[0].storageos.volumeNamespace: Invalid value: "Y_": a lowercase RFC 1123 '
            "label must consist of lower case alphanumeric characters or '-', and must start "
            "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
            "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            "volumes[0].storageos.secretRef.name: Required value",
        ],
    ),
    "ephemeral": (
        volume(
            ephemeral={
                "volumeClaimTemplate": {
                    "metadata": {},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                }
            }
        ),
        [],
    ),
    "claim of an ephemeral volume": (
        {
            "volumes": [
                {
                    "name": "v",
                    "ephemeral": {
                        "volumeClaimTemplate": {
                            "metadata": {},
                            "spec": {
                                "accessModes": ["ReadWriteOnce"],
                                "resources": {"requests": {"storage": "1Gi"}},
                            },
                        }
                    },
                },
                {"name": "w", "persistentVolumeClaim": {"claimName": "p-v"}},
            ]
        },
        [
            'volumes[1].persistentVolumeClaim.claimName: Invalid value: "p-v": must not '
            "reference a PVC that gets created for an ephemeral volume",
        ],
    ),
    "claim of the name of a volume": (
        {
            "volumes": [
                {"name": "v", "emptyDir": {}},
                {"name": "w", "persistentVolumeClaim": {"claimName": "p-v"}},
            ]
        },
        [],
    ),
    "downward files twice": (
        volume(
            projected={
                "sources": [
                    {
                        "downwardAPI": {
                            "items": [
                                {"path": "a", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
                                {"path": "a", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.uid"}},
                            ]
                        }
                    }
                ]
            }
        ),
        [
            'volumes[0].projected: Invalid value: "a": conflicting duplicate paths',
        ],
    ),
    "resources of a container": (
        volume(
            downwardAPI={
                "items": [
                    {"path": "a", "resourceFieldRef": {"resource": "limits.cpu"}},
                    {"path": "b", "resourceFieldRef": {"resource": "limits.cpu", "containerName": "c"}},
                ]
            }
        ),
        [
            "volumes[0].downwardAPI.resourceFieldRef.containerName: Required value",
        ],
    ),
    "trust bundle": (volume(projected={"sources": [{"clusterTrustBundle": {"name": "b", "path": "p"}}]}), []),
    "trust bundle of a signer": (
        volume(
            projected={
                "sources": [
                    {
                        "clusterTrustBundle": {
                            "signerName": "a.b/c",
                            "labelSelector": {"matchLabels": {"a": "b"}},
                            "path": "p",
                        }
                    }
                ]
            }
        ),
        [],
    ),
    "trust bundle of both": (
        volume(
            projected={"sources": [{"clusterTrustBundle": {"name": "b", "signerName": "a.b/c", "path": "p"}}]}
        ),
        [
            "volumes[0].projected.sources[0].clusterTrustBundle: Invalid value: "
            '{"Name":"b","SignerName":"a.'
            'b/c","LabelSelector":null,"Optional":null,"Path":"p","User":null}: only one of '
            "name and signerName may be used",
        ],
    ),
    "trust bundle of nothing": (
        volume(projected={"sources": [{"clusterTrustBundle": {}}]}),
        [
            "volumes[0].projected.sources[0].clusterTrustBundle: Required value: either name "
            "or signerName must be specified",
            "volumes[0].projected.sources[0].clusterTrustBundle.path: Required value",
        ],
    ),
    "trust bundle of an empty name": (
        volume(
            projected={"sources": [{"clusterTrustBundle": {"name": "", "labelSelector": {}, "path": "p"}}]}
        ),
        [
            "volumes[0].projected.sources[0].clusterTrustBundle.name: Required value: must be "
            "a valid object name",
            'volumes[0].projected.sources[0].clusterTrustBundle.name: Invalid value: "": not '
            "a valid clustertrustbundlename: a lowercase RFC 1123 subdomain must consist of "
            "lower case alphanumeric characters, '-' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'example.com', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            "volumes[0].projected.sources[0].clusterTrustBundle.labelSelector: Invalid value: "
            "{}: labelSelector must be unset if name is specified",
        ],
    ),
    "trust bundle of an empty signer": (
        volume(projected={"sources": [{"clusterTrustBundle": {"signerName": "", "path": "p"}}]}),
        [
            "volumes[0].projected.sources[0].clusterTrustBundle.signerName: Required value: "
            "must be a valid signer name",
            "volumes[0].projected.sources[0].clusterTrustBundle.signerName: Required value",
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), CASES.values(), ids=CASES)
def test_a_source_is_judged(spec_errors: Errors, spec: Object, expected: list[str]) -> None:
    assert spec_errors(spec) == expected
