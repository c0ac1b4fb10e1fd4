"""A Highlander process: its tenants, the clusters they use, the listener, and the file when it changes.

SIGTERM, SIGINT     every tenant stops its workloads, sees them gone, releases its lock; then the process ends
SIGHUP, new file    the configuration is read again; one that is wrong changes nothing and is shown
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from steersman.aio import Clock, Scope, SystemClock
from steersman.client import Client
from steersman.highlander.api import Access, Api, logs_of
from steersman.highlander.config import Loaded, TenantConfig
from steersman.highlander.custom import CustomWorkloads
from steersman.highlander.errors import ConfigError
from steersman.highlander.live import LiveObjects
from steersman.highlander.tenant import Tenant
from steersman.http import server_tls
from steersman.runtime.signals import stopping_on_signals

__all__ = ["Highlander"]

_log = logging.getLogger(__name__)

#: How often the file is looked at.
_FILE_S = 2.0

_Place = tuple[str, str]


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
        self.tenants: dict[str, Tenant] = {}
        self._lives: dict[_Place, LiveObjects] = {}
        self._custom: list[CustomWorkloads] = []
        self.port = 0
        """Where the API and the dashboard listen, once they do."""

    @property
    def process(self) -> TenantConfig:
        return self._loaded.process

    def stop(self) -> None:
        self._stop.set()

    async def run(self, started: Callable[[], None] | None = None) -> None:
        """`started` is called when the tenants contend."""
        for warning in self._loaded.warnings:
            _log.warning("%s", warning)
        async with self._clusters(), self._listening(), Scope() as scope:
            for live in self._lives.values():
                scope.start(live.run(), name="live objects")
            running = [
                scope.start(tenant.run(), name=f"tenant {name}") for name, tenant in self.tenants.items()
            ]
            for custom in self._custom:
                scope.start(custom.run(), name="custom resources")
            scope.start(self._follow_file(), name="configuration file")
            if started is not None:
                started()
            await self._stop.wait()
            for tenant in self.tenants.values():
                tenant.stop()
            await asyncio.wait(running)

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
        try:
            loaded = self._read()
            known = {config.tenant: config for config in loaded.tenants}
            if set(known) != set(self.tenants):
                raise ConfigError("tenants cannot come or go while the process runs: start it anew")
            for name, tenant in self.tenants.items():
                tenant.check(known[name])
        except ConfigError as error:
            for tenant in self.tenants.values():
                tenant.board.change(config_error=str(error))
            raise
        self._loaded = loaded
        for name, tenant in self.tenants.items():
            tenant.configure(known[name])
        _log.info("the configuration was read again")

    def client_of(self, tenant: str) -> Client:
        config = next(each for each in self._loaded.tenants if each.tenant == tenant)
        return self._lives[_place(config)].client

    @asynccontextmanager
    async def _clusters(self) -> AsyncIterator[None]:
        """One client and one set of caches per cluster, whatever the number of tenants."""
        places: dict[_Place, list[TenantConfig]] = {}
        for config in self._loaded.tenants:
            places.setdefault(_place(config), []).append(config)
        try:
            for place, configs in places.items():
                client = self._connect(configs[0])
                namespaces = (
                    None if any(each.follows_custom_resources for each in configs) else _namespaces(configs)
                )
                live = self._lives[place] = LiveObjects(client, self._clock, namespaces)
                for config in configs:
                    tenant = Tenant(config, client, live, clock=self._clock, reload=self.reload)
                    self.tenants[config.tenant] = tenant
                    if config.follows_custom_resources:
                        self._custom.append(CustomWorkloads(tenant, client, live, self._clock))
            yield
        finally:
            for live in self._lives.values():
                await live.client.close()

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[None]:
        """The API, metrics and the dashboard."""
        config = self.process.api
        cas = _bytes(config.client_ca_file)
        api = Api(access=Access(token_file=config.token_file or None, client_cas=cas), clock=self._clock)
        for name, tenant in self.tenants.items():
            api.add(tenant, logs_of(self.client_of(name)))
        tls = None
        if config.tls_cert_file:
            tls = server_tls(config.tls_cert_file, config.tls_key_file, cas)
        try:
            await api.start(config.bind or "0.0.0.0", self.process.port, tls)  # noqa: S104 - as in a pod
        except OSError as error:
            await api.close()
            raise ConfigError(f"port {self.process.port}: {error.strerror or error}") from None
        self.port = api.port
        try:
            yield
        finally:
            await api.close()

    def _reload_quietly(self) -> None:
        try:
            self.reload()
        except ConfigError as error:
            _log.error("the configuration stays as it is: %s", error)

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


def _place(config: TenantConfig) -> _Place:
    return config.cluster.kubeconfig, config.cluster.context


def _namespaces(configs: list[TenantConfig]) -> set[str]:
    found = {config.namespace for config in configs}
    return found | {spec.namespace for config in configs for spec in config.workloads if spec.namespace}


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
