"""X.509: authorities, and the certificates they issue. In memory; what is kept where is the caller's.

Elliptic-curve keys (P-256): small, and a whole set is made in milliseconds. Used by the cluster for its own
certificates (`steersman.cluster.auth.pki`) and by operators for those of their webhooks. Loaded only where
certificates are made: `cryptography` takes its time to load.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = ["Authority", "KeyPair", "alternative_names", "key_pem", "key_usage", "names_of_server"]

_AUTHORITY_LIFE = timedelta(days=3650)
_LEAF_LIFE = timedelta(days=365)
_KEY_USAGES = (
    "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
    "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
)  # fmt: skip
#: Certificates are valid from a little before now, for clients whose clocks run behind.
_BACKDATE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, PEM."""

    certificate: bytes
    key: bytes


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def names_of_server(names: Iterable[str]) -> x509.SubjectAlternativeName:
    parts: list[x509.GeneralName] = []
    for name in names:
        try:
            parts.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            parts.append(x509.DNSName(name))
    return x509.SubjectAlternativeName(parts)


class Authority:
    """A certificate and the key to sign others with."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self.certificate = certificate
        self._key = key

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @classmethod
    def make(
        cls, name: str = "steersman-ca", *, life: timedelta = _AUTHORITY_LIFE, now: datetime | None = None
    ) -> Self:
        """A new authority, valid for `life` from now on."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = now or datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _BACKDATE)
            .not_valid_after(now + life)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        return cls(certificate, key)

    @classmethod
    def from_pem(cls, certificate: bytes, key: bytes) -> Self:
        """One that was kept. Raises ValueError if these are no such certificate and key."""
        loaded = x509.load_pem_x509_certificate(certificate)
        try:
            private = serialization.load_pem_private_key(key, None)
        except TypeError as error:
            raise ValueError("the key is encrypted") from error
        if not isinstance(private, ec.EllipticCurvePrivateKey) or private.public_key() != loaded.public_key():
            raise ValueError("the key does not belong to the certificate")
        return cls(loaded, private)

    @property
    def key(self) -> bytes:
        """The private key, PEM."""
        return key_pem(self._key)

    def issue(
        self,
        common_name: str,
        *,
        organizations: Iterable[str] = (),
        names: Iterable[str] = (),
        server: bool = False,
        life: timedelta = _LEAF_LIFE,
        now: datetime | None = None,
    ) -> KeyPair:
        """A leaf certificate for a client, or for a server reached under `names`."""
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name))
        now = now or datetime.now(UTC)
        usage = ExtendedKeyUsageOID.SERVER_AUTH if server else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name(attributes))
            .issuer_name(self.certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _BACKDATE)
            .not_valid_after(now + life)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
        )
        if names:
            builder = builder.add_extension(names_of_server(names), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), key_pem(key))

    def sign_request(
        self,
        request: x509.CertificateSigningRequest,
        *,
        usages: x509.KeyUsage,
        extended: Iterable[x509.ObjectIdentifier],
        not_before: datetime,
        not_after: datetime,
    ) -> bytes:
        """A certificate (PEM) for whom a request names. Of what it asks for, only its subject, key and
        alternative names are taken over; it never becomes an authority."""
        now = datetime.now(UTC)
        end = self.certificate.not_valid_after_utc
        if now >= end:
            raise ValueError(f"refusing to sign a certificate that expired in the past: NotAfter={end}")
        builder = (
            x509.CertificateBuilder()
            .subject_name(request.subject)
            .issuer_name(self.certificate.subject)
            .public_key(request.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(not_before)
            .not_valid_after(min(not_after, end))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(usages, critical=True)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
        )
        if extended := list(extended):
            builder = builder.add_extension(x509.ExtendedKeyUsage(extended), critical=False)
        names = alternative_names(request)
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def alternative_names(request: x509.CertificateSigningRequest) -> x509.SubjectAlternativeName | None:
    try:
        return request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return None


def key_usage(*names: str) -> x509.KeyUsage:
    """Those named, as x509.KeyUsage calls them, and no others."""
    return x509.KeyUsage(**{name: name in names for name in _KEY_USAGES})


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    more = ("key_cert_sign", "crl_sign") if signs_certificates else ()
    return key_usage("digital_signature", *more)
