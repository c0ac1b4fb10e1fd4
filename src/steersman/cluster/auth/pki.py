"""The cluster's certificates: an authority, the server's certificate and the admin's, made at first start.

Elliptic-curve keys (P-256): small, and a whole set is made in milliseconds. Private files are readable by
their owner only. The server's certificate is renewed when its names change or its life runs out.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = ["Authority", "KeyPair", "PkiError", "key_pem", "names_of_server", "write_private"]

T = TypeVar("T")

_AUTHORITY_LIFE = timedelta(days=3650)
_LEAF_LIFE = timedelta(days=365)
_RENEW_BEFORE = timedelta(days=30)
_KEY_USAGES = (
    "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
    "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
)  # fmt: skip
#: Certificates are valid from a little before now, for clients whose clocks run behind.
_BACKDATE = timedelta(minutes=5)


def write_private(path: Path, data: bytes) -> None:
    """Write a file only its owner can read, atomically."""
    temporary = path.with_name(path.name + ".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    temporary.replace(path)


class PkiError(Exception):
    """A certificate or key on disk that cannot be used; the message names the file."""


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
    """A certificate authority kept in a folder (or only in memory when there is none)."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self.certificate = certificate
        self._key = key

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @classmethod
    def make(cls, name: str = "steersman-ca") -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _BACKDATE)
            .not_valid_after(now + _AUTHORITY_LIFE)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        return cls(certificate, key)

    @classmethod
    def open(cls, folder: Path) -> Authority:
        """The authority of a folder, made there when there is none. Raises PkiError, OSError."""
        certificate_file, key_file = folder / "ca.crt", folder / "ca.key"
        # The certificate is written last: a key alone is what a start that was interrupted left behind.
        if not certificate_file.exists():
            authority = cls.make()
            write_private(key_file, key_pem(authority._key))
            write_private(certificate_file, authority.pem)
            return authority
        certificate = _load(certificate_file, x509.load_pem_x509_certificate)
        key = _load(key_file, lambda pem: serialization.load_pem_private_key(pem, None))
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
            raise PkiError(f"{key_file} does not belong to {certificate_file}")
        return cls(certificate, key)

    def issue(
        self,
        common_name: str,
        *,
        organizations: Iterable[str] = (),
        names: Iterable[str] = (),
        server: bool = False,
    ) -> KeyPair:
        """A leaf certificate for a client, or for a server reached under `names`."""
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name))
        now = datetime.now(UTC)
        usage = ExtendedKeyUsageOID.SERVER_AUTH if server else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name(attributes))
            .issuer_name(self.certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _BACKDATE)
            .not_valid_after(now + _LEAF_LIFE)
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

    def keep(self, folder: Path, stem: str, common_name: str, names: Iterable[str]) -> tuple[Path, Path]:
        """The files of a server certificate in `folder`, (re)issued when it is missing, of another
        authority, near its end, or lacks one of `names`."""
        certificate_file, key_file = folder / f"{stem}.crt", folder / f"{stem}.key"
        names = list(names)
        if not (key_file.exists() and self._still_good(certificate_file, names)):
            pair = self.issue(common_name, names=names, server=True)
            write_private(key_file, pair.key)
            write_private(certificate_file, pair.certificate)
        return certificate_file, key_file

    def _still_good(self, file: Path, names: list[str]) -> bool:
        try:
            certificate = x509.load_pem_x509_certificate(file.read_bytes())
            certificate.verify_directly_issued_by(self.certificate)
            held = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except Exception:  # noqa: BLE001 - any doubt about the file is answered by issuing a new one
            return False
        if certificate.not_valid_after_utc - datetime.now(UTC) < _RENEW_BEFORE:
            return False
        return set(names_of_server(names)) <= set(held)


def _load(file: Path, parse: Callable[[bytes], T]) -> T:
    try:
        return parse(file.read_bytes())
    except (ValueError, TypeError):
        raise PkiError(f"{file} is damaged: it holds no readable PEM") from None


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
