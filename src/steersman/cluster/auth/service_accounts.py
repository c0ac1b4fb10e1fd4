"""Service account tokens: issuing, and authenticating while their account and bound object exist.

A token names its service account and the object it is bound to (pod, secret, node) by uid. Its signature
is checked once and remembered by the token's digest; that the objects are still there, and that the token
has not run out, is checked on every request. Bound objects that change are looked at again.

Tokens of Secrets (type kubernetes.io/service-account-token) have claims of their own, no end, and are good
as long as their Secret holds exactly them.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from steersman.cluster.auth.authentication import API_AUDIENCE, Authenticated
from steersman.cluster.auth.errors import BadToken, InvalidCredentials
from steersman.cluster.auth.jwt import JsonWebToken, SigningKey, VerificationKey, parse
from steersman.cluster.auth.lookup import Lookup
from steersman.cluster.auth.pki import PkiError, write_private
from steersman.cluster.auth.rules import quote_list
from steersman.cluster.auth.users import AUTHENTICATED_GROUP, User, account_groups, account_name
from steersman.objects.kinds import Object
from steersman.objects.labels import labels_of

__all__ = ["ServiceAccountTokens", "open_signing_key"]


_LEGACY_ISSUER = "kubernetes/serviceaccount"
_LEGACY = "kubernetes.io/serviceaccount/"
_EXTRA = "authentication.kubernetes.io/"
#: Clocks differ; so much is forgiven, and what is deleted stays good so long.
_LEEWAY_S = 60
#: How long a signature that was good is believed without looking again, and how many are.
_REMEMBER_S = 60.0
_REMEMBERED = 8192
#: Claims of the objects a token can be bound to, and their resources.
_BOUND = {"pod": "pods", "secret": "secrets", "node": "nodes"}
_INVALIDATED = "service account token has been invalidated"


def open_signing_key(folder: Path) -> SigningKey:
    """The key of a folder, made there when there is none. Raises PkiError, OSError."""
    file = folder / "service-account.key"
    if file.exists():
        try:
            return SigningKey.load(file.read_bytes())
        except (ValueError, TypeError):
            raise PkiError(f"{file} is damaged: it holds no private key for tokens") from None
    key = SigningKey.make()
    write_private(file, key.pem())
    return key


class _Dependency(NamedTuple):
    """An object that must still exist with the same uid."""

    claim: str
    plural: str
    namespace: str
    name: str
    uid: str


@dataclass(slots=True)
class _Verified:
    """A token with a verified signature."""

    user: User
    audiences: tuple[str, ...]
    until: float
    dependencies: tuple[_Dependency, ...]
    #: The digest of the whole token, when it must be found in its Secret.
    kept_in_secret: bytes
    #: Revisions of the dependencies when they were last found good.
    seen: list[int]
    forget_at: float


class ServiceAccountTokens:
    """Issues and authenticates tokens. `keys` are further accepted verification keys (the key before a
    rotation).
    """

    def __init__(
        self,
        key: SigningKey,
        lookup: Lookup,
        *,
        issuer: str = API_AUDIENCE,
        audiences: Sequence[str] = (API_AUDIENCE,),
        keys: Sequence[VerificationKey] = (),
        now: Callable[[], float] = time.time,
    ) -> None:
        self._key = key
        self._lookup = lookup
        self.issuer = issuer
        self.audiences = tuple(audiences)
        self.keys = (key.public, *keys)
        self._now = now
        self._verified: dict[bytes, _Verified] = {}
        #: Told of the namespace and name of the Secret whose token was used.
        self.on_legacy_use: Callable[[str, str], None] = lambda namespace, secret: None

    # Issuing

    def issue(
        self,
        account: Object,
        *,
        audiences: Sequence[str],
        expires_in_s: int,
        bound: Mapping[str, Object] | None = None,
        warn_after_s: int = 0,
    ) -> str:
        """A token of a ServiceAccount, `bound` to objects by claim: {"pod": …, "node": …}."""
        now = int(self._now())
        metadata = account["metadata"]
        about: Object = {"namespace": metadata["namespace"]}
        for claim, obj in (bound or {}).items():
            about[claim] = _reference(obj)
        about["serviceaccount"] = _reference(account)
        if warn_after_s:
            about["warnafter"] = now + warn_after_s
        return self._key.sign(
            {
                "aud": list(audiences),
                "exp": now + expires_in_s,
                "iat": now,
                "iss": self.issuer,
                "jti": str(uuid.UUID(bytes=os.urandom(16), version=4)),
                "kubernetes.io": about,
                "nbf": now,
                "sub": account_name(metadata["namespace"], metadata["name"]),
            }
        )

    def issue_legacy(self, account: Mapping[str, Any], secret: Mapping[str, Any]) -> str:
        """The token to be put into a Secret's data.token; good as long as it is there."""
        metadata = account["metadata"]
        return self._key.sign(
            {
                "iss": _LEGACY_ISSUER,
                f"{_LEGACY}namespace": metadata["namespace"],
                f"{_LEGACY}secret.name": secret["metadata"]["name"],
                f"{_LEGACY}service-account.name": metadata["name"],
                f"{_LEGACY}service-account.uid": metadata["uid"],
                "sub": account_name(metadata["namespace"], metadata["name"]),
            }
        )

    # Checking

    def authenticate(self, token: str) -> User | None:
        found = self.authenticate_for(token, self.audiences)
        return None if found is None else found.user

    def authenticate_for(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        digest = hashlib.sha256(token.encode(errors="surrogatepass")).digest()
        now = self._now()
        known = self._verified.get(digest)
        if known is None or now >= known.forget_at:
            known = self._verify(token, now)
            if known is None:
                return None
            if len(self._verified) >= _REMEMBERED:
                self._verified.clear()
            self._verified[digest] = known
        fitting = [audience for audience in audiences if audience in known.audiences]
        if not fitting:
            raise InvalidCredentials(
                f"token audiences {quote_list(known.audiences)} is invalid for the target audiences "
                f"{quote_list(audiences)}"
            )
        if now > known.until:
            raise InvalidCredentials("service account token has expired")
        self._check_dependencies(known, now)
        if known.kept_in_secret:
            _, secret = known.dependencies
            self.on_legacy_use(secret.namespace, secret.name)
        return Authenticated(known.user, fitting)

    def _verify(self, text: str, now: float) -> _Verified | None:
        """The token's meaning if one of our keys signed it; None if it is not ours to judge."""
        try:
            token = parse(text)
        except BadToken:
            return None
        issuer = token.claims.get("iss")
        if issuer not in (self.issuer, _LEGACY_ISSUER):
            return None
        try:
            token.verify(self.keys)
        except BadToken as error:
            raise InvalidCredentials(str(error)) from None
        try:
            found = self._legacy(token, text) if issuer == _LEGACY_ISSUER else self._bound(token, now)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InvalidCredentials("service account token claims could not be validated") from None
        found.forget_at = now + _REMEMBER_S
        return found

    def _bound(self, token: JsonWebToken, now: float) -> _Verified:
        claims = token.claims
        about = claims["kubernetes.io"]
        namespace, account = about["namespace"], about["serviceaccount"]
        if now + _LEEWAY_S < float(claims["nbf"]):
            raise InvalidCredentials("service account token is not valid yet")
        if now + _LEEWAY_S < float(claims["iat"]):
            raise InvalidCredentials("service account token is issued in the future")
        if claims["sub"] != account_name(namespace, account["name"]):
            raise ValueError("subject")
        dependencies = [
            _Dependency("service account", "serviceaccounts", namespace, account["name"], account["uid"])
        ]
        for claim, plural in _BOUND.items():
            # A pod's token says on which node it runs; only a token bound to nothing else is the node's.
            if claim in about and not (claim == "node" and "pod" in about):
                home = "" if claim == "node" else namespace
                dependencies.append(
                    _Dependency(claim, plural, home, about[claim]["name"], about[claim]["uid"])
                )
        return _Verified(
            _user(namespace, account, _extra(about, str(claims.get("jti", "")))),
            _audiences(claims.get("aud")) or self.audiences,
            float(claims["exp"]) + _LEEWAY_S,
            tuple(dependencies),
            b"",
            [0] * len(dependencies),
            0.0,
        )

    def _legacy(self, token: JsonWebToken, text: str) -> _Verified:
        claims = token.claims
        namespace = claims[f"{_LEGACY}namespace"]
        secret = claims[f"{_LEGACY}secret.name"]
        account = {
            "name": claims[f"{_LEGACY}service-account.name"],
            "uid": claims[f"{_LEGACY}service-account.uid"],
        }
        if claims["sub"] != account_name(namespace, account["name"]):
            raise InvalidCredentials("sub claim is invalid")
        return _Verified(
            _user(namespace, account, {}),
            self.audiences,
            float("inf"),
            (
                _Dependency("service account", "serviceaccounts", namespace, account["name"], account["uid"]),
                _Dependency("token", "secrets", namespace, secret, ""),
            ),
            hashlib.sha256(text.encode()).digest(),
            [0, 0],
            0.0,
        )

    def _check_dependencies(self, known: _Verified, now: float) -> None:
        for index, dependency in enumerate(known.dependencies):
            _, plural, namespace, name, _ = dependency
            revision = self._lookup.revision(plural, namespace, name)
            if revision and revision == known.seen[index]:
                continue
            obj = self._lookup.get(plural, namespace, name) if revision else None
            deleting = _check(dependency, obj, known.kept_in_secret, now)
            # What is being deleted runs out by the clock, so it is looked at every time.
            known.seen[index] = 0 if deleting else revision


def _reference(obj: Object) -> Object:
    """Name and uid, as claims have them; what is not known is left out."""
    return {key: value for key in ("name", "uid") if (value := obj["metadata"].get(key))}


def _audiences(value: Any) -> tuple[str, ...]:
    """`aud` is a list, or one of them alone."""
    return (value,) if isinstance(value, str) else tuple(map(str, value or ()))


def _extra(about: Object, token_id: str) -> dict[str, Sequence[str]]:
    extra: dict[str, Sequence[str]] = {}
    if token_id:
        extra[f"{_EXTRA}credential-id"] = [f"JTI={token_id}"]
    for claim in ("node", "pod"):
        for key, value in about.get(claim, {}).items():
            extra[f"{_EXTRA}{claim}-{key}"] = [value]
    return extra


def _user(namespace: str, account: Object, extra: Mapping[str, Sequence[str]]) -> User:
    groups = (*account_groups(namespace), AUTHENTICATED_GROUP)
    return User(account_name(namespace, account["name"]), account["uid"], groups, extra)


def _check(dependency: _Dependency, obj: Object | None, kept: bytes, now: float) -> bool:
    """Raise InvalidCredentials unless the object is still the one meant; True if its end is decided."""
    claim, plural, namespace, name, uid = dependency
    legacy = claim == "token"
    if obj is None:
        if claim == "service account":
            raise InvalidCredentials(f'{plural} "{name}" not found')
        raise InvalidCredentials("Token has been invalidated" if legacy else _INVALIDATED)
    metadata = obj["metadata"]
    if legacy:
        _check_kept(obj, kept)
    elif metadata["uid"] != uid:
        meant = "claim" if claim == "service account" else f"service account {claim} ref claim"
        shown = claim if claim in ("service account", "node", "pod") else "secret"
        raise InvalidCredentials(f"{shown} UID ({metadata['uid']}) does not match {meant} ({uid})")
    deleted = metadata.get("deletionTimestamp")
    if not deleted:
        return False
    if legacy or datetime.fromisoformat(deleted).timestamp() < now - _LEEWAY_S:
        if claim == "service account":
            raise InvalidCredentials(f"service account {namespace}/{name} has been deleted")
        raise InvalidCredentials("Token has been invalidated" if legacy else _INVALIDATED)
    return True


def _check_kept(secret: Object, kept: bytes) -> None:
    """A Secret's token is good while it is the one that the Secret holds."""
    try:
        held = base64.b64decode((secret.get("data") or {}).get("token", ""), validate=True)
    except binascii.Error:
        held = b""
    if not hmac.compare_digest(hashlib.sha256(held).digest(), kept):
        raise InvalidCredentials("Token does not match server's copy")
    if labels_of(secret).get("kubernetes.io/legacy-token-invalid-since"):
        raise InvalidCredentials("the token in its secret has been marked invalid")
