"""Who may act: whoever shows the token, or a certificate of the client CA.

Reading status is open, as in the public project; whatever changes something, and what pods wrote, is not. The
token is looked up for every request, so a file that is replaced counts at once. Nothing here logs a secret.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from steersman.http import Request, RequestRefused

__all__ = ["TOKEN_VARIABLE", "Access"]

TOKEN_VARIABLE = "HIGHLANDER_API_TOKEN"  # noqa: S105 - a variable's name
_CHALLENGE = ((b"WWW-Authenticate", b'Bearer realm="highlander"'),)


class Access:
    """What counts as permission. Without a token and a CA nobody may act."""

    def __init__(
        self,
        *,
        token_file: str | os.PathLike[str] | None = None,
        client_cas: bytes | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """The token is in `token_file`, else in the environment's HIGHLANDER_API_TOKEN; `client_cas` (PEM)
        sign the certificates of clients that may act too."""
        self._file = None if token_file is None else Path(token_file)
        self._environment = environment
        self.client_cas = client_cas

    @property
    def possible(self) -> bool:
        """Whether anybody may act."""
        return bool(self.client_cas or self._token())

    def check(self, request: Request) -> None:
        """Return if whoever sent this may act; else raise the refusal."""
        _refuse_foreign_pages(request)
        if self._certified(request):
            return
        token = self._token()
        if not token:
            raise RequestRefused(
                403,
                f"actions are disabled: neither a token file, {TOKEN_VARIABLE} nor a client CA is set",
            )
        scheme, _, shown = (request.headers.get("authorization") or "").partition(" ")
        if scheme.lower() != "bearer" or not shown:
            raise RequestRefused(401, "a bearer token is required", _CHALLENGE)
        if not _same(shown.strip().encode("latin-1"), token):
            raise RequestRefused(401, "the token is wrong", _CHALLENGE)

    def _token(self) -> bytes:
        if self._file is None:
            return self._environment.get(TOKEN_VARIABLE, "").strip().encode()
        try:
            return self._file.read_bytes().strip()
        except OSError as error:
            raise RequestRefused(403, f"the token file cannot be read: {error.strerror}") from error

    def _certified(self, request: Request) -> bool:
        if self.client_cas is None or not request.connection.secure:
            return False
        known: bool | None = request.connection.state.get("certified")
        if known is None:
            shown = request.connection.peer_certificate
            known = shown is not None and _signed_for_clients(shown, self.client_cas)
            request.connection.state["certified"] = known
        return known


def _same(shown: bytes, token: bytes) -> bool:
    """In a time that tells nothing about either."""
    key = os.urandom(32)
    return hmac.compare_digest(hmac.digest(key, shown, "sha256"), hmac.digest(key, token, "sha256"))


def _refuse_foreign_pages(request: Request) -> None:
    """A browser shows a client certificate to this server whichever page made it ask."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise RequestRefused(403, "cross-site requests are rejected")


def _signed_for_clients(der: bytes, authorities: bytes) -> bool:
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.x509.oid import ExtendedKeyUsageOID

    try:
        certificate = x509.load_der_x509_certificate(der)
        usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except (ValueError, x509.ExtensionNotFound):
        return False
    now = datetime.now(UTC)
    in_time = certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc
    if not in_time or ExtendedKeyUsageOID.CLIENT_AUTH not in usage:
        return False
    for authority in x509.load_pem_x509_certificates(authorities):
        try:
            certificate.verify_directly_issued_by(authority)
        except (ValueError, TypeError, InvalidSignature):
            continue
        return True
    return False
