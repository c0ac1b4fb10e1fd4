"""Authentication of requests: bearer tokens and client certificates.

An authenticator returns a user, or None for credentials it does not handle; invalid credentials raise
`InvalidCredentials` (the API answers 401), missing ones make the request anonymous. Authenticators are called
in order; tokens are compared by their digest, so lookups leak no prefix.

A token is valid for some audiences; requests to this API need one that is valid for it, TokenReviews may ask
about others. `AudienceTokens` have audiences of their own, all other tokens are for the API.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, Protocol, runtime_checkable

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from steersman.cluster.auth.errors import InvalidCredentials
from steersman.cluster.auth.users import ANONYMOUS, AUTHENTICATED_GROUP, User

__all__ = [
    "API_AUDIENCE",
    "AnonymousAccess",
    "AudienceTokens",
    "Authenticated",
    "Authentication",
    "CertificateAuthenticator",
    "InvalidCredentials",
    "Recognized",
    "StaticTokens",
    "TokenAuthenticator",
]


#: Whom tokens for this API are meant for.
API_AUDIENCE = "https://kubernetes.default.svc"
_UNKNOWN = "invalid bearer token"


class TokenAuthenticator(Protocol):
    """Authenticates bearer tokens."""

    def authenticate(self, token: str) -> User | None:
        """The token's user, None when this authenticator does not know the token."""


class Recognized(NamedTuple):
    """An authenticated token: its user and audiences."""

    user: User
    #: Nothing ends these credentials before the process ends: neither time nor a revocation.
    lasting: bool


class Authenticated(NamedTuple):
    """The user of a request."""

    user: User
    #: Those asked about that the token is good for.
    audiences: Sequence[str]


@runtime_checkable
class AudienceTokens(TokenAuthenticator, Protocol):
    """Authenticates tokens that have audiences."""

    def authenticate_for(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        """As `authenticate`, for a token meant for one of `audiences`."""


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


class StaticTokens:
    """A fixed set of tokens (that of the admin)."""

    def __init__(self, users: Mapping[str, User]) -> None:
        self._users = {_digest(token): user for token, user in users.items()}

    def authenticate(self, token: str) -> User | None:
        return self._users.get(_digest(token))


class CertificateAuthenticator:
    """Client certificates issued by the cluster's CA: CN is the user name, each O a group."""

    def __init__(self, authority: x509.Certificate) -> None:
        self._authority = authority

    def authenticate(self, der: bytes) -> User | None:
        try:
            certificate = x509.load_der_x509_certificate(der)
            certificate.verify_directly_issued_by(self._authority)
        except (ValueError, TypeError, InvalidSignature):
            return None
        now = datetime.now(UTC)
        if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
            return None
        if not _may_authenticate_clients(certificate):
            return None
        names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        if not names:
            return None
        groups = [
            str(part.value) for part in certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
        ]
        return User(str(names[0].value), groups=(*groups, AUTHENTICATED_GROUP))


def _may_authenticate_clients(certificate: x509.Certificate) -> bool:
    try:
        usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return False
    return ExtendedKeyUsageOID.CLIENT_AUTH in usage


@dataclass(frozen=True, slots=True)
class AnonymousAccess:
    """Whether anonymous requests are served; with `paths`, only for these."""

    enabled: bool = True
    paths: frozenset[str] = frozenset()

    def allows(self, path: str) -> bool:
        return self.enabled and (not self.paths or path in self.paths)


class Authentication:
    """The chain of authenticators: client certificate first, then bearer token, else anonymous."""

    def __init__(
        self,
        certificates: CertificateAuthenticator | None,
        tokens: Sequence[TokenAuthenticator],
        audiences: Sequence[str] = (API_AUDIENCE,),
        anonymous: AnonymousAccess | None = None,
    ) -> None:
        self._certificates = certificates
        self._tokens = tokens
        self.audiences = audiences
        self.anonymous = anonymous or AnonymousAccess()

    def by_certificate(self, der: bytes) -> User | None:
        """The certificate's user; None when it is not one of ours. Callers cache it per connection."""
        return self._certificates.authenticate(der) if self._certificates else None

    def by_header(self, authorization: str | None) -> User:
        """The user of an Authorization header; anonymous without one."""
        return self.recognize(authorization).user

    def recognize(self, authorization: str | None) -> Recognized:
        """The same, and whether callers may cache it per connection."""
        scheme, _, rest = (authorization or "").strip().partition(" ")
        token = rest.partition(" ")[0]
        if scheme.lower() != "bearer" or not token:
            return Recognized(ANONYMOUS, lasting=False)
        problems = []
        for authenticator in self._tokens:
            try:
                if (user := authenticator.authenticate(token)) is not None:
                    return Recognized(user, isinstance(authenticator, StaticTokens))
            except InvalidCredentials as problem:
                problems.append(problem)
        raise _combined(problems)

    def by_token(self, token: str, audiences: Sequence[str] = ()) -> Authenticated:
        """Whose token it is and which of `audiences` (the API's when empty) it is meant for."""
        wanted = audiences or self.audiences
        own = [audience for audience in wanted if audience in self.audiences]
        problems = []
        for authenticator in self._tokens:
            try:
                if isinstance(authenticator, AudienceTokens):
                    if (found := authenticator.authenticate_for(token, wanted)) is not None:
                        return found
                elif own and (user := authenticator.authenticate(token)) is not None:
                    return Authenticated(user, own)
            except InvalidCredentials as problem:
                problems.append(problem)
        raise _combined(problems)


def _combined(problems: Sequence[InvalidCredentials]) -> InvalidCredentials:
    texts = [str(problem) for problem in problems]
    if len(texts) > 1:
        return InvalidCredentials(f"[{', '.join(texts)}]")
    return InvalidCredentials(texts[0] if texts else _UNKNOWN)
