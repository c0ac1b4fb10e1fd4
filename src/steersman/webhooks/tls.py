"""TLS whose certificate can be changed while connections are open.

Each handshake takes the context that is current at that moment; connections made before keep theirs.
"""

from __future__ import annotations

import ssl
from typing import Any

from steersman.http import server_tls
from steersman.http.certificates import KeyPair

__all__ = ["ReloadingTls"]


class ReloadingTls:
    """`context` is for a listener; `use` changes what it shows."""

    def __init__(self, pair: KeyPair) -> None:
        """Raises ValueError or ssl.SSLError if the key does not belong to the certificate."""
        self._pair = pair
        self.context = self._current = server_tls(pair.certificate, pair.key)
        # Called with every ClientHello, whether it names a server or not.
        self.context.sni_callback = self._choose

    def use(self, pair: KeyPair) -> bool:
        """Show another certificate from now on; whether it is another. Raises as the constructor."""
        if pair == self._pair:
            return False
        self._current = server_tls(pair.certificate, pair.key)
        self._pair = pair
        return True

    def _choose(self, connection: Any, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._current
