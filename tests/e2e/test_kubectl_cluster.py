"""kubectl on what belongs to the whole cluster: nodes, volumes, certificates."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.kubectl import WAIT, Kubectl
from tests.support.manifests import node, pod

pytestmark = pytest.mark.slow


def test_nodes_are_cordoned_and_tainted(cluster_kubectl: Kubectl) -> None:
    kubectl = cluster_kubectl
    kubectl.create(node("worker"))
    fresh = kubectl.get("node worker")
    assert fresh["spec"]["taints"] == [{"effect": "NoSchedule", "key": "node.kubernetes.io/not-ready"}]
    assert kubectl("cordon", "worker").out == "node/worker cordoned\n"
    assert kubectl.get("node worker")["spec"]["unschedulable"] is True
    assert kubectl("get", "node", "worker").rows[0][:3] == ["worker", "Unknown,SchedulingDisabled", "<none>"]
    assert kubectl("uncordon", "worker").out == "node/worker uncordoned\n"
    assert "unschedulable" not in kubectl.get("node worker")["spec"]
    assert kubectl("taint", "node", "worker", "gpu=yes:NoSchedule").out == "node/worker tainted\n"
    assert {"key": "gpu", "value": "yes", "effect": "NoSchedule"} in kubectl.get("node worker")["spec"][
        "taints"
    ]
    assert kubectl("taint", "node", "worker", "gpu-").out == "node/worker untainted\n"
    kubectl("label", "node", "worker", "node-role.kubernetes.io/worker=")
    assert kubectl("get", "node", "worker").rows[0][2] == "worker"
    kubectl("delete", "node", "worker")


def test_drain_evicts_pods(cluster_kubectl: Kubectl, kubectl: Kubectl) -> None:
    cluster_kubectl.create(node("drained"))
    kubectl.create(pod("bare", nodeName="drained", terminationGracePeriodSeconds=0))
    out = kubectl("drain", "drained", "--force", "--ignore-daemonsets").out
    assert "node/drained cordoned" in out
    assert "pod/bare evicted" in out
    assert kubectl("get", "pods", "-o", "name").out == ""
    cluster_kubectl("delete", "node", "drained")


def claim(name: str, **spec: Any) -> dict[str, Any]:
    size = {"requests": {"storage": "1Gi"}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": size, **spec},
    }


def test_claims_get_the_default_class_and_are_protected(cluster_kubectl: Kubectl, kubectl: Kubectl) -> None:
    kubectl.create(claim("early"))
    cluster_kubectl.create(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {
                "name": "fast",
                "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
            },
            "provisioner": "disks.example.com",
        }
    )
    kubectl.create(claim("late"), claim("none", storageClassName=""))
    assert cluster_kubectl("get", "storageclass").rows[0][:4] == [
        "fast",
        "(default)",
        "disks.example.com",
        "Delete",
    ]
    cluster_kubectl("delete", "storageclass", "fast")
    claims = {item["metadata"]["name"]: item for item in kubectl.get("pvc")["items"]}
    classes = {name: item["spec"].get("storageClassName") for name, item in claims.items()}
    assert classes == {"early": None, "late": "fast", "none": ""}
    assert claims["late"]["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    kubectl("delete", "pvc", "late", "--wait=false")
    assert kubectl("get", "pvc", "late").rows[0][1] == "Terminating"


def test_a_signing_request_is_approved_once(cluster_kubectl: Kubectl) -> None:
    names = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "devs"),
        x509.NameAttribute(NameOID.COMMON_NAME, "ann"),
    ]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    request = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    pem = base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()
    cluster_kubectl.create(
        {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": "ann"},
            "spec": {
                "request": pem,
                "signerName": "kubernetes.io/kube-apiserver-client",
                "usages": ["client auth"],
            },
        }
    )
    assert cluster_kubectl("get", "csr", "ann").rows[0][2:] == [
        "kubernetes.io/kube-apiserver-client",
        "admin",
        "<none>",
        "Pending",
    ]
    cluster_kubectl("certificate", "approve", "ann")
    cluster_kubectl("wait", "csr", "ann", "--for=jsonpath={.status.certificate}", WAIT)
    assert cluster_kubectl("get", "csr", "ann").rows[0][-1] == "Approved,Issued"
    said = cluster_kubectl.fails("certificate", "deny", "ann")
    assert said == 'error: certificate signing request "ann" is already Approved'
