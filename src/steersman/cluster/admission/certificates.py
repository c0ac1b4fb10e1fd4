"""The plugins CertificateApproval, CertificateSigning, ClusterTrustBundleAttest and
CertificateSubjectRestriction.

Approving, signing and attesting need a permission of their own, on the signer that the object names:
`approve`, `sign` or `attest` on signers.certificates.k8s.io DOMAIN/NAME or DOMAIN/*.
"""

from __future__ import annotations

from typing import Final

from cryptography.x509.oid import NameOID

from steersman.cluster.admission.chain import Attributes
from steersman.cluster.auth.authorization import Action, Authorizer
from steersman.cluster.auth.users import MASTERS_GROUP, User
from steersman.cluster.schema.pem import certificate_request
from steersman.objects.fields import quote
from steersman.objects.kinds import Object

__all__ = [
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "ClusterTrustBundleAttest",
]

_GROUP: Final = "certificates.k8s.io"
_REQUESTS: Final = "certificatesigningrequests"
_CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client"


class _SignerPermission:
    """Checks whether a user has a permission on a signer."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def admit(self, attributes: Attributes) -> None:
        return None

    def _may(self, user: User, verb: str, signer: str) -> bool:
        domain = signer.partition("/")[0]
        return any(
            self._authorizer.allows(user, Action(verb, _GROUP, "*", "signers", name=name))
            for name in (signer, f"{domain}/*")
        )


class CertificateApproval(_SignerPermission):
    """Approving or denying a CertificateSigningRequest needs `approve` on its signer."""

    name = "CertificateApproval"

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return (operation, group, plural, subresource) == ("UPDATE", _GROUP, _REQUESTS, "approval")

    def validate(self, attributes: Attributes) -> None:
        # The stored object decides: the new one may claim to be for another signer.
        assert attributes.old is not None
        signer = attributes.old["spec"].get("signerName", "")
        if not self._may(attributes.user, "approve", signer):
            why = f"user not permitted to approve requests with signerName {quote(signer)}"
            raise attributes.refusal(why)


class CertificateSigning(_SignerPermission):
    """Writing a certificate, or its Failed condition, needs `sign` on its signer."""

    name = "CertificateSigning"

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return (operation, group, plural, subresource) == ("UPDATE", _GROUP, _REQUESTS, "status")

    def validate(self, attributes: Attributes) -> None:
        new, old = attributes.object, attributes.old
        assert new is not None
        assert old is not None
        status, before = new.get("status") or {}, old.get("status") or {}
        if all((status.get(part) or None) == (before.get(part) or None) for part in _SIGNED):
            return
        signer = old["spec"].get("signerName", "")
        if not self._may(attributes.user, "sign", signer):
            raise attributes.refusal(f"user not permitted to sign requests with signerName {quote(signer)}")


_SIGNED: Final = ("certificate", "conditions")


class ClusterTrustBundleAttest(_SignerPermission):
    """Writing a ClusterTrustBundle with a signer name needs `attest` on that signer."""

    name = "ClusterTrustBundleAttest"

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return operation in ("CREATE", "UPDATE") and (group, plural) == (_GROUP, "clustertrustbundles")

    def validate(self, attributes: Attributes) -> None:
        new, old = attributes.object, attributes.old
        assert new is not None
        signer = new["spec"].get("signerName", "")
        if not signer or (old is not None and _essence(new) == _essence(old)):
            return
        if not self._may(attributes.user, "attest", signer):
            raise attributes.refusal(f"user not permitted to attest for signerName {quote(signer)}")


#: Metadata that the garbage collector and the bookkeeping change.
_HOUSEKEEPING: Final = frozenset({"ownerReferences", "finalizers", "selfLink", "managedFields"})


def _essence(obj: Object) -> Object:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _HOUSEKEEPING}
    return {**obj, "metadata": metadata}


class CertificateSubjectRestriction:
    """Rejects requests for client certificates of the group system:masters."""

    name = "CertificateSubjectRestriction"

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return (operation, group, plural, subresource) == ("CREATE", _GROUP, _REQUESTS, "")

    def admit(self, attributes: Attributes) -> None:
        return None

    def validate(self, attributes: Attributes) -> None:
        assert attributes.object is not None
        spec = attributes.object["spec"]
        if spec.get("signerName") != _CLIENT_SIGNER:
            return
        try:
            request = certificate_request(spec.get("request") or "")
        except ValueError as error:
            raise attributes.refusal(f"failed to parse CSR: {error}") from error
        groups = [part.value for part in request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
        if MASTERS_GROUP in groups:
            why = f"use of {_CLIENT_SIGNER} signer with {MASTERS_GROUP} group is not allowed"
            raise attributes.refusal(why)
