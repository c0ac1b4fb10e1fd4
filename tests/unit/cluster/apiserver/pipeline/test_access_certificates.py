"""Certificate requests: what the signers sign, for how long, and who may let them."""

from __future__ import annotations

import asyncio
import base64
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from steersman.cluster.apiserver.controllers.certificate_signing import CertificateSigning, sign
from steersman.cluster.auth.authentication import CertificateAuthenticator
from steersman.cluster.auth.pki import StoredAuthority
from steersman.cluster.auth.signers import SigningRefused
from tests.support.api import ApiClient, with_api
from tests.unit.cluster.apiserver.access_world import World, in_world, rule

Object = dict[str, Any]

GROUP = "certificates.k8s.io"
PATH = f"/apis/{GROUP}/v1/certificatesigningrequests"
CLIENT, KUBELET, SERVING = (
    f"kubernetes.io/{name}"
    for name in ("kube-apiserver-client", "kube-apiserver-client-kubelet", "kubelet-serving")
)
AUTHORITY = StoredAuthority.make()
PRIVATE = ec.generate_private_key(ec.SECP256R1())
NOW = datetime.now(UTC).replace(microsecond=0)
DNS, ADDRESS = x509.DNSName("n"), x509.IPAddress(ip_address("10.0.0.1"))
MAIL, URI = x509.RFC822Name("a@b.c"), x509.UniformResourceIdentifier("spiffe://x")
CLIENT_USAGES = ["digital signature", "client auth"]
SERVING_USAGES = ["digital signature", "server auth"]


