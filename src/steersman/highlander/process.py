"""A Highlander process: its tenants, the clusters they use, the listener, and the file when it changes.

SIGTERM, SIGINT     every tenant stops its workloads, sees them gone, releases its lock; then the process ends
SIGHUP, new file    the configuration is read again: tenants come, go and change beside one another; one that
                    is wrong changes nothing and is shown
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from steersman.aio import Clock, Scope, SystemClock
from steersman.aio.signals import stopping_on_signals
from steersman.client import Client
from steersman.highlander.api import Access, Api
from steersman.highlander.config import Loaded, TenantConfig
from steersman.highlander.errors import ConfigError
from steersman.highlander.tenant import Tenant
from steersman.highlander.tenants import Tenants
from steersman.http import server_tls

__all__ = ["Highlander"]

_log = logging.getLogger(__name__)

#: How often the file is looked at.
_FILE_S = 2.0


class Highlander:
    """`run` until `stop`. `read` gives the configuration, also later, when it is asked for again."""

    def __init__(
        self,
        read: Callable[[], Loaded],
        *,
        file: Path | None = None,
        clock: Clock | None = None,
        connect: Callable[[TenantConfig], Client] | None = None,
    ) -> None:
        self._read = read
        self._file = file
        self._clock = clock or SystemClock()
        self._connect = connect or _connected
        self._loaded = read()
        self._stop = asyncio.Event()
        self._tenants: Tenants | None = None
        self.port = 0
        """Where the API and the dashboard listen, once they do."""

    @property
    def tenants(self) -> dict[str, Tenant]:
        """Those of the configuration, by name, while it runs."""
        return {} if self._tenants is None else self._tenants.running

    def stop(self) -> None:
        self._stop.set()

    async def run(self, started: Callable[[], None] | None = None) -> None:
        """`started` is called when the tenants contend."""
        for warning in self._loaded.warnings:
            _log.warning("%s", warning)
        async with self._listening() as api, self._running(api) as tenants, Scope() as scope:
            scope.start(self._follow_file(), name="configuration file")
            if started is not None:
                started()
            await self._stop.wait()
            await tenants.stop()

    async def run_until_signalled(self, started: Callable[[], None] | None = None) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGHUP, self._reload_quietly)
        try:
            with stopping_on_signals(self.stop):
                await self.run(started)
        finally:
            loop.remove_signal_handler(signal.SIGHUP)

    def reload(self) -> None:
        """Read the configuration again. Raises ConfigError, and then nothing has changed."""
        if self._tenants is None or self._stop.is_set():
            raise ConfigError("the process is not running")
        try:
            loaded = self._read()
            _check_listener(self._loaded.process, loaded.process)
            self._tenants.configure(loaded.tenants)
        except ConfigError as error:
            self._tenants.tell_problem(str(error))
            raise
        self._loaded = loaded
        _log.info("the configuration was reloaded")

    def client_of(self, tenant: str) -> Client:
        """Through which a tenant's cluster is reached."""
        assert self._tenants is not None
        return self._tenants.client_of(tenant)

    @asynccontextmanager
    async def _running(self, api: Api) -> AsyncIterator[Tenants]:
        """The tenants of the configuration."""
        try:
            async with Scope() as scope:
                tenants = Tenants(scope, api, self._clock, self._connect, self.reload)
                self._tenants = tenants
                tenants.configure(self._loaded.tenants)
                yield tenants
        finally:
            if self._tenants is not None:
                await self._tenants.close()
            self._tenants = None

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[Api]:
        """The API, metrics and the dashboard."""
        process = self._loaded.process
        config = process.api
        cas = _bytes(config.client_ca_file)
        api = Api(access=Access(token_file=config.token_file or None, client_cas=cas), clock=self._clock)
        tls = None
        if config.tls_cert_file:
            tls = server_tls(config.tls_cert_file, config.tls_key_file, cas)
        try:
            await api.start(config.bind or "0.0.0.0", process.port, tls)  # noqa: S104 - as in a pod
        except OSError as error:
            await api.close()
            raise ConfigError(f"port {process.port}: {error.strerror or error}") from None
        self.port = api.port
        try:
            yield api
        finally:
            await api.close()

    def _reload_quietly(self) -> None:
        try:
            self.reload()
        except ConfigError as error:
            _log.error("the configuration is unchanged: %s", error)

    async def _follow_file(self) -> None:
        """Read the file again when it has changed; a mounted ConfigMap changes by another link."""
        file = self._file
        if file is None:
            return
        seen = _fingerprint(file)
        while True:
            await self._clock.sleep(_FILE_S)
            now = _fingerprint(file)
            if now is not None and now != seen:
                seen = now
                self._reload_quietly()


def _connected(config: TenantConfig) -> Client:
    cluster = config.cluster
    return Client.load(kubeconfig=cluster.kubeconfig or None, context=cluster.context or None)


def _check_listener(old: TenantConfig, new: TenantConfig) -> None:
    """Raises ConfigError for what needs a new process."""
    for name, before, after in (("port", old.port, new.port), ("api", old.api, new.api)):
        if before != after:
            raise ConfigError(f"{name} cannot change while the process is running: restart it")


def _bytes(file: str) -> bytes | None:
    if not file:
        return None
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror or error}") from None


def _fingerprint(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None
