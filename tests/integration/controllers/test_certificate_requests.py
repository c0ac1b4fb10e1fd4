"""Nodes' requests for client certificates: who gets them approved without anybody's doing."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from steersman.client import Client
from steersman.client.credentials import FixedFields, bearer
from steersman.cluster.controllers.certificate_approver import rights_for
from steersman.objects.resources import (
    CERTIFICATE_SIGNING_REQUESTS,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    POD_CERTIFICATE_REQUESTS,
)
from tests.integration.controllers.workloads import NAMESPACE, World, with_workloads

Object = dict[str, Any]

NODE, NODES = "system:node:n1", "system:nodes"
KUBELET = "kubernetes.io/kube-apiserver-client-kubelet"
APPROVER = "certificatesigningrequest-approving"


def request(name: str = NODE, *, signer: str = KUBELET, usages: tuple[str, ...] = (), **spec: Any) -> Object:
    parts = [(NameOID.ORGANIZATION_NAME, NODES), (NameOID.COMMON_NAME, name)]
    subject = x509.Name([x509.NameAttribute(*part) for part in parts])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    signed = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    encoded = base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()
    wanted = list(usages or ("digital signature", "client auth"))
    return {
        "metadata": {"name": "r"},
        "spec": {"request": encoded, "signerName": signer, "usages": wanted, **spec},
    }


@pytest.mark.parametrize(
    ("asked", "rights"),
    [
        pytest.param(request(username=NODE), ["selfnodeclient", "nodeclient"], id="its own"),
        pytest.param(request(username="ann"), ["nodeclient"], id="another's"),
        pytest.param(request("ann", username="ann"), [], id="no node"),
        pytest.param(request(username=NODE, usages=("server auth",)), [], id="other usages"),
        pytest.param(request(username=NODE, signer="kubernetes.io/kubelet-serving"), [], id="another signer"),
        pytest.param({"spec": {"signerName": KUBELET, "request": "bm8="}}, [], id="no request"),
    ],
)
def test_what_is_for_us_to_approve(asked: Object, rights: list[str]) -> None:
    assert rights_for(asked) == rights


def _as(world: World, user: str, *groups: str) -> Client:
    """A client on behalf of somebody else."""
    fields = [(b"Impersonate-User", user.encode())]
    fields += [(b"Impersonate-Group", group.encode()) for group in groups]
    cluster = world.cluster
    credentials = FixedFields([*bearer(cluster.token), *fields])
    return Client(cluster.transport(), credentials=credentials, host="steersman")


async def _let(world: World, name: str, right: str, subject: Object) -> None:
    """Give somebody the right to certificates of nodes."""
    rule = {
        "apiGroups": [CERTIFICATE_SIGNING_REQUESTS.group],
        "resources": [CERTIFICATE_SIGNING_REQUESTS.plural + right],
        "verbs": ["create"],
    }
    await world.create(CLUSTER_ROLES, {"metadata": {"name": name}, "rules": [rule]})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    of = {"apiGroup": "rbac.authorization.k8s.io", **subject}
    await world.create(CLUSTER_ROLE_BINDINGS, {"metadata": {"name": name}, "roleRef": role, "subjects": [of]})


async def _approval(world: World) -> tuple[str, str] | None:
    found = await world.client.get(CERTIFICATE_SIGNING_REQUESTS, "r")
    for one in (found.get("status") or {}).get("conditions") or ():
        if one["type"] == "Approved":
            return one["reason"], one["message"]
    return None


@with_workloads(APPROVER)
async def test_a_node_renews_its_own_certificate_once_it_may(world: World) -> None:
    client = _as(world, NODE, NODES, "system:authenticated")
    await client.create(request(), kind=CERTIFICATE_SIGNING_REQUESTS)
    await asyncio.sleep(5)
    assert await _approval(world) is None
    await _let(world, "renewing", "/selfnodeclient", {"kind": "Group", "name": NODES})
    approval = await world.until(lambda: _approval(world))
    message = "Auto approving self kubelet client certificate after SubjectAccessReview."
    assert approval == ("AutoApproved", message)
    await world.quiet()


@with_workloads(APPROVER)
async def test_who_may_brings_nodes_in(world: World) -> None:
    group = "system:bootstrappers"
    for name, right in (("asking", ""), ("joining", "/nodeclient")):
        await _let(world, name, right, {"kind": "Group", "name": group})
    client = _as(world, "system:bootstrap:abc", group, "system:authenticated")
    await client.create(request(), kind=CERTIFICATE_SIGNING_REQUESTS)
    approval = await world.until(lambda: _approval(world))
    message = "Auto approving kubelet client certificate after SubjectAccessReview."
    assert approval == ("AutoApproved", message)


@with_workloads(APPROVER)
async def test_what_was_decided_stays_so(world: World) -> None:
    await _let(world, "joining", "/nodeclient", {"kind": "User", "name": "ann"})
    made = await world.create(CERTIFICATE_SIGNING_REQUESTS, request(signer="example.com/own"))
    denied = {"type": "Denied", "status": "True", "reason": "No", "message": "no"}
    decided = {**made, "status": {"conditions": [denied]}}
    await world.client.replace(decided, kind=CERTIFICATE_SIGNING_REQUESTS, subresource="approval")
    await world.quiet()
    assert await _approval(world) is None


@with_workloads("podcertificaterequest-cleaner")
async def test_a_pods_request_is_kept_for_a_quarter_of_an_hour(world: World) -> None:
    asked = {
        "signerName": "example.com/s", "podName": "p", "podUID": "1", "serviceAccountName": "s",
        "serviceAccountUID": "2", "nodeName": "n", "nodeUID": "3", "stubPKCS10Request": "eA==",
    }  # fmt: skip
    metadata = {"name": "r", "namespace": NAMESPACE}
    await world.create(POD_CERTIFICATE_REQUESTS, {"metadata": metadata, "spec": asked})
    await asyncio.sleep(14 * 60)
    assert await world.names(POD_CERTIFICATE_REQUESTS) == ["r"]
    await asyncio.sleep(62)
    assert await world.names(POD_CERTIFICATE_REQUESTS) == []
