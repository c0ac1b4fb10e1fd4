"""The cluster's certificates: the CA, the API server's certificate and the admin's, created at first start.

Certificates are issued by `steersman.http.certificates`; this module stores them. Private files are readable
by their owner only. The server's certificate is renewed when its names change or its lifetime ends.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from steersman.http import certificates
from steersman.http.certificates import KeyPair, alternative_names, key_pem, key_usage, names_of_server

__all__ = [
    "KeyPair",
    "PkiError",
    "StoredAuthority",
    "alternative_names",
    "key_pem",
    "key_usage",
    "names_of_server",
    "write_private",
]

T = TypeVar("T")

_LEAF_LIFE = timedelta(days=365)
_RENEW_BEFORE = timedelta(days=30)


def write_private(path: Path, data: bytes) -> None:
    """Write a file only its owner can read, atomically. Raises OSError, which names the file."""
    temporary = path.with_name(path.name + ".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError as error:  # a full disk is noticed late, and without a name
        raise OSError(error.errno, error.strerror, str(path)) from None
    temporary.replace(path)


class PkiError(Exception):
    """A certificate or key on disk that cannot be used; the message names the file."""


class StoredAuthority(certificates.Authority):
    """A certificate authority stored in a folder (or only in memory when there is none)."""

    @classmethod
    def open(cls, folder: Path) -> StoredAuthority:
        """The authority of a folder, made there when there is none. Raises PkiError, OSError."""
        certificate_file, key_file = folder / "ca.crt", folder / "ca.key"
        # The certificate is written last: a key alone is what a start that was interrupted left behind.
        if certificate_file.exists() and not key_file.exists():
            raise PkiError(f"{key_file} is missing, but {certificate_file} is there")
        if not certificate_file.exists():
            authority = cls.make()
            write_private(key_file, authority.key)
            write_private(certificate_file, authority.pem)
            return authority
        certificate = _load(certificate_file, x509.load_pem_x509_certificate)
        key = _load(key_file, lambda pem: serialization.load_pem_private_key(pem, None))
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
            raise PkiError(f"{key_file} does not belong to {certificate_file}")
        return cls(certificate, key)

    def keep(self, folder: Path, stem: str, common_name: str, names: Iterable[str]) -> tuple[Path, Path]:
        """The files of a server certificate in `folder`, (re)issued when it is missing, damaged, of
        another authority, near its end, or lacks one of `names`."""
        certificate_file, key_file = folder / f"{stem}.crt", folder / f"{stem}.key"
        names = list(names)
        if not self._still_good(certificate_file, key_file, names):
            pair = self.issue(common_name, names=names, server=True, life=_LEAF_LIFE)
            write_private(key_file, pair.key)
            write_private(certificate_file, pair.certificate)
        return certificate_file, key_file

    def _still_good(self, file: Path, key_file: Path, names: list[str]) -> bool:
        try:
            certificate = x509.load_pem_x509_certificate(file.read_bytes())
            key = serialization.load_pem_private_key(key_file.read_bytes(), None)
            if key.public_key() != certificate.public_key():
                return False
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
