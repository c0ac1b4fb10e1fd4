"""Tokens of other issuers (OpenID Connect): users that somebody else vouches for.

Configured by a file in Kubernetes' form (AuthenticationConfiguration): for each issuer its URL, the
audiences its tokens must be for, which claims make the user, and which values others must have. What only
a CEL expression could say is refused when the file is read. An issuer's keys come from its discovery
document, or from a file (`jwksFile`, beside the configuration), for clusters without a network.

`authenticate` never waits: keys are fetched by `run`, again every few minutes, and soon when a token
names a key that is not known yet.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import yaml

from steersman.cluster.auth.authentication import API_AUDIENCE, Authenticated
from steersman.cluster.auth.errors import BadToken, InvalidCredentials
from steersman.cluster.auth.jwt import Token, VerificationKey, parse
from steersman.cluster.auth.rules import quote_list
from steersman.cluster.auth.users import AUTHENTICATED_GROUP, User

__all__ = ["ExternalIssuers", "Fetch", "Issuer", "read_issuers", "read_key_set"]

_log = logging.getLogger(__name__)

Object = dict[str, Any]
#: The body of a URL of an issuer, checked with its own certificate authority (PEM) when it has one.
Fetch = Callable[[str, str], Awaitable[bytes]]

_REFRESH_S = 600.0
_SOONEST_S = 10.0
_NOT_BEFORE_LEEWAY_S = 300
_REMEMBERED = 4096


class Mapped(NamedTuple):
    """A claim, and what is put before its value."""

    claim: str
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Issuer:
    url: str
    audiences: tuple[str, ...]
    username: Mapped
    groups: Mapped | None = None
    uid_claim: str = ""
    required: Mapping[str, str] | None = None
    discovery_url: str = ""
    authority: str = ""
    keys_file: Path | None = None

    def user_of(self, claims: Object) -> User:
        """Raises InvalidCredentials."""
        for claim, value in (self.required or {}).items():
            if claims.get(claim) != value:
                raise InvalidCredentials(f"oidc: required claim {claim} not present or of another value")
        name = _text(claims, self.username.claim)
        if self.username.claim == "email" and claims.get("email_verified", True) is not True:
            raise InvalidCredentials("oidc: email not verified")
        groups = _texts(claims, self.groups.claim) if self.groups else []
        prefix = self.groups.prefix if self.groups else ""
        uid = _text(claims, self.uid_claim) if self.uid_claim else ""
        token_id = claims.get("jti")
        extra = {"authentication.kubernetes.io/credential-id": [f"JTI={token_id}"]} if token_id else {}
        own = tuple(prefix + group for group in groups)
        return User(self.username.prefix + name, uid, (*own, AUTHENTICATED_GROUP), extra)


def _text(claims: Object, claim: str) -> str:
    value = claims.get(claim)
    if not isinstance(value, str) or not value:
        raise InvalidCredentials(f"oidc: claim {claim} is not a text")
    return value


def _texts(claims: Object, claim: str) -> list[str]:
    """A claim that is a list, or one value alone; a missing one is no groups."""
    value = claims.get(claim)
    values = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise InvalidCredentials(f"oidc: claim {claim} is not a list of texts")
    return values


# The file


def read_issuers(file: Path) -> list[Issuer]:
    """The issuers of an AuthenticationConfiguration. Raises ValueError when it cannot be followed."""
    try:
        content = yaml.safe_load(file.read_text())
    except yaml.YAMLError as error:
        raise ValueError(f"{file}: {error}") from None
    if not isinstance(content, dict) or content.get("kind") != "AuthenticationConfiguration":
        raise ValueError(f"{file}: not an AuthenticationConfiguration")
    issuers = []
    for number, given in enumerate(content.get("jwt") or ()):
        try:
            issuers.append(_issuer(given, file.parent))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            what = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"{file}: jwt[{number}]: {what}") from None
    urls = [issuer.url for issuer in issuers]
    if len(urls) != len(set(urls)):
        raise ValueError(f"{file}: an issuer is given twice")
    return issuers


def _issuer(given: Object, folder: Path) -> Issuer:
    issuer, mappings = given["issuer"], given["claimMappings"]
    url, audiences = issuer["url"], tuple(issuer["audiences"])
    if not url.startswith("https://"):
        raise ValueError("issuer.url must be an https URL")
    if url == API_AUDIENCE:
        raise ValueError("issuer.url is the cluster's own")
    if not audiences:
        raise ValueError("issuer.audiences must not be empty")
    if given.get("userValidationRules") or mappings.get("extra"):
        raise ValueError("CEL expressions are not supported here")
    required = {}
    for rule in given.get("claimValidationRules") or ():
        required[_claim(rule)] = str(rule.get("requiredValue", ""))
    username, groups = mappings["username"], mappings.get("groups")
    keys = given.get("jwksFile")
    return Issuer(
        url,
        audiences,
        Mapped(_claim(username), username["prefix"]),
        Mapped(_claim(groups), groups["prefix"]) if groups else None,
        _claim(mappings["uid"]) if mappings.get("uid") else "",
        required,
        issuer.get("discoveryURL", ""),
        issuer.get("certificateAuthority", ""),
        folder / keys if keys else None,
    )


def _claim(given: Object) -> str:
    if given.get("expression"):
        raise ValueError("CEL expressions are not supported here")
    return str(given["claim"])


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
    user: User
    audiences: tuple[str, ...]
    until: float


class ExternalIssuers:
    def __init__(self, issuers: Sequence[Issuer], now: Callable[[], float] = time.time) -> None:
        """Raises ValueError or OSError when an issuer's key file cannot be used."""
        self._issuers = {issuer.url: issuer for issuer in issuers}
        self._now = now
        self._keys: dict[str, tuple[VerificationKey, ...]] = {}
        self._known: dict[bytes, _Known] = {}
        self._wanted = asyncio.Event()
        for issuer in issuers:
            if issuer.keys_file is not None:
                self._keys[issuer.url] = read_key_set(issuer.keys_file.read_bytes())

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
        return _Known(issuer.user_of(claims), meant, until)

    def _check_signature(self, issuer: Issuer, token: Token) -> None:
        keys = self._keys.get(issuer.url, ())
        key_id = token.header.get("kid")
        if issuer.keys_file is None and not any(key.id == key_id for key in keys):
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
            if issuer.keys_file is not None:
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
        raise ValueError(f"its document says it is {document.get('issuer')!r}")
    return read_key_set(await fetch(document["jwks_uri"], issuer.authority))
