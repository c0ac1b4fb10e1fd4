"""The kubelet's serving certificate: requested by CertificateSigningRequest and rotated in time.

If it is approved automatically the node gets it at once; otherwise an administrator has to approve it
(`kubectl certificate approve`). It is stored, so that a node that starts while the API server is away can
serve, and rotated when 70 to 90 % of its lifetime have passed: its serial number decides where in between.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from steersman.aio import Backoff, Clock
from steersman.client import Client, ClientError, Forbidden
from steersman.cluster.auth.pki import key_pem, names_of_server, write_private
from steersman.cluster.auth.users import NODES_GROUP
from steersman.objects.resources import CERTIFICATE_SIGNING_REQUESTS

__all__ = ["CertificateFiles", "keep_renewed", "serving_certificate"]

_log = logging.getLogger(__name__)

#: A certificate's and its key's.
CertificateFiles = tuple[Path, Path]

_SIGNER: Final = "kubernetes.io/kubelet-serving"
_ASK_AGAIN: Final = Backoff(0.2, 10.0)
#: So long an approval is waited for by who has another certificate.
_PATIENCE_S: Final = 900.0
_EARLIEST, _LATEST = 0.7, 0.9
_STEPS: Final = 1000
#: How soon to look again after a certificate could not be had, or was not renewed though it is due.
_RETRY_S: Final = 60.0
_LOOK_S: Final = 3600.0
_APPROVED: Final = {
    "type": "Approved",
    "status": "True",
    "reason": "NodeStarted",
    "message": "requested and approved by the node itself",
}


async def serving_certificate(
    client: Client, clock: Clock, folder: Path, user: str, names: Sequence[str]
) -> CertificateFiles:
    """The files for a node (`system:node:NAME`) called by these names. A certificate that is due is returned
    as well if there is no other. Raises `ClientError`, and ValueError when it is refused."""
    files = folder / "kubelet.crt", folder / "kubelet.key"
    kept = _kept(files, names)
    if kept is not None and clock.wall() < _due_at(kept):
        return files
    lives_s = 0.0 if kept is None else kept.not_valid_after_utc.timestamp() - clock.wall()
    key = ec.generate_private_key(ec.SECP256R1())
    try:
        async with asyncio.timeout(min(lives_s, _PATIENCE_S) if lives_s > 0 else None):
            certificate = await _signed(client, clock, _request(key, user, names))
    except (ClientError, TimeoutError) as error:
        if lives_s <= 0:
            raise
        _log.warning(
            "cannot renew the certificate of %s, trying again: %s",
            user,
            str(error) or "it is not approved yet",
        )
        return files
    write_private(files[1], key_pem(key))
    write_private(files[0], certificate)
    return files


async def keep_renewed(
    clock: Clock,
    certify: Callable[[], Awaitable[CertificateFiles]],
    use: Callable[[CertificateFiles], None],
) -> None:
    """Have the newest certificate used, for ever. `certify` makes one when that is due."""
    used = b""
    while True:
        try:
            files = await certify()
            certificate = files[0].read_bytes()
            wait_s = max(_due_at(x509.load_pem_x509_certificate(certificate)) - clock.wall(), 0.0)
            if certificate != used:
                use(files)
                used = certificate
            await clock.sleep(wait_s or _LOOK_S)
        except (ClientError, OSError, ValueError) as error:
            _log.warning("a node's certificate cannot be renewed: %s", error)
            await clock.sleep(_RETRY_S)


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
    asked = 0
    while True:
        status: dict[str, Any] = made.get("status") or {}
        if issued := status.get("certificate"):
            return base64.b64decode(issued)
        refused = [one for one in status.get("conditions") or () if one["type"] in ("Denied", "Failed")]
        if refused:
            raise ValueError(f"the node's certificate was refused: {refused[0].get('message', '')}")
        asked += 1
        await clock.sleep(_ASK_AGAIN.wait_s(asked))
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


def _kept(files: CertificateFiles, names: Sequence[str]) -> x509.Certificate | None:
    """The certificate in its file, if it is one for these names."""
    try:
        certificate = x509.load_pem_x509_certificate(files[0].read_bytes())
        key = serialization.load_pem_private_key(files[1].read_bytes(), None)
        held = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound):
        return None
    # Whoever wrote them may have been killed between the two.
    fits = key.public_key() == certificate.public_key()
    return certificate if fits and set(names_of_server(names)) <= set(held) else None


def _due_at(certificate: x509.Certificate) -> float:
    """When to have another; not the same for all that were made together."""
    begin, end = (
        moment.timestamp() for moment in (certificate.not_valid_before_utc, certificate.not_valid_after_utc)
    )
    share = _EARLIEST + (_LATEST - _EARLIEST) * (certificate.serial_number % _STEPS) / _STEPS
    return begin + (end - begin) * share
