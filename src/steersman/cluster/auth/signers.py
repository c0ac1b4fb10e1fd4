"""The requirements of the built-in signers for a CertificateSigningRequest. Pure.

Checked before a request is signed, and by the approving controller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from cryptography import x509
from cryptography.x509.oid import NameOID

from steersman.cluster.auth.pki import alternative_names
from steersman.cluster.auth.users import NODE_PREFIX, NODES_GROUP

__all__ = ["KUBELET_CLIENT", "SIGNERS", "SigningRefused", "check_request", "common_names"]

_CLIENT: Final = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT: Final = "kubernetes.io/kube-apiserver-client-kubelet"
_KUBELET_SERVING: Final = "kubernetes.io/kubelet-serving"

_CLIENT_USAGES: Final = ("digital signature", "key encipherment")


class SigningRefused(Exception):
    """The signer rejects the request. The text goes into the Failed condition."""


def _texts(name: x509.Name, oid: x509.ObjectIdentifier) -> list[str]:
    return [str(part.value) for part in name.get_attributes_for_oid(oid)]


def common_names(request: x509.CertificateSigningRequest) -> list[str]:
    return _texts(request.subject, NameOID.COMMON_NAME)


def _check_node(request: x509.CertificateSigningRequest) -> None:
    if _texts(request.subject, NameOID.ORGANIZATION_NAME) != [NODES_GROUP]:
        raise SigningRefused("subject organization is not system:nodes")


def _check_node_name(request: x509.CertificateSigningRequest) -> None:
    # Go reads the last of several common names, others the first: all must be a node's.
    names = common_names(request)
    if not names or not all(name.startswith(NODE_PREFIX) for name in names):
        raise SigningRefused("subject common name does not begin with system:node:")


def _check_node_usages(usages: Sequence[str], purpose: str) -> None:
    if set(usages) not in (
        {"digital signature", purpose},
        {"digital signature", "key encipherment", purpose},
    ):
        wanted = " ".join(sorted(("digital signature", "key encipherment", purpose)))
        raise SigningRefused(f"usages did not match [{wanted}]")


_KINDS: Sequence[tuple[str, type[x509.GeneralName]]] = (
    ("DNS", x509.DNSName),
    ("Email", x509.RFC822Name),
    ("IP", x509.IPAddress),
    ("URI", x509.UniformResourceIdentifier),
)


def _refuse_names(request: x509.CertificateSigningRequest, *kinds: str) -> None:
    names = alternative_names(request) or ()
    for kind, cls in _KINDS:
        if kind in kinds and any(isinstance(name, cls) for name in names):
            raise SigningRefused(f"{kind} subjectAltNames are not allowed")


def _check_serving(request: x509.CertificateSigningRequest, usages: Sequence[str]) -> None:
    _check_node(request)
    if not any(isinstance(name, (x509.DNSName, x509.IPAddress)) for name in alternative_names(request) or ()):
        raise SigningRefused("DNS or IP subjectAltName is required")
    _refuse_names(request, "Email", "URI")
    _check_node_usages(usages, "server auth")
    _check_node_name(request)


def _check_kubelet(request: x509.CertificateSigningRequest, usages: Sequence[str]) -> None:
    _check_node(request)
    _refuse_names(request, "DNS", "Email", "IP", "URI")
    _check_node_name(request)
    _check_node_usages(usages, "client auth")


def _check_client(request: x509.CertificateSigningRequest, usages: Sequence[str]) -> None:
    for usage in usages:
        if usage != "client auth" and usage not in _CLIENT_USAGES:
            raise SigningRefused(f"invalid usage for client certificate: {usage}")
    if "client auth" not in usages:
        raise SigningRefused("missing required usage for client certificate: client auth")


SIGNERS: Mapping[str, Callable[[x509.CertificateSigningRequest, Sequence[str]], None]] = {
    _CLIENT: _check_client,
    KUBELET_CLIENT: _check_kubelet,
    _KUBELET_SERVING: _check_serving,
}


def check_request(signer: str, request: x509.CertificateSigningRequest, usages: Sequence[str]) -> None:
    """Raises SigningRefused when the rules of this one of `SIGNERS` are broken."""
    SIGNERS[signer](request, usages)