def pem(
    name: str = "ann", organizations: list[str] | None = None, *names: x509.GeneralName, ca: bool = False
) -> bytes:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations or []]
    parts += [x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else []
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(parts))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    if ca:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return builder.sign(PRIVATE, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def request(content: bytes, signer: str = CLIENT, usages: list[str] | None = None, **spec: Any) -> Object:
    encoded = base64.b64encode(content).decode()
    given = CLIENT_USAGES if usages is None else usages
    return {
        "metadata": {"name": "r"},
        "spec": {"request": encoded, "signerName": signer, "usages": given, **spec},
        "status": {},
    }


def signed(obj: Object) -> x509.Certificate:
    made = sign(obj, AUTHORITY, NOW)
    assert made is not None
    return x509.load_pem_x509_certificate(made)


def test_a_clients_certificate_is_good_for_the_api() -> None:
    certificate = signed(request(pem("ann", ["dev", "ops"])))
    user = CertificateAuthenticator(AUTHORITY.certificate).authenticate(
        certificate.public_bytes(serialization.Encoding.DER)
    )
    assert user is not None
    assert (user.name, user.groups) == ("ann", ("dev", "ops", "system:authenticated"))
    assert certificate.public_key() == PRIVATE.public_key()


def test_a_serving_certificate_has_its_names_and_is_none_for_clients() -> None:
    certificate = signed(
        request(pem("system:node:n", ["system:nodes"], DNS, ADDRESS), SERVING, SERVING_USAGES)
    )
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert set(names) == {DNS, ADDRESS}
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    der = certificate.public_bytes(serialization.Encoding.DER)
    assert CertificateAuthenticator(AUTHORITY.certificate).authenticate(der) is None


def test_nobody_becomes_an_authority() -> None:
    certificate = signed(request(pem(ca=True)))
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert not certificate.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign


@pytest.mark.parametrize(
    ("seconds", "life"),
    [
        (None, timedelta(days=365)),
        (3600, timedelta(hours=1, minutes=5)),
        (1, timedelta(minutes=15)),
        (8 * 3600, timedelta(hours=8)),
        (10 * 365 * 86400, timedelta(days=365)),
    ],
)
def test_how_long_certificates_live(seconds: int | None, life: timedelta) -> None:
    certificate = signed(request(pem(), **({} if seconds is None else {"expirationSeconds": seconds})))
    assert certificate.not_valid_before_utc == NOW - timedelta(minutes=5)
    assert certificate.not_valid_after_utc - certificate.not_valid_before_utc == life


NODE = ("system:node:n", ["system:nodes"])
REFUSED = [
    (request(pem(), usages=["server auth"]), "invalid usage for client certificate: server auth"),
    (request(pem(), usages=["digital signature"]), "missing required usage for client certificate: client auth"),
    (request(pem(), usages=[]), "missing required usage for client certificate: client auth"),
    (request(pem("system:node:n", ["x"]), KUBELET), "subject organization is not system:nodes"),
    (request(pem("system:node:n", ["system:nodes", "x"]), KUBELET), "subject organization is not system:nodes"),
    (request(pem("system:node:n"), KUBELET), "subject organization is not system:nodes"),
    (request(pem("n", ["system:nodes"]), KUBELET), "subject common name does not begin with system:node:"),
    (request(pem("", ["system:nodes"]), KUBELET), "subject common name does not begin with system:node:"),
    (request(pem(*NODE, DNS), KUBELET), "DNS subjectAltNames are not allowed"),
    (request(pem(*NODE, ADDRESS), KUBELET), "IP subjectAltNames are not allowed"),
    (request(pem(*NODE, MAIL), KUBELET), "Email subjectAltNames are not allowed"),
    (request(pem(*NODE, URI), KUBELET), "URI subjectAltNames are not allowed"),
    (request(pem(*NODE), KUBELET, ["client auth"]), "usages did not match [client auth digital signature key encipherment]"),
    (request(pem(*NODE), KUBELET, [*CLIENT_USAGES, "cert sign"]), "usages did not match [client auth digital signature key encipherment]"),
    (request(pem(*NODE), SERVING, SERVING_USAGES), "DNS or IP subjectAltName is required"),
    (request(pem(*NODE, URI), SERVING, SERVING_USAGES), "DNS or IP subjectAltName is required"),
    (request(pem(*NODE, DNS, URI), SERVING, SERVING_USAGES), "URI subjectAltNames are not allowed"),
    (request(pem(*NODE, DNS, MAIL), SERVING, SERVING_USAGES), "Email subjectAltNames are not allowed"),
    (request(pem("n", ["system:nodes"], DNS), SERVING, SERVING_USAGES), "subject common name does not begin with system:node:"),
    (request(pem(*NODE, DNS), SERVING, CLIENT_USAGES), "usages did not match [digital signature key encipherment server auth]"),
    (request(b"rubbish"), "unable to parse csr: PEM block type must be CERTIFICATE REQUEST"),
]  # fmt: skip


@pytest.mark.parametrize(("obj", "why"), REFUSED, ids=[f"{i} {why}" for i, (_, why) in enumerate(REFUSED)])
def test_what_signers_do_not_sign(obj: Object, why: str) -> None:
    with pytest.raises(SigningRefused) as error:
        sign(obj, AUTHORITY)
    assert str(error.value) == why


def test_a_request_that_its_key_did_not_sign_is_refused() -> None:
    der = bytearray(x509.load_pem_x509_csr(pem()).public_bytes(serialization.Encoding.DER))
    der[-3] ^= 1
    forged = (
        b"-----BEGIN CERTIFICATE REQUEST-----\n%b\n-----END CERTIFICATE REQUEST-----\n"
        % base64.b64encode(der)
    )
    with pytest.raises(SigningRefused):
        sign(request(forged), AUTHORITY)


def test_other_signers_requests_are_theirs() -> None:
    for name in ("example.com/mine", "kubernetes.io/legacy-unknown", ""):
        assert sign(request(pem(), name), AUTHORITY) is None


def approved(obj: Object, *more: str) -> Object:
    conditions = [{"type": kind, "status": "True"} for kind in ("Approved", *more)]
    return {**obj, "status": {"conditions": conditions}}


@in_world
async def test_approval_brings_the_certificate(world: World) -> None:
    world.api.scope.start(CertificateSigning(world.api, AUTHORITY).run(), name="signing")
    done = asyncio.Event()

    def sink(events: Any) -> None:
        if any(b'"certificate":' in event.value or b'"Failed"' in event.value for event in events):
            done.set()

    world.store.watch(f"/{GROUP}/", world.store.revision, sink)
    await world.put("certificatesigningrequests", "denied", approved(request(pem()), "Denied"), group=GROUP)
    await world.put("certificatesigningrequests", "pending", request(pem()), group=GROUP)
    await world.put("certificatesigningrequests", "theirs", approved(request(pem(), "a.b/c")), group=GROUP)
    await world.put("certificatesigningrequests", "good", approved(request(pem())), group=GROUP)
    async with asyncio.timeout(20):
        await done.wait()
        status = world.read("certificatesigningrequests", "good", group=GROUP)["status"]
        certificate = x509.load_pem_x509_certificate(base64.b64decode(status["certificate"]))
        assert certificate.subject.rfc4514_string() == "CN=ann"
        for name in ("denied", "pending", "theirs"):
            obj = world.read("certificatesigningrequests", name, group=GROUP)
            assert "certificate" not in obj["status"]
        done.clear()
        bad = approved(request(pem(), usages=["server auth"]))
        await world.put("certificatesigningrequests", "bad", bad, group=GROUP)
        await done.wait()
    before, failed = world.read("certificatesigningrequests", "bad", group=GROUP)["status"]["conditions"]
    assert before["type"] == "Approved"
    assert (failed["type"], failed["reason"]) == ("Failed", "SignerValidationFailure")
    assert failed["message"] == "invalid usage for client certificate: server auth"


# Rights, which are admission's: here that it is asked

ACCESS = "/apis/rbac.authorization.k8s.io/v1"
AS_ANN = {"impersonate-user": "ann"}


async def grant(client: ApiClient, name: str, *rules: Object) -> None:
    meta = {"name": name}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    await client.ok("POST", f"{ACCESS}/clusterroles", {"metadata": meta, "rules": list(rules)})
    binding = {"metadata": meta, "roleRef": role, "subjects": subjects}
    await client.ok("POST", f"{ACCESS}/clusterrolebindings", binding)


@with_api
async def test_approving_needs_the_right_to_the_signer_too(client: ApiClient) -> None:
    await grant(client, "writer", rule("update", "certificatesigningrequests/approval", GROUP))
    made = await client.ok("POST", PATH, request(pem()))
    new = {**made, "status": {"conditions": [{"type": "Approved", "status": "True", "reason": "Tested"}]}}
    code, answer = await client.ask("PUT", f"{PATH}/r/approval", new, AS_ANN)
    assert (code, answer["message"]) == (
        403,
        'certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to approve '
        'requests with signerName "kubernetes.io/kube-apiserver-client"',
    )
    await grant(client, "approver", rule("approve", "signers", GROUP, CLIENT))
    await client.ok("PUT", f"{PATH}/r/approval", new, AS_ANN)


@with_api
async def test_issuing_needs_the_right_to_sign(client: ApiClient) -> None:
    await grant(client, "writer", rule("update", "certificatesigningrequests/status", GROUP))
    made = await client.ok("POST", PATH, request(pem(), "a.b/c"))
    issued = AUTHORITY.issue("ann").certificate
    new = {**made, "status": {"certificate": base64.b64encode(issued).decode()}}
    code, answer = await client.ask("PUT", f"{PATH}/r/status", new, AS_ANN)
    assert (code, answer["message"].partition(": ")[2]) == (
        403,
        'user not permitted to sign requests with signerName "a.b/c"',
    )
    await grant(client, "signer", rule("sign", "signers", GROUP, "a.b/*"))
    await client.ok("PUT", f"{PATH}/r/status", new, AS_ANN)


@with_api
async def test_nobody_asks_to_be_a_master(client: ApiClient) -> None:
    code, answer = await client.ask("POST", PATH, request(pem("ann", ["a", "system:masters"])))
    assert (code, answer["message"].partition(": ")[2]) == (
        403,
        "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed",
    )
