"""Promises about service accounts, reviews of who may do what, and certificates."""

from __future__ import annotations

import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from steersman.cluster.auth.pki import StoredAuthority
from tests.support.api import ApiClient
from tests.support.manifests import pod

from .keeping import NAMESPACE, Collection, Object, keep, newer, promise, promised
from .operations import discoverable

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


def _accounts(client: ApiClient) -> Collection:
    return Collection(client, "v1", "serviceaccounts", NAMESPACE)


def _pods(client: ApiClient) -> Collection:
    return Collection(client, "v1", "pods", NAMESPACE)


@promise("ServiceAccounts should allow opting out of API token automount")
async def test_a_token_is_mounted_unless_opted_out(client: ApiClient) -> None:
    accounts = _accounts(client)
    settings = {"default": None, "mount": True, "nomount": False}
    for name, automount in settings.items():
        given = {} if automount is None else {"automountServiceAccountToken": automount}
        await accounts.create({"metadata": {"name": name}, **given})
    for account, of_account in settings.items():
        for of_pod in (None, True, False):
            name = f"{account}-{of_pod}".lower()
            given = {} if of_pod is None else {"automountServiceAccountToken": of_pod}
            wanted = pod(name, restartPolicy="Never", serviceAccountName=account, **given)
            made = await _pods(client).create(wanted)
            mounts = made["spec"]["containers"][0].get("volumeMounts", [])
            mounted = any(mount["mountPath"] == TOKEN_PATH for mount in mounts)
            # What the pod says goes before what the account says.
            assert mounted == next((said for said in (of_pod, of_account) if said is not None), True)


@promise("ServiceAccounts should run through the lifecycle of a ServiceAccount")
async def test_the_life_of_a_service_account(client: ApiClient) -> None:
    accounts = _accounts(client)
    label = "test-serviceaccount-static"
    created = await accounts.create({"metadata": {"name": "testserviceaccount", "labels": {label: "true"}}})
    assert (await accounts.get("testserviceaccount"))["metadata"]["uid"] == created["metadata"]["uid"]
    async with accounts.watch(f"{label}=true", timeoutSeconds=180) as events:
        assert (await events.next())["type"] == "ADDED"
        patch = {"metadata": {}, "automountServiceAccountToken": False}
        assert newer(await accounts.patch("testserviceaccount", patch, "strategic"), created)
        assert (await events.next())["type"] == "MODIFIED"
        [found] = await accounts.everywhere.list(f"{label}=true")
        assert found["metadata"]["namespace"] == NAMESPACE
        assert found["automountServiceAccountToken"] is False
        await accounts.delete_all()
        assert (await events.next())["type"] == "DELETED"


@promise("ServiceAccounts should update a ServiceAccount")
async def test_a_service_account_is_updated(client: ApiClient) -> None:
    accounts = _accounts(client)
    made = await accounts.create({"metadata": {"name": "e2e-sa"}, "automountServiceAccountToken": False})
    assert made["automountServiceAccountToken"] is False
    updated = await accounts.change("e2e-sa", lambda obj: {**obj, "automountServiceAccountToken": True})
    assert updated["automountServiceAccountToken"] is True


@promise("ServiceAccounts should create a serviceAccountToken and ensure a successful TokenReview")
async def test_a_token_of_a_service_account_is_known(client: ApiClient) -> None:
    accounts = _accounts(client)
    await accounts.create({"metadata": {"name": "e2e-sa"}})
    # An empty request, as a typed client sends it.
    request = {"metadata": {}, "spec": {"audiences": None, "expirationSeconds": None, "boundObjectRef": None}}
    token = (await client.ok("POST", accounts.of("e2e-sa", "token"), request))["status"]["token"]
    assert token
    reviews = Collection(client, "authentication.k8s.io/v1", "tokenreviews")
    status = (await reviews.create({"metadata": {}, "spec": {"token": token}}))["status"]
    assert status["authenticated"] is True
    assert status.get("error", "") == ""
    assert status["user"]["username"] == f"system:serviceaccount:{NAMESPACE}:e2e-sa"


@promise("SubjectReview should support SubjectReview API operations")
async def test_reviews_say_what_requests_show(client: ApiClient) -> None:
    account = await _accounts(client).create({"metadata": {"name": "e2e"}})
    user = f"system:serviceaccount:{NAMESPACE}:e2e"
    groups = ["system:authenticated", "system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}"]
    uid = account["metadata"]["uid"]
    attributes = {"verb": "list", "resource": "configmaps", "namespace": NAMESPACE, "version": "v1"}
    asked = {"resourceAttributes": attributes, "groups": groups, "uid": uid}
    group = "authorization.k8s.io/v1"
    review = await Collection(client, group, "subjectaccessreviews").create({"spec": {**asked, "user": user}})
    headers = [("impersonate-user", user), ("impersonate-uid", uid)]
    headers += [("impersonate-group", name) for name in groups]
    encoded = [(name.encode(), value.encode()) for name, value in headers]
    answer = await client.http.request("GET", f"/api/v1/namespaces/{NAMESPACE}/configmaps", headers=encoded)
    assert answer.status in (200, 403)
    assert review["status"]["allowed"] == (answer.status == 200)
    local = Collection(client, group, "localsubjectaccessreviews", NAMESPACE)
    named = {"metadata": {"namespace": NAMESPACE}, "spec": {**asked, "user": "e2e"}}
    assert (await local.create(named))["status"]["allowed"] == (answer.status == 200)


