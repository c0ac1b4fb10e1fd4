"""The certificate that a node shows its clients, asked for at the API as kubelets do.

Whoever may approve requests gets it at once; otherwise an administrator has to approve (`kubectl certificate
approve`). It is kept, so that a node which starts while the API is away can be talked to.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from steersman.aio import Clock
from steersman.client import Client, Forbidden
from steersman.cluster.auth.pki import key_pem, names_of_server, write_private
from steersman.cluster.auth.users import NODES_GROUP
from steersman.objects.resources import CERTIFICATE_SIGNING_REQUESTS

__all__ = ["serving_certificate"]

_log = logging.getLogger(__name__)

_SIGNER: Final = "kubernetes.io/kubelet-serving"
_ASK_AGAIN_S: Final = 0.2
_RENEW_BEFORE: Final = timedelta(days=30)
_APPROVED: Final = {
    "type": "Approved",
    "status": "True",
    "reason": "NodeStarted",
    "message": "asked for and approved by whoever runs the node",
}


async def serving_certificate(
    client: Client, clock: Clock, folder: Path, user: str, names: Sequence[str]
) -> tuple[Path, Path]:
    """The files of certificate and key for a node (`system:node:NAME`) called by these names."""
    certificate_file, key_file = folder / "kubelet.crt", folder / "kubelet.key"
    if key_file.exists() and _still_good(certificate_file, names):
        return certificate_file, key_file
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = await _signed(client, clock, _request(key, user, names))
    write_private(key_file, key_pem(key))
    write_private(certificate_file, certificate)
    return certificate_file, key_file


async def _signed(client: Client, clock: Clock, request: bytes) -> bytes:
    made = await client.create(
        {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"generateName": "csr-"},
            "spec": {
                "request": base64.b64encode(request).decode(),
                "signerName": _SIGNER,
                "usages": ["digital signature", "server auth"],
            },
        },
        kind=CERTIFICATE_SIGNING_REQUESTS,
    )
    name = made["metadata"]["name"]
    try:
        approval = {"status": {"conditions": [_APPROVED]}}
        await client.patch(CERTIFICATE_SIGNING_REQUESTS, name, approval, subresource="approval")
    except Forbidden:
        _log.warning("waiting for approval of the node's certificate: kubectl certificate approve %s", name)
    while True:
        status: dict[str, Any] = made.get("status") or {}
        if issued := status.get("certificate"):
            return base64.b64decode(issued)
        refused = [one for one in status.get("conditions") or () if one["type"] in ("Denied", "Failed")]
        if refused:
            raise ValueError(f"the node's certificate was refused: {refused[0].get('message', '')}")
        await clock.sleep(_ASK_AGAIN_S)
        made = await client.get(CERTIFICATE_SIGNING_REQUESTS, name)


def _request(key: ec.EllipticCurvePrivateKey, user: str, names: Sequence[str]) -> bytes:
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, NODES_GROUP),
            x509.NameAttribute(NameOID.COMMON_NAME, user),
        ]
    )
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    builder = builder.add_extension(names_of_server(names), critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _still_good(file: Path, names: Sequence[str]) -> bool:
    try:
        certificate = x509.load_pem_x509_certificate(file.read_bytes())
        held = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound):
        return False
    lasts = certificate.not_valid_after_utc - datetime.now(UTC) >= _RENEW_BEFORE
    return lasts and set(names_of_server(names)) <= set(held)
