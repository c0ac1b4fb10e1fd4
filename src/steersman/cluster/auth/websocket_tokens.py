"""Bearer tokens in WebSocket subprotocols, for browsers, which cannot set the Authorization header.

`base64url.bearer.authorization.k8s.io.<token>` is one of the offered subprotocols. It is for the API server
only and never passed on.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from steersman.cluster.auth.errors import InvalidCredentials
from steersman.http import Headers

__all__ = ["authorization_of", "without_token"]

_PREFIX: Final = "base64url.bearer.authorization.k8s.io."
_ENCODED: Final = re.compile(r"[A-Za-z0-9_-]+")


def _subprotocols(values: list[str]) -> list[str]:
    return [name.strip() for value in values for name in value.split(",")]


def authorization_of(headers: Headers) -> str | None:
    """What the Authorization header would say; None if there is no token. Raises InvalidCredentials."""
    named = _subprotocols(headers.get_all("sec-websocket-protocol"))
    tokens = [name.removeprefix(_PREFIX) for name in named if name.startswith(_PREFIX)]
    if not tokens:
        return None
    # One must be left that can be answered.
    if len(tokens) > 1 or len(named) == 1 or not _ENCODED.fullmatch(tokens[0]):
        raise InvalidCredentials
    try:
        token = base64.urlsafe_b64decode(tokens[0] + "=" * (-len(tokens[0]) % 4)).decode()
    except (binascii.Error, ValueError):
        raise InvalidCredentials from None
    return f"Bearer {token}"


def without_token(value: bytes) -> bytes:
    """A Sec-WebSocket-Protocol header as others may see it."""
    named = _subprotocols([value.decode("latin-1")])
    return ", ".join(name for name in named if not name.startswith(_PREFIX)).encode("latin-1")
