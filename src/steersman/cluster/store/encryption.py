"""Encryption at rest: values of chosen keys are encrypted in the file with a key from the key file.

AES-256-GCM with a random nonce; the store's key is authenticated with the value, so that an encrypted value
cannot be moved to another key. Encrypted values name the key they were encrypted with: new ones always the
first of the file, so putting a new key on top and restarting rotates (the old one may be removed after all
values were rewritten). In memory values are plain, as they are in any store that answers reads.

    sealed value = MAGIC, first 8 bytes of the key's digest, nonce (12), ciphertext and tag
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from steersman.cluster.store.errors import Corrupt, Unusable

__all__ = ["ValueCipher", "is_sealed"]

#: No JSON text starts with this byte.
_MAGIC = b"\x00seal1"
_KEY_BYTES = 32
_ID_BYTES = 8
_NONCE_BYTES = 12
_HEADER_BYTES = len(_MAGIC) + _ID_BYTES + _NONCE_BYTES


def is_sealed(value: bytes) -> bool:
    return value.startswith(_MAGIC)


class ValueCipher:
    """Encrypts values of keys under some prefixes; decrypts with any of its keys."""

    def __init__(self, keys: Sequence[bytes], prefixes: tuple[str, ...]) -> None:
        if not keys or any(len(key) != _KEY_BYTES for key in keys):
            raise ValueError(f"keys must have {_KEY_BYTES} bytes")
        self._ciphers = {hashlib.sha256(key).digest()[:_ID_BYTES]: AESGCM(key) for key in keys}
        self._first = next(iter(self._ciphers))
        self._prefixes = prefixes

    @classmethod
    def from_file(cls, file: Path, prefixes: tuple[str, ...]) -> ValueCipher:
        """One base64 key a line, the one to seal with first. Raises Unusable."""
        try:
            lines = file.read_text(encoding="utf-8").split()
        except (OSError, UnicodeDecodeError) as error:
            raise Unusable(file, getattr(error, "strerror", None) or "it is not text") from None
        keys = []
        for number, line in enumerate(lines, 1):
            try:
                key = base64.b64decode(line, validate=True)
            except binascii.Error:
                key = b""
            if len(key) != _KEY_BYTES:
                raise Unusable(file, f"line {number} is not {_KEY_BYTES} bytes in base64")
            keys.append(key)
        if not keys:
            raise Unusable(file, f"it holds no key: put {_KEY_BYTES} random bytes in base64 on a line")
        return cls(keys, prefixes)

    def seal(self, key: str, value: bytes) -> bytes:
        """The value as the disk gets it."""
        if not key.startswith(self._prefixes):
            return value
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._ciphers[self._first].encrypt(nonce, value, key.encode())
        return b"".join((_MAGIC, self._first, nonce, sealed))

    def open(self, path: Path, key: str, value: bytes) -> bytes:
        """The value as it was written. Raises Unusable (no key fits) or Corrupt."""
        if not is_sealed(value):
            return value
        identity = value[len(_MAGIC) : len(_MAGIC) + _ID_BYTES]
        cipher = self._ciphers.get(identity)
        if cipher is None:
            raise Unusable(path, f"{key} is encrypted with a key that is not in the key file")
        nonce = value[_HEADER_BYTES - _NONCE_BYTES : _HEADER_BYTES]
        try:
            return cipher.decrypt(nonce, value[_HEADER_BYTES:], key.encode())
        except InvalidTag:
            raise Corrupt(path, f"{key} cannot be decrypted: it was altered") from None

    def is_current(self, key: str, value: bytes) -> bool:
        """Whether the disk holds the value as `seal` would write it now."""
        if not key.startswith(self._prefixes):
            return not is_sealed(value)
        return value.startswith(_MAGIC + self._first)
