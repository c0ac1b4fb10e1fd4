"""The TLS side of a connection: certificates from files that are replaced now and then.

`RenewingTransport` carries requests and sees to it that they go over connections made with the
certificates that are valid now.
"""

from __future__ import annotations

import logging
import ssl
from pathlib import Path

from steersman.aio import Clock
from steersman.client.errors import ConfigError, CredentialsError
from steersman.client.settings import Pem, Settings
from steersman.client.transport import PassingTransport, Transport
from steersman.http import Client, ClientContext, client_tls

__all__ = ["Certificates", "RenewingTransport"]

_log = logging.getLogger(__name__)

_LOOK_EVERY_S = 10.0


class Certificates:
    """Whom to trust and what to show. `context` changes when what it is made of does."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._ca = settings.ca
        self._certificate: Pem | None = settings.user.certificate
        self._key: Pem | None = settings.user.key
        self._looked_at = clock.monotonic()
        self._seen = self._stamps()
        try:
            self.context = self._make()
        except (OSError, ValueError) as error:
            raise ConfigError(f"{settings.source}: {self._problem(error)}") from error

    def use(self, certificate: bytes, key: bytes) -> None:
        """Show this certificate from now on (a credential plugin's)."""
        if (certificate, key) == (self._certificate, self._key):
            return
        self._certificate, self._key = certificate, key
        try:
            self.context = self._make()
        except (OSError, ValueError) as error:
            raise CredentialsError("the credential plugin's client certificate cannot be used") from error

    def look(self) -> None:
        """Notice changed files, now and then. Files in the middle of a change are looked at again."""
        now = self._clock.monotonic()
        if now - self._looked_at < _LOOK_EVERY_S:
            return
        self._looked_at = now
        stamps = self._stamps()
        if stamps == self._seen:
            return
        try:
            self.context = self._make()
        except (OSError, ValueError) as error:
            _log.warning("certificates have changed and cannot be used yet: %s", self._problem(error))
        else:
            self._seen = stamps

    def _make(self) -> ClientContext:
        return client_tls(
            ca=self._ca,
            cert=self._certificate,
            key=self._key,
            insecure=self._settings.insecure,
            server_name=self._settings.server_name or None,
        )

    def _stamps(self) -> list[tuple[int, int, int] | None]:
        """What tells a file from its successor."""
        stamps: list[tuple[int, int, int] | None] = []
        for source in (self._ca, self._certificate, self._key):
            if isinstance(source, Path):
                try:
                    stat = source.stat()
                except OSError:
                    stamps.append(None)
                else:
                    stamps.append((stat.st_mtime_ns, stat.st_ino, stat.st_size))
        return stamps

    def _problem(self, error: Exception) -> str:
        """Which of them is at fault: those that are files and cannot be read, or their content."""
        named = {
            "certificate-authority": self._ca,
            "client-certificate": self._certificate,
            "client-key": self._key,
        }
        for name, source in named.items():
            if isinstance(source, Path) and not source.is_file():
                return f"{name}: there is no file {source}"
        try:
            client_tls(ca=self._ca)
        except (OSError, ValueError):
            return "certificate-authority: is not a certificate"
        if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
            return "client-key: is not the key of the client certificate"
        return "client-certificate, client-key: are not a certificate and its (unencrypted) key"


class RenewingTransport(PassingTransport):
    """HTTP over connections made with the certificates that are valid now."""

    def __init__(self, http: Client, certificates: Certificates) -> None:
        super().__init__(http)
        self._http = http
        self._certificates = certificates
        self._context = certificates.context

    def _current(self) -> Transport:
        self._certificates.look()
        if self._certificates.context is not self._context:
            self._context = self._certificates.context
            self._http.use_tls(self._context)
        return self._http
