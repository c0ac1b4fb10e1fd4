"""Where serving certificates come from: a Secret that replicas share, or files of somebody else.

The Secret is made by whoever comes first. Every write names the revision it was made from, so that of
several replicas one wins and the others read what it wrote. Asking for a renewal is an annotation:
`kubectl annotate secret NAME steersman.dev/renew=serving` (or `=authority`).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

from cryptography import x509

from steersman.aio import Clock
from steersman.client import AlreadyExists, Client, Conflict, NotFound
from steersman.http.certificates import KeyPair
from steersman.objects.kinds import Object
from steersman.webhooks.certificates import Certificates, Lives, next_certificates
from steersman.webhooks.errors import WebhookError
from steersman.webhooks.registration import SECRETS

__all__ = ["RENEW_ANNOTATION", "CertificateSource", "FileCertificates", "SecretCertificates", "lives"]

_log = logging.getLogger(__name__)


RENEW_ANNOTATION: Final = "steersman.dev/renew"


class CertificateSource(Protocol):
    """What to serve, and what clients must trust."""

    #: None where that is somebody else's to say.
    bundle: bytes | None
    #: When each certificate in use ends, in seconds since the epoch.
    ends: Mapping[str, float]

    async def look(self) -> KeyPair:
        """What to serve now; made if there is nothing yet. Raises ClientError, WebhookError."""
        ...

    async def renew(self, *, announced: bool) -> bool:
        """Take the next step if one is due; whether one was taken, by anybody. `announced`: everybody who
        asks trusts the bundle. Raises ClientError."""
        ...


class SecretCertificates:
    """Certificates of an own authority in a Secret."""

    def __init__(
        self, client: Client, namespace: str, name: str, names: Collection[str], lives: Lives, clock: Clock
    ) -> None:
        """`names` are those the API server calls this process by."""
        self._client = client
        self._namespace = namespace
        self._name = name
        self._names = names
        self._lives = lives
        self._clock = clock
        self._secret: Object | None = None
        self._current: Certificates | None = None
        self.bundle: bytes | None = None
        self.ends: Mapping[str, float] = {}

    async def look(self) -> KeyPair:
        await self._read()
        while self._current is None:
            await self._step(announced=True)
        return self._current.serving

    async def renew(self, *, announced: bool) -> bool:
        return await self._step(announced=announced)

    async def _read(self) -> None:
        self._take(await self._client.find(SECRETS, self._name, self._namespace))

    def _take(self, secret: Object | None) -> None:
        if secret is not None and _revision(secret) == _revision(self._secret):
            return
        self._secret = secret
        self._current = None if secret is None else Certificates.from_data(secret.get("data") or {})
        if self._current is not None:
            self.bundle = self._current.bundle
            first = self._current.authorities[0]
            self.ends = {"serving": _end(self._current.leaf), "authority": _end(first)}

    async def _step(self, *, announced: bool) -> bool:
        now = datetime.fromtimestamp(self._clock.wall(), UTC)
        coming = next_certificates(
            self._current, self._names, self._lives, now, announced=announced, renew=self._wish()
        )
        if coming is None:
            return False
        try:
            self._take(await self._written(coming))
        except (AlreadyExists, Conflict, NotFound):
            # Another replica was faster, or somebody deleted it: what is there now counts.
            await self._read()
        else:
            _log.info("new webhook certificates are in secret %s/%s", self._namespace, self._name)
        return True

    async def _written(self, coming: Certificates) -> Object:
        if self._secret is None:
            made: Object = {
                "metadata": {
                    "name": self._name,
                    "namespace": self._namespace,
                    "labels": {"app.kubernetes.io/managed-by": "steersman"},
                },
                "type": "kubernetes.io/tls",
                "data": coming.to_data(),
            }
            return await self._client.create(made, kind=SECRETS)
        metadata = dict(self._secret["metadata"])
        annotations = {
            name: value
            for name, value in (metadata.get("annotations") or {}).items()
            # A wish for another authority is fulfilled when a certificate of it is served.
            if name != RENEW_ANNOTATION or (value == "authority" and not coming.is_of_newest)
        }
        metadata["annotations"] = annotations
        changed = {**self._secret, "metadata": metadata, "data": coming.to_data()}
        return await self._client.replace(changed, kind=SECRETS)

    def _wish(self) -> str:
        annotations = (self._secret or {}).get("metadata", {}).get("annotations") or {}
        wish: str = annotations.get(RENEW_ANNOTATION, "")
        return wish


class FileCertificates:
    """`tls.crt` and `tls.key` in a folder, replaced by somebody else now and then."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.bundle: bytes | None = None
        self.ends: Mapping[str, float] = {}

    async def look(self) -> KeyPair:
        try:
            # Small files of a mounted Secret: kept in memory by the kernel.
            pair = KeyPair((self._folder / "tls.crt").read_bytes(), (self._folder / "tls.key").read_bytes())
            self.ends = {"serving": _end(x509.load_pem_x509_certificate(pair.certificate))}
        except OSError as error:
            raise WebhookError(f"{error.filename}: {error.strerror}") from error
        except ValueError as error:
            raise WebhookError(f"{self._folder / 'tls.crt'} holds no certificate") from error
        return pair

    async def renew(self, *, announced: bool) -> bool:
        return False


def lives(serving_s: float, authority_s: float) -> Lives:
    return Lives(timedelta(seconds=serving_s), timedelta(seconds=authority_s))


def _revision(secret: Object | None) -> str | None:
    return None if secret is None else secret["metadata"]["resourceVersion"]


def _end(certificate: x509.Certificate) -> float:
    return certificate.not_valid_after_utc.timestamp()
