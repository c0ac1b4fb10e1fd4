"""An authority of one's own and the serving certificate it issued: what is due next. Pure: no I/O, no clock.

| what is so                                          | what comes next                                     |
|-----------------------------------------------------|-----------------------------------------------------|
| nothing, or all of it useless                       | a new authority and a certificate of it             |
| the newest authority has lived 2/3 of its life      | another in front of it; the certificate stays       |
| the certificate is not of the newest authority      | one that is, once everybody knows that authority    |
| the certificate has lived 2/3, or lacks a name      | another, of the newest authority, likewise          |
| an authority is over                                | it is no longer trusted                             |

An authority stays trusted until it is over, and it outlives all it issued: a replica that still serves an
old certificate is trusted for as long as that is valid. Only the newest authority's key is kept.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from steersman.http.certificates import Authority, KeyPair, names_of_server

__all__ = ["Certificates", "Lives", "begin", "next_certificates"]

#: The rest of the life is for finding out that renewal does not work.
_DUE: Final = 2 / 3
_BUNDLE, _AUTHORITY_KEY, _CERTIFICATE, _KEY = "ca.crt", "ca.key", "tls.crt", "tls.key"


@dataclass(frozen=True, slots=True)
class Lives:
    """How long certificates are valid."""

    serving: timedelta = timedelta(days=90)
    authority: timedelta = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Certificates:
    """A generation of certificates as replicas share it."""

    #: All authorities that are to be trusted, PEM, the newest first.
    bundle: bytes
    authority_key: bytes
    serving: KeyPair

    def to_data(self) -> dict[str, str]:
        """The data of a Secret."""
        values = {
            _BUNDLE: self.bundle,
            _AUTHORITY_KEY: self.authority_key,
            _CERTIFICATE: self.serving.certificate,
            _KEY: self.serving.key,
        }
        return {name: base64.b64encode(value).decode() for name, value in values.items()}

    @classmethod
    def from_data(cls, data: Mapping[str, str]) -> Certificates | None:
        """What a Secret holds; None if that is of no use."""
        try:
            values = {name: base64.b64decode(value, validate=True) for name, value in data.items()}
            serving = KeyPair(values[_CERTIFICATE], values[_KEY])
            made = cls(values[_BUNDLE], values[_AUTHORITY_KEY], serving)
            # What cannot be loaded is found out here, not by whoever serves it.
            Authority.from_pem(made.newest, made.authority_key)
            key = load_pem_private_key(serving.key, None)
            if key.public_key() != made.leaf.public_key():
                return None
        except (KeyError, ValueError, TypeError, IndexError, binascii.Error):
            return None
        return made

    @property
    def authorities(self) -> list[x509.Certificate]:
        return x509.load_pem_x509_certificates(self.bundle)

    @property
    def newest(self) -> bytes:
        """The newest authority, PEM."""
        return self.authorities[0].public_bytes(Encoding.PEM)

    @property
    def leaf(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate(self.serving.certificate)

    @property
    def is_of_newest(self) -> bool:
        """Whether the newest authority issued what is served."""
        try:
            self.leaf.verify_directly_issued_by(self.authorities[0])
        except Exception:  # noqa: BLE001 - each reason for a signature not to fit has an error of its own
            return False
        return True


def begin(names: Iterable[str], lives: Lives, now: datetime) -> Certificates:
    """A new authority and a certificate for these names."""
    authority = _authority(lives, now)
    return Certificates(authority.pem, authority.key, _issue(authority, names, lives, now))


def next_certificates(
    current: Certificates | None,
    names: Collection[str],
    lives: Lives,
    now: datetime,
    *,
    announced: bool,
    renew: str = "",
) -> Certificates | None:
    """What should be there instead of `current`; None if it is good as it is.

    `announced` says that everybody who asks trusts all of the current bundle. `renew` is a wish: "serving" or
    "authority", due or not.
    """
    if current is None or now >= _end(current.authorities[0]):
        return begin(names, lives, now)
    alive = [each for each in current.authorities if now < _end(each)]
    bundle = b"".join(each.public_bytes(Encoding.PEM) for each in alive)
    if _is_due(alive[0], now) or (renew == "authority" and current.is_of_newest):
        authority = _authority(lives, now)
        return Certificates(authority.pem + bundle, authority.key, current.serving)
    held = _names(current.leaf)
    wanted = (
        renew == "serving"
        or not current.is_of_newest
        or _is_due(current.leaf, now)
        or not set(names_of_server(names)) <= set(names_of_server(held))
    )
    # What is served shows whether the newest authority is known: nobody is worse off with another of it.
    if wanted and (announced or current.is_of_newest):
        authority = Authority.from_pem(current.newest, current.authority_key)
        # Those of other replicas stay: they may be reached under other names.
        serving = _issue(authority, dict.fromkeys([*names, *held]), lives, now)
        return Certificates(bundle, current.authority_key, serving)
    if len(alive) < len(current.authorities):
        return Certificates(bundle, current.authority_key, current.serving)
    return None


def _authority(lives: Lives, now: datetime) -> Authority:
    # Each has a name of its own, for people who look at a bundle of two.
    name = f"steersman-webhooks-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    return Authority.make(name, life=lives.authority, now=now)


def _issue(authority: Authority, names: Iterable[str], lives: Lives, now: datetime) -> KeyPair:
    names = list(names)
    # The common name is for people; longer ones are not allowed.
    return authority.issue(names[0][:64], names=names, server=True, life=lives.serving, now=now)


def _is_due(certificate: x509.Certificate, now: datetime) -> bool:
    start, end = certificate.not_valid_before_utc, _end(certificate)
    return now >= start + (end - start) * _DUE


def _end(certificate: x509.Certificate) -> datetime:
    return certificate.not_valid_after_utc


def _names(certificate: x509.Certificate) -> list[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))]
