"""Webhooks as they run in a process: certificates, then the server, then the registration; looked after.

    certificates ─▶ listening ─▶ registered ─▶ ready
         ▲                                        │
         └── looked at again, renewed when due ───┘

Every replica serves. Every replica registers when it starts, so that a new version of an operator is
registered before it leads; after that only the leader repairs what others change. A new authority is
announced for a while before a certificate of it is served.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from steersman.aio import Clock
from steersman.client import Client, ClientError
from steersman.http.certificates import KeyPair
from steersman.objects.custom import Versions
from steersman.objects.resource_type import ResourceType
from steersman.runtime.metrics import Metrics
from steersman.webhooks.errors import CannotListen, WebhookError
from steersman.webhooks.hook import Hook
from steersman.webhooks.keeping import CertificateSource, FileCertificates, SecretCertificates, lives
from steersman.webhooks.registration import Reach, Registration
from steersman.webhooks.server import WebhookServer
from steersman.webhooks.settings import WebhookSettings, default_names
from steersman.webhooks.tls import ReloadingTls

__all__ = ["WebhookService"]

_log = logging.getLogger(__name__)

_LOCAL: Final = "127.0.0.1"
#: How long requests in flight may take when stopping; the API gives up on them by then.
_DRAIN_S: Final = 30.0
#: How soon to try again what did not work.
_AGAIN_S: Final = 1.0


class WebhookService:
    """Runs all webhooks of one process."""

    def __init__(
        self,
        name: str,
        hooks: Sequence[Hook],
        conversions: Mapping[ResourceType, Versions],
        client: Client,
        *,
        settings: WebhookSettings,
        metrics: Metrics,
        clock: Clock,
        is_leader: Callable[[], bool],
    ) -> None:
        """`name` is the operator's, and that of its registration. Raises WebhookError."""
        settings.check()
        self._settings = settings
        self._client = client
        self._clock = clock
        self._is_leader = is_leader
        secret, service = default_names(name)
        self._service = settings.service or service
        self._source: CertificateSource
        if settings.cert_dir is not None:
            self._source = FileCertificates(Path(settings.cert_dir))
        else:
            self._source = SecretCertificates(
                client,
                client.namespace,
                settings.secret or secret,
                self._own_names(),
                lives(settings.serving_life_s, settings.authority_life_s),
                clock,
            )
        self._server = WebhookServer(hooks, conversions, client, metrics, clock)
        self._registration = Registration(name, hooks, conversions, inject_ca_from=settings.inject_ca_from)
        self._tls: ReloadingTls | None = None
        self._registered = not settings.register
        #: The bundle that the API is known to trust, and since when.
        self._announced: tuple[bytes | None, float] | None = None
        self._problem = "not started"
        self._was_ready = False
        metrics.add_certificates(lambda: self._source.ends)

    @property
    def port(self) -> int:
        """Where it listens; 0 before it does."""
        return self._server.port

    def check(self) -> str:
        """Empty when the API can ask and knows whom; else what is missing. For the readiness probe.

        Once ready it stays so: what goes wrong later (an API that cannot be reached, a renewal that fails)
        does not keep this process from answering, and is in the log.
        """
        return "" if self._was_ready else self._problem

    def is_settled(self) -> bool:
        """Whether every API server has had time to take the registration in."""
        return not self._problem and self._announced_s() >= self._settings.overlap_s

    async def run(self) -> None:
        """Serve until cancelled. Raises CannotListen."""
        try:
            while True:
                await self._clock.sleep(await self._look())
        finally:
            if self._tls is not None:
                await self._clock.sleep(self._settings.linger)
                await self._server.drain(_DRAIN_S)

    async def _look(self) -> float:
        """Bring everything to what it should be; after how long to look again."""
        try:
            await self._use(await self._source.look())
            await self._register()
            announced = self._announced_s() >= self._settings.overlap_s
            stepped = await self._source.renew(announced=announced)
        except CannotListen:
            raise
        except (ClientError, WebhookError) as error:
            self._say(str(error))
            return _AGAIN_S
        if not self._registered:
            self._say("another replica changed the registration; looking again")
            return _AGAIN_S
        self._say("")
        if stepped:
            return 0.0
        wait_s = self._settings.check_every_s
        if not announced:
            wait_s = min(wait_s, self._settings.overlap_s - self._announced_s())
        return wait_s

    async def _use(self, pair: KeyPair) -> None:
        try:
            if self._tls is None:
                tls = ReloadingTls(pair)
                address = self._settings.address
                assert address is not None, "what serves nowhere is not run"
                await self._server.start(address, tls, everywhere=bool(self._settings.host))
                self._tls = tls
            elif self._tls.use(pair):
                _log.info("webhooks serve another certificate")
        except (ssl.SSLError, ValueError) as error:
            # Files in the middle of a change, for instance. What was served is served on.
            raise WebhookError(f"the certificate cannot be used: {error}") from error

    async def _register(self) -> None:
        if not self._settings.register:
            return
        bundle = self._source.bundle
        write = not self._registered or self._is_leader()
        right = await self._registration.ensure(self._client, self._reach(), bundle, write=write)
        self._registered = self._registered or right
        if not right:
            self._announced = None
        elif self._announced is None or self._announced[0] != bundle:
            self._announced = (bundle, self._clock.monotonic())

    def _announced_s(self) -> float:
        """For how long the API has been seen to trust what there is now."""
        if not self._settings.register:
            return float("inf")
        return 0.0 if self._announced is None else self._clock.monotonic() - self._announced[1]

    def _say(self, problem: str) -> None:
        if problem and problem != self._problem:
            _log.warning("webhooks: %s", problem)
        elif not problem and self._problem:
            _log.info("webhooks are ready")
        self._problem = problem
        self._was_ready = self._was_ready or not problem

    def _own_names(self) -> list[str]:
        if self._settings.by_service:
            short = f"{self._service}.{self._client.namespace}"
            return [f"{short}.svc", f"{short}.svc.cluster.local", short]
        return [self._settings.host or _LOCAL]

    def _reach(self) -> Reach:
        settings = self._settings
        if settings.by_service:
            return Reach(service=(self._client.namespace, self._service, settings.service_port))
        host = settings.host or _LOCAL
        shown = f"[{host}]" if ":" in host else host
        return Reach(origin=f"https://{shown}:{self._server.port}")
