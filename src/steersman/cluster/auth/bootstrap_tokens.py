"""Bootstrap tokens: `id.secret`, stored as Secrets in kube-system, with which new nodes join."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from steersman.cluster.auth.lookup import Lookup
from steersman.cluster.auth.users import AUTHENTICATED_GROUP, User
from steersman.objects.lifetime import is_deleting

__all__ = ["BootstrapTokens"]

_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")
_EVERYONE = "system:bootstrappers"


class BootstrapTokens:
    """Authenticates bootstrap tokens."""

    def __init__(self, lookup: Lookup, now: Callable[[], float] = time.time) -> None:
        self._lookup = lookup
        self._now = now

    def authenticate(self, token: str) -> User | None:
        match = _TOKEN.fullmatch(token)
        if match is None:
            return None
        token_id, given = match.groups()
        secret = self._lookup.get("secrets", "kube-system", f"bootstrap-token-{token_id}")
        if secret is None or is_deleting(secret):
            return None
        if secret.get("type") != "bootstrap.kubernetes.io/token":
            return None
        data = _texts(secret.get("data") or {})
        if not hmac.compare_digest(data.get("token-secret", "").encode(), given.encode()):
            return None
        if data.get("token-id") != token_id or data.get("usage-bootstrap-authentication") != "true":
            return None
        groups = _groups(data.get("auth-extra-groups", ""))
        if groups is None or self._expired(data.get("expiration", "")):
            return None
        return User(f"system:bootstrap:{token_id}", groups=(*groups, AUTHENTICATED_GROUP))

    def _expired(self, expiration: str) -> bool:
        """What cannot be read has run out."""
        if not expiration:
            return False
        try:
            end = datetime.fromisoformat(expiration)
        except ValueError:
            return True
        return end.tzinfo is None or end <= datetime.fromtimestamp(self._now(), UTC)


def _texts(data: Mapping[str, str]) -> dict[str, str]:
    texts = {}
    for key, value in data.items():
        try:
            texts[key] = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
    return texts


def _groups(extra: str) -> list[str] | None:
    """Sorted, the common one included; None when one is not a bootstrap group."""
    names = extra.split(",") if extra else []
    if not all(map(_GROUP.fullmatch, names)):
        return None
    return sorted({_EVERYONE, *names})
