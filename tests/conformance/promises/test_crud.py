"""Promises named "CRUD Tests", and the one about pod certificate requests, which goes the same way."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from steersman.cluster.auth.pki import StoredAuthority

from .crud import Crud, run_crud
from .keeping import Object, keep, promised

RESOURCE = "resource.k8s.io/v1"


def _label(name: str) -> Callable[[Object], None]:
    def update(obj: Object) -> None:
        obj["metadata"]["labels"][name] = "test"

    return update


def _labelled(name: str) -> dict[str, Any]:
    """For resources whose spec cannot change: a label is added."""
    path = f"/metadata/labels/{name}"
    return {
        "update": _label(name),
        "patch": {"metadata": {"labels": {name: "test"}}},
        "json_patch": [{"op": "add", "path": path, "value": "test"}],
    }


def _setting(*path: str | int, value: Any) -> Callable[[Object], None]:
    def update(obj: Object) -> None:
        for step in path[:-1]:
            obj = obj[step]
        obj[path[-1]] = value

    return update


def _condition(kind: str, reason: str) -> Object:
    made = {"type": kind, "status": "True", "reason": reason, "message": "This condition can be ignored."}
    return {"conditions": [{**made, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}


_DEVICES = {
    "devices": {"requests": [{"name": "req-0", "exactly": {"deviceClassName": "dra.example.com"}}]},
}

CASES = [
    Crud(
        "StorageVersionMigration CRUD Tests storagemigration.k8s.io/v1 StorageVersionMigration",
        "storagemigration.k8s.io/v1",
        "StorageVersionMigration",
        "storageversionmigrations",
        namespaced=False,
        initial={"spec": {"resource": {"group": "", "resource": "foo"}}},
        status=_condition("TestCondition", "TestReason"),
        **_labelled("test.storagemigration.example.com"),
    ),
    Crud(
        "CRUD Tests resource.k8s.io/v1 DeviceClass",
        RESOURCE,
        "DeviceClass",
        "deviceclasses",
        namespaced=False,
        initial={"spec": {"selectors": [{"cel": {"expression": "false"}}]}},
        update=_setting("spec", "selectors", 0, "cel", "expression", value="1 == 0"),
        patch={"spec": {"selectors": [{"cel": {"expression": "1 == 0"}}]}},
    ),
    Crud(
        "CRUD Tests resource.k8s.io/v1 DeviceTaintRule",
        RESOURCE,
        "DeviceTaintRule",
        "devicetaintrules",
        namespaced=False,
        # The time is the one of its creation if it is not said, and it is created several times.
        initial={
            "spec": {"taint": {"key": "testing", "effect": "None", "timeAdded": "2026-01-01T00:00:00Z"}}
        },
        update=_setting("spec", "taint", "effect", value="NoExecute"),
        patch={"spec": {"taint": {"effect": "NoExecute"}}},
        status=_condition("Testing", "E2E_test_running"),
        patches=("strategic",),
    ),
    Crud(
        "CRUD Tests resource.k8s.io/v1 ResourceClaim",
        RESOURCE,
        "ResourceClaim",
        "resourceclaims",
        namespaced=True,
        initial={"spec": _DEVICES},
        status={"allocation": {"devices": {}}},
        **_labelled("test.dra.example.com"),
    ),
    Crud(
        "CRUD Tests resource.k8s.io/v1 ResourceClaimTemplate",
        RESOURCE,
        "ResourceClaimTemplate",
        "resourceclaimtemplates",
        namespaced=True,
        initial={"spec": {"spec": _DEVICES}},
        **_labelled("test.dra.example.com"),
    ),
    Crud(
        "CRUD Tests resource.k8s.io/v1 ResourceSlice",
        RESOURCE,
        "ResourceSlice",
        "resourceslices",
        namespaced=False,
        initial={
            "spec": {
                "driver": "dra.example.com",
                "pool": {"name": "cluster", "generation": 1, "resourceSliceCount": 1},
                "nodeName": "no-such-node",
            }
        },
        update=_setting("spec", "devices", value=[{"name": "device-0"}]),
        patch={"spec": {"devices": [{"name": "device-0"}]}},
    ),
]


@pytest.mark.parametrize("case", [pytest.param(case, id=promised(case.promise)) for case in CASES])
def test_a_resource_is_written_in_every_way(case: Crud) -> None:
    keep(lambda client: run_crud(client, case))


_BUNDLES = promised("CRUD Tests certificates.k8s.io/v1 ClusterTrustBundles")
_REQUESTS = promised("PodCertificateRequest API should support PodCertificateRequest API operations")


def test_cluster_trust_bundles() -> None:
    first, second = (
        StoredAuthority.make(name).pem.decode() for name in ("crud-root-initial", "crud-root-updated")
    )
    case = Crud(
        _BUNDLES,
        "certificates.k8s.io/v1",
        "ClusterTrustBundle",
        "clustertrustbundles",
        namespaced=False,
        initial={"spec": {"trustBundle": first}},
        update=_setting("spec", "trustBundle", value=second),
        patch={"spec": {"trustBundle": second}},
        json_patch=[{"op": "replace", "path": "/spec/trustBundle", "value": second}],
    )
    keep(lambda client: run_crud(client, case))


def _certified(begin: datetime.datetime, end: datetime.datetime) -> tuple[bytes, str]:
    """A certificate request (DER), and a certificate (PEM) of the same key."""
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder(x509.Name([])).sign(key, hashes.SHA256())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "e2e.example.com")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), begin, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return (
        request.public_bytes(serialization.Encoding.DER),
        certificate.public_bytes(serialization.Encoding.PEM).decode(),
    )


def test_pod_certificate_requests() -> None:
    begin = datetime.datetime.now(datetime.UTC).replace(microsecond=0) - datetime.timedelta(minutes=1)
    end = begin + datetime.timedelta(hours=1)
    request, certificate = _certified(begin, end)

    def at(minutes: int) -> str:
        return (begin + datetime.timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")

    case = Crud(
        _REQUESTS,
        "certificates.k8s.io/v1",
        "PodCertificateRequest",
        "podcertificaterequests",
        namespaced=True,
        initial={
            "spec": {
                "signerName": "example.com/e2e",
                "podName": "test-pod",
                "podUID": "12345678-1234-1234-1234-123456789012",
                "serviceAccountName": "default",
                "serviceAccountUID": "12345678-1234-1234-1234-123456789013",
                "nodeName": "test-node",
                "nodeUID": "12345678-1234-1234-1234-123456789014",
                "maxExpirationSeconds": 86400,
                "stubPKCS10Request": base64.b64encode(request).decode(),
            }
        },
        status={
            "certificateChain": certificate,
            "notBefore": at(0),
            "notAfter": at(60),
            "beginRefreshAt": at(30),
            "conditions": [
                {
                    "type": "Issued",
                    "status": "True",
                    "reason": "E2E",
                    "message": "Issued by E2E test",
                    "lastTransitionTime": at(1),
                }
            ],
        },
        **_labelled("test.podcertificaterequest.example.com"),
    )
    keep(lambda client: run_crud(client, case))
