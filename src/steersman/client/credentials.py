"""Who the client is to the API: the header fields that prove it, kept fresh.

`Sender` asks for `current()` before every request and for `renew` when there is none or when the API
did not accept them. Nothing here shows a secret in a repr or an error.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Protocol

from steersman.aio import Clock
from steersman.client.errors import CredentialsError
from steersman.http import RawHeaders

__all__ = ["Anonymous", "Credentials", "FixedFields", "TokenFile", "basic", "bearer"]

#: Tokens of service accounts are rotated long before they expire; looking once a minute is enough.
_REREAD_S = 60.0


class Credentials(Protocol):
    """Proof of identity that may change over time."""

    def current(self) -> RawHeaders | None:
        """The fields to send now (the same tuple as long as they are the same), or None: call `renew`."""
        ...

    async def renew(self, *, rejected: bool = False) -> bool:
        """Get new ones; `rejected` says that the API answered 401 to the present ones.

        Returns whether another request has a chance. Raises `CredentialsError`.
        """
        ...


class FixedFields:
    """The same fields for ever."""

    __slots__ = ("_fields",)

    def __init__(self, fields: RawHeaders) -> None:
        self._fields = tuple(fields)

    def current(self) -> RawHeaders:
        return self._fields

    async def renew(self, *, rejected: bool = False) -> bool:
        return False


class Anonymous(FixedFields):
    """Nobody, or whoever the connection's client certificate names."""

    def __init__(self) -> None:
        super().__init__(())


class TokenFile:
    """A bearer token in a file that is replaced from time to time."""

    __slots__ = ("_clock", "_fields", "_file", "_read_at", "_token")

    def __init__(self, file: Path, clock: Clock, token: str = "") -> None:
        """`token` is sent for as long as the file cannot be read."""
        self._file = file
        self._clock = clock
        self._token = token
        self._fields: RawHeaders | None = bearer(token) if token else None
        self._read_at: float | None = None

    def current(self) -> RawHeaders | None:
        now = self._clock.monotonic()
        if self._read_at is None or now - self._read_at >= _REREAD_S:
            self._read_at = now
            self._read()
        return self._fields

    async def renew(self, *, rejected: bool = False) -> bool:
        """Look again at once, if it was the API that did not like the token."""
        before = self._token
        self._read_at = None
        if self.current() is None:
            raise CredentialsError(f"{self._file}: there is no token in it, or it cannot be read")
        return self._token != before or not rejected

    def _read(self) -> None:
        try:
            token = self._file.read_text(encoding="utf-8").strip()
            fields = bearer(token)
        except (OSError, ValueError):
            # It is being replaced, perhaps; the last one is still good for a while.
            return
        if token and token != self._token:
            self._token = token
            self._fields = fields


def bearer(token: str) -> tuple[tuple[bytes, bytes], ...]:
    """Raises ValueError, which does not repeat the token."""
    if not token.isascii() or not token.isprintable():
        raise ValueError("the token has characters that cannot be sent")
    return ((b"Authorization", b"Bearer " + token.encode()),)


def basic(username: str, password: str) -> tuple[tuple[bytes, bytes], ...]:
    pair = base64.b64encode(f"{username}:{password}".encode())
    return ((b"Authorization", b"Basic " + pair),)
