"""JWT authenticators: ID tokens of external OpenID Connect issuers.

`authentication_file` configures the issuers; `claims` maps their claims to users. An issuer's keys come from
its discovery document, or from a file.

`authenticate` never waits: keys are fetched by `run`, again every few minutes, and soon when a token
names a key that is not known yet.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

import orjson

from steersman.cluster.auth.authentication import API_AUDIENCE, Authenticated
from steersman.cluster.auth.claims import ClaimMappings
from steersman.cluster.auth.errors import BadToken, InvalidCredentials
from steersman.cluster.auth.jwt import JsonWebToken, VerificationKey, parse
from steersman.cluster.auth.rules import quote_list
from steersman.cluster.auth.users import User
from steersman.http import Client, Timeouts, client_tls

__all__ = ["ExternalIssuers", "Fetch", "Issuer", "fetch", "read_key_set"]

_log = logging.getLogger(__name__)

#: The body of a URL of an issuer, checked with its own certificate authority (PEM) when it has one.
Fetch = Callable[[str, str], Awaitable[bytes]]

_REFRESH_S = 600.0
_SOONEST_S = 10.0
_NOT_BEFORE_LEEWAY_S = 300
_REMEMBERED = 4096
_TIMEOUTS = Timeouts(connect_s=5.0, total_s=15.0)
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Issuer:
    """The configuration of an issuer."""

    url: str
    audiences: tuple[str, ...]
    mappings: ClaimMappings
    discovery_url: str = ""
    #: PEM of who vouches for its certificate; empty for the system's authorities.
    authority: str = ""
    #: Its keys where they are given, and not asked for.
    keys: tuple[VerificationKey, ...] = ()


def read_key_set(body: bytes) -> tuple[VerificationKey, ...]:
    """The usable keys of a JSON Web Key Set. Raises ValueError when it is none, or has none."""
    content = orjson.loads(body)
    if not isinstance(content, dict) or not isinstance(content.get("keys"), list):
        raise ValueError("not a JSON Web Key Set")
    keys = []
    for jwk in content["keys"]:
        try:
            if isinstance(jwk, dict) and jwk.get("use", "sig") == "sig":
                keys.append(VerificationKey.from_jwk(jwk))
        except ValueError:
            continue
    if not keys:
        raise ValueError("no usable key in the set")
    return tuple(keys)


# The authenticator


class _Known(NamedTuple):
    """The keys of an issuer, and when they were fetched."""

    user: User
    audiences: tuple[str, ...]
    until: float


class ExternalIssuers:
    """Authenticates the tokens of external issuers."""

    def __init__(self, issuers: Sequence[Issuer], now: Callable[[], float] = time.time) -> None:
        self._issuers = {issuer.url: issuer for issuer in issuers}
        self._now = now
        self._keys = {issuer.url: issuer.keys for issuer in issuers}
        self._known: dict[bytes, _Known] = {}
        self._wanted = asyncio.Event()

    def authenticate(self, token: str) -> User | None:
        found = self._find(token)
        return None if found is None else found.user

    def authenticate_for(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        """An issuer's tokens are for the API because the configuration says so; others may ask about the
        audiences they carry."""
        found = self._find(token)
        if found is None:
            return None
        fitting = [each for each in audiences if each == API_AUDIENCE or each in found.audiences]
        if not fitting:
            raise InvalidCredentials(
                f"token audiences {quote_list(found.audiences)} is invalid for the target audiences "
                f"{quote_list(audiences)}"
            )
        return Authenticated(found.user, fitting)

    def _find(self, text: str) -> _Known | None:
        digest = hashlib.sha256(text.encode(errors="surrogatepass")).digest()
        known = self._known.get(digest)
        if known is None:
            known = self._verify(text)
            if known is None:
                return None
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[digest] = known
        if self._now() >= known.until:
            raise InvalidCredentials("oidc: token is expired")
        return known

    def _verify(self, text: str) -> _Known | None:
        try:
            token = parse(text)
        except BadToken:
            return None
        url = token.claims.get("iss")
        issuer = self._issuers.get(url) if isinstance(url, str) else None
        if issuer is None:
            return None
        self._check_signature(issuer, token)
        claims = token.claims
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        meant = tuple(each for each in audiences if each in issuer.audiences)
        if not meant:
            raise InvalidCredentials("oidc: token is for another audience")
        try:
            until, begin = float(claims["exp"]), float(claims.get("nbf", 0))
        except (KeyError, TypeError, ValueError):
            raise InvalidCredentials("oidc: malformed claims") from None
        if self._now() + _NOT_BEFORE_LEEWAY_S < begin:
            raise InvalidCredentials("oidc: token is not valid yet")
        return _Known(issuer.mappings.user_of(claims), meant, until)

    def _check_signature(self, issuer: Issuer, token: JsonWebToken) -> None:
        keys = self._keys[issuer.url]
        key_id = token.header.get("kid")
        if not issuer.keys and not any(key.id == key_id for key in keys):
            self._wanted.set()
        try:
            token.verify(keys)
        except BadToken:
            raise InvalidCredentials("oidc: failed to verify id token signature") from None

    # Keys

    async def run(self, fetch: Fetch) -> None:
        """Keep the keys fresh until cancelled."""
        while True:
            self._wanted.clear()
            await self.refresh(fetch)
            await asyncio.sleep(_SOONEST_S)
            try:
                async with asyncio.timeout(_REFRESH_S - _SOONEST_S):
                    await self._wanted.wait()
            except TimeoutError:
                continue

    async def refresh(self, fetch: Fetch) -> None:
        """Fetch every issuer's keys now. Those that cannot be reached keep the keys they had."""
        for issuer in self._issuers.values():
            if issuer.keys:
                continue
            try:
                self._keys[issuer.url] = await _fetch_keys(issuer, fetch)
            except Exception as error:  # noqa: BLE001 - an issuer that fails must not end the others
                _log.warning("keys of the issuer %s cannot be had: %s", issuer.url, error)
        # What a key that is gone has signed is not to be remembered.
        self._known.clear()


async def _fetch_keys(issuer: Issuer, fetch: Fetch) -> tuple[VerificationKey, ...]:
    discovery = issuer.discovery_url or issuer.url.rstrip("/") + "/.well-known/openid-configuration"
    document = orjson.loads(await fetch(discovery, issuer.authority))
    if document.get("issuer") != issuer.url:
        raise ValueError(f"its discovery document names the issuer {document.get('issuer')!r}")
    return read_key_set(await fetch(document["jwks_uri"], issuer.authority))


async def fetch(url: str, authority: str) -> bytes:
    """What is at a URL of an issuer. Raises ValueError, OSError, and what the HTTP client raises."""
    parts = urlsplit(url)
    if parts.scheme != "https":
        raise ValueError(f"{url} is not an https URL")
    tls = client_tls(ca=authority.encode() if authority else None)
    base = f"{parts.scheme}://{parts.netloc}"
    async with Client(base, ssl=tls, timeouts=_TIMEOUTS, max_response_bytes=_LARGEST) as client:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        answer = await client.request("GET", target)
    if answer.status != 200:
        raise ValueError(f"{url} answers {answer.status}")
    return answer.content