def _signing_request() -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "e2e.example.com")])
    names = x509.SubjectAlternativeName([x509.DNSName("e2e.example.com")])
    builder = x509.CertificateSigningRequestBuilder(name).add_extension(names, critical=False)
    request = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM)


def _condition(kind: str) -> Object:
    made = {"type": kind, "status": "True", "reason": "E2E", "message": "Set from an e2e test"}
    return {**made, "lastUpdateTime": None, "lastTransitionTime": None}


@promise("Certificates API should support CSR API operations")
async def test_signing_requests(client: ApiClient) -> None:
    group, plural = "certificates.k8s.io/v1", "certificatesigningrequests"
    await discoverable(client, group, plural, f"{plural}/approval", f"{plural}/status")
    requests = Collection(client, group, plural)
    spec = {
        "request": base64.b64encode(_signing_request()).decode(),
        "signerName": "example.com/e2e",
        "expirationSeconds": 3600,
        "usages": ["digital signature", "key encipherment", "server auth"],
    }
    template = {"metadata": {"generateName": "e2e-example-csr-"}, "spec": spec}
    created = [await requests.create(template) for _ in range(3)][-1]
    name = created["metadata"]["name"]
    found = await requests.get(name)
    assert found["metadata"]["uid"] == created["metadata"]["uid"]
    assert found["spec"]["expirationSeconds"] == 3600
    of_signer = {"fieldSelector": "spec.signerName=example.com/e2e"}
    listed = await client.ok("GET", requests.many(**of_signer))
    assert len(listed["items"]) == 3
    since = listed["metadata"]["resourceVersion"]
    async with requests.watch(resourceVersion=since, fieldSelector=f"metadata.name={name}") as events:
        patched = await requests.patch(name, {"metadata": {"annotations": {"patched": "true"}}})
        assert newer(patched, found)
        patched["metadata"]["annotations"]["updated"] = "true"
        updated = await requests.replace(patched)
        assert updated["metadata"]["annotations"] == {"patched": "true", "updated": "true"}
        event = await events.next()
        assert (event["type"], event["object"]["metadata"]["annotations"]["patched"]) == ("MODIFIED", "true")
    await _approve(requests, created)
    await _certify(requests, created)
    await requests.delete(name)
    assert await requests.gone(name)
    assert len(await requests.list(**of_signer)) == 2
    await requests.delete_all(**of_signer)
    assert await requests.list(**of_signer) == []


async def _approve(requests: Collection, created: Object) -> None:
    name = created["metadata"]["name"]
    shown = await requests.get(name, "approval")
    assert (shown["kind"], shown["metadata"]["uid"]) == (
        "CertificateSigningRequest",
        created["metadata"]["uid"],
    )
    condition = {"type": "ApprovalPatch", "status": "True", "reason": "e2e"}
    annotations = {"metadata": {"annotations": {"patchedapproval": "true"}}}
    patched = await requests.patch(
        name, {**annotations, "status": {"conditions": [condition]}}, part="approval"
    )
    assert [each["type"] for each in patched["status"]["conditions"]] == ["ApprovalPatch"]
    assert patched["metadata"]["annotations"]["patchedapproval"] == "true"
    patched["status"]["conditions"].append(_condition("Approved"))
    updated = await requests.replace(patched, "approval")
    assert [each["type"] for each in updated["status"]["conditions"]] == ["ApprovalPatch", "Approved"]


async def _certify(requests: Collection, created: Object) -> None:
    name = created["metadata"]["name"]
    shown = await requests.get(name, "status")
    assert (shown["kind"], shown["metadata"]["uid"]) == (
        "CertificateSigningRequest",
        created["metadata"]["uid"],
    )
    certificate = base64.b64encode(StoredAuthority.make("e2e.example.com").pem).decode()
    annotations = {"metadata": {"annotations": {"patchedstatus": "true"}}}
    patched = await requests.patch(
        name, {**annotations, "status": {"certificate": certificate}}, part="status"
    )
    assert patched["status"]["certificate"] == certificate
    assert patched["metadata"]["annotations"]["patchedstatus"] == "true"
    patched["status"]["conditions"].append(_condition("StatusUpdate"))
    updated = await requests.replace(patched, "status")
    assert len(updated["status"]["conditions"]) == len(patched["status"]["conditions"])
    assert updated["status"]["conditions"][-1]["type"] == "StatusUpdate"


_EXPIRATIONS = "Projected PodCertificate MaxExpirationSeconds validations should reject pod creation when"


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        pytest.param(
            91 * 24 * 60 * 60 + 1,
            "if provided, maxExpirationSeconds must be <= 7862400",
            id=promised(f"{_EXPIRATIONS} MaxExpirationSeconds exceeds maximum (91d)"),
        ),
        pytest.param(
            3599,
            "if provided, maxExpirationSeconds must be >= 3600",
            id=promised(f"{_EXPIRATIONS} MaxExpirationSeconds is less than minimum (1h)"),
        ),
    ],
)
def test_pod_certificates_have_bounds(seconds: int, message: str) -> None:
    async def test(client: ApiClient) -> None:
        await _accounts(client).create({"metadata": {"name": "default"}})
        certificate = {
            "signerName": "e2e.example.com/e2e",
            "credentialBundlePath": "spiffe-cred-bundle.pem",
            "keyType": "ECDSAP256",
            "maxExpirationSeconds": seconds,
        }
        volume = {"name": "tls-config", "projected": {"sources": [{"podCertificate": certificate}]}}
        status = await _pods(client).refused(pod("inspector", volumes=[volume]), 422)
        assert message in status["message"]

    keep(test)
