"""Signing of approved CertificateSigningRequests (csrsigning in kube-controller-manager).

`sign` is pure; `CertificateSigning` follows the store, so that `kubectl certificate approve` yields a
certificate without a controller manager (see this package's docstring). Who may approve is decided by
admission.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.x509.oid import ExtendedKeyUsageOID as Extended

from steersman.cluster.apiserver.controllers.following import follow_each, replace_unchanged
from steersman.cluster.apiserver.pipeline.call import Api
from steersman.cluster.apiserver.resources.system_fields import timestamp
from steersman.cluster.auth.pki import StoredAuthority, key_usage
from steersman.cluster.auth.rules import quote_list
from steersman.cluster.auth.signers import SIGNERS, SigningRefused, check_request
from steersman.cluster.schema.pem import certificate_request
from steersman.objects.conditions import condition_is
from steersman.objects.kinds import Object

__all__ = ["CertificateSigning", "sign"]


_GROUP, _PLURAL = "certificates.k8s.io", "certificatesigningrequests"

_LONGEST = timedelta(days=365)
_SHORTEST = timedelta(minutes=10)
_BACKDATE = timedelta(minutes=5)
#: Shorter lives than this are not shortened by the backdating.
_SHORT = timedelta(hours=8)

_BASIC: Mapping[str, str] = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
_EXTENDED: Mapping[str, x509.ObjectIdentifier] = {
    "any": Extended.ANY_EXTENDED_KEY_USAGE,
    "server auth": Extended.SERVER_AUTH,
    "client auth": Extended.CLIENT_AUTH,
    "code signing": Extended.CODE_SIGNING,
    "email protection": Extended.EMAIL_PROTECTION,
    "s/mime": Extended.EMAIL_PROTECTION,
    "ipsec end system": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.5"),
    "ipsec tunnel": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.6"),
    "ipsec user": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.7"),
    "timestamping": Extended.TIME_STAMPING,
    "ocsp signing": Extended.OCSP_SIGNING,
    "microsoft sgc": x509.ObjectIdentifier("1.3.6.1.4.1.311.10.3.3"),
    "netscape sgc": x509.ObjectIdentifier("2.16.840.1.113730.4.1"),
}


def sign(request: Object, authority: StoredAuthority, now: datetime | None = None) -> bytes | None:
    """The certificate (PEM) for an approved CertificateSigningRequest; None when it is not for us to sign.

    Raises SigningRefused when its signer's rules are broken.
    """
    spec = request["spec"]
    signer = spec.get("signerName", "")
    if signer not in SIGNERS:
        return None
    usages = spec.get("usages") or []
    try:
        parsed = certificate_request(spec.get("request", ""))
        good = parsed.is_signature_valid
    except (ValueError, UnsupportedAlgorithm) as error:
        raise SigningRefused(f"unable to parse csr: {error}") from None
    if not good:
        raise SigningRefused("unable to verify certificate request signature")
    check_request(signer, parsed, usages)
    unknown = [usage for usage in usages if usage not in _BASIC and usage not in _EXTENDED]
    if unknown:
        raise SigningRefused(f"unrecognized usage values: {quote_list(unknown)}")
    now = now or datetime.now(UTC)
    life = _life(spec.get("expirationSeconds"))
    try:
        return authority.sign_request(
            parsed,
            usages=key_usage(*(_BASIC[usage] for usage in usages if usage in _BASIC)),
            extended=dict.fromkeys(_EXTENDED[usage] for usage in usages if usage in _EXTENDED),
            not_before=now - _BACKDATE,
            not_after=now + (life if life < _SHORT else life - _BACKDATE),
        )
    except ValueError as error:
        raise SigningRefused(str(error)) from None


def _life(seconds: int | None) -> timedelta:
    if seconds is None:
        return _LONGEST
    return min(max(timedelta(seconds=seconds), _SHORTEST), _LONGEST)


def _ready(request: Object) -> bool:
    status = request.get("status") or {}
    conditions = status.get("conditions") or []
    return (
        not status.get("certificate")
        and condition_is(conditions, "Approved")
        and not condition_is(conditions, "Denied")
        and not condition_is(conditions, "Failed")
    )


class CertificateSigning:
    """Signs what is approved, as the store shows it."""

    def __init__(self, api: Api, authority: StoredAuthority) -> None:
        self._api = api
        self._authority = authority
        resource = api.catalog.find(_GROUP, "v1", _PLURAL)
        assert resource is not None
        self._resource = resource

    async def run(self) -> None:
        """Until cancelled."""
        await follow_each(self._api, self._resource, _ready, self._sign)

    async def _sign(self, request: Object) -> None:
        status = dict(request.get("status") or {})
        try:
            certificate = sign(request, self._authority)
        except SigningRefused as refused:
            now = timestamp(self._api.now())
            failed = {
                "type": "Failed",
                "status": "True",
                "reason": "SignerValidationFailure",
                "message": str(refused),
                "lastUpdateTime": now,
                "lastTransitionTime": now,
            }
            status["conditions"] = [*(status.get("conditions") or ()), failed]
        else:
            if certificate is None:
                return
            status["certificate"] = base64.b64encode(certificate).decode()
        await replace_unchanged(self._api, self._resource, {**request, "status": status})
