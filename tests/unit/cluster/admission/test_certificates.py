"""Who may approve, sign and vouch; what none may ask for."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from steersman.cluster.admission import Attributes
from steersman.cluster.admission.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    ClusterTrustBundleAttest,
)
from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.users import User

from .conftest import Object, write
from .refusals import Asked, ask, refused

GROUP = "certificates.k8s.io"
SIGNER = "example.com/web"


class Allowing:
    """Allows (verb, signer) pairs."""

    def __init__(self, *allowed: tuple[str, str]) -> None:
        self.allowed = allowed
        self.asked: list[Action] = []

    def allows(self, user: User, action: Action) -> bool:
        self.asked.append(action)
        return (action.verb, action.name) in self.allowed


def request(common_name: str = "me", *organizations: str) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
    parts.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name))
    built = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(parts)).sign(key, hashes.SHA256())
    return base64.b64encode(built.public_bytes(serialization.Encoding.PEM)).decode()


def csr(signer: str = SIGNER, status: Object | None = None, encoded: str = "") -> Object:
    return {"metadata": {}, "spec": {"signerName": signer, "request": encoded}, "status": status or {}}


def csr_update(subresource: str, new: Object, old: Object) -> Attributes:
    return write(
        "certificatesigningrequests",
        new,
        operation="UPDATE",
        group=GROUP,
        subresource=subresource,
        old=old,
        namespace="",
    )


def bundle(signer: str = SIGNER, **metadata: object) -> Object:
    return {"metadata": metadata, "spec": {"signerName": signer, "trustBundle": "x"}}


APPROVED = {"conditions": [{"type": "Approved", "status": "True"}]}
CASES: list[tuple[str, Callable[[Allowing], Asked], Callable[[], Attributes], str]] = [
    (
        "approve",
        CertificateApproval,
        lambda: csr_update("approval", csr("example.com/mine", APPROVED), csr()),
        'user not permitted to approve requests with signerName "example.com/web"',
    ),
    (
        "sign",
        CertificateSigning,
        lambda: csr_update("status", csr(status={"certificate": "x"}), csr()),
        'user not permitted to sign requests with signerName "example.com/web"',
    ),
    (
        "attest",
        ClusterTrustBundleAttest,
        lambda: write("clustertrustbundles", bundle(), group=GROUP, namespace=""),
        'user not permitted to attest for signerName "example.com/web"',
    ),
]


@pytest.mark.parametrize(("verb", "plugin", "attributes", "text"), CASES, ids=[case[0] for case in CASES])
def test_a_permission_on_the_signer_is_needed(
    verb: str, plugin: Callable[[Allowing], Asked], attributes: Callable[[], Attributes], text: str
) -> None:
    nobody = Allowing(("get", SIGNER))
    plural = attributes().plural
    assert refused(plugin(nobody), attributes()).message == f'{plural}.{GROUP} "a" is forbidden: {text}'
    expected = Action(verb, GROUP, "*", "signers", name=SIGNER)
    assert nobody.asked == [expected, expected._replace(name="example.com/*")]
    ask(plugin(Allowing((verb, SIGNER))), attributes())
    ask(plugin(Allowing((verb, "example.com/*"))), attributes())


def test_signing_is_changing_certificate_or_conditions() -> None:
    plugin = CertificateSigning(Allowing())
    status = {"certificate": "x", "conditions": [{"type": "Approved"}]}
    ask(plugin, csr_update("status", csr(status=dict(status)), csr(status=dict(status))))
    assert refused(plugin, csr_update("status", csr(status=APPROVED), csr()))


def test_bundles_of_no_signer_and_housekeeping_need_no_permission() -> None:
    plugin = ClusterTrustBundleAttest(Allowing())
    ask(plugin, write("clustertrustbundles", bundle(""), group=GROUP))
    update = {"group": GROUP, "operation": "UPDATE", "old": bundle()}
    ask(plugin, write("clustertrustbundles", bundle(finalizers=["x"]), **update))
    assert refused(plugin, write("clustertrustbundles", bundle(labels={"a": "b"}), **update))


def test_nobody_asks_to_become_a_master() -> None:
    plugin = CertificateSubjectRestriction()
    client = "kubernetes.io/kube-apiserver-client"

    def ask_for(signer: str, *organizations: str) -> Attributes:
        obj = csr(signer, encoded=request("me", *organizations))
        return write("certificatesigningrequests", obj, group=GROUP)

    assert refused(plugin, ask_for(client, "dev", "system:masters")).message.endswith(
        "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"
    )
    ask(plugin, ask_for(client, "dev"))
    ask(plugin, ask_for("example.com/web", "system:masters"))
    broken = write("certificatesigningrequests", csr(client, encoded="eA=="), group=GROUP)
    assert refused(plugin, broken).message.endswith(
        "failed to parse CSR: PEM block type must be CERTIFICATE REQUEST"
    )


def test_interest() -> None:
    approval, signing = CertificateApproval(Allowing()), CertificateSigning(Allowing())
    assert approval.handles("UPDATE", GROUP, "certificatesigningrequests", "approval")
    assert not approval.handles("UPDATE", GROUP, "certificatesigningrequests", "status")
    assert signing.handles("UPDATE", GROUP, "certificatesigningrequests", "status")
    assert not signing.handles("CREATE", GROUP, "certificatesigningrequests", "")
    assert CertificateSubjectRestriction().handles("CREATE", GROUP, "certificatesigningrequests", "")
    attest = ClusterTrustBundleAttest(Allowing())
    assert attest.handles("UPDATE", GROUP, "clustertrustbundles", "")
    assert not attest.handles("DELETE", GROUP, "clustertrustbundles", "")
    assert not attest.handles("UPDATE", GROUP, "certificatesigningrequests", "")
