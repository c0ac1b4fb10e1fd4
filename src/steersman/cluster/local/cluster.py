"""`LocalCluster`: the start and the stop of a cluster on this machine.

It owns the data folder and everything made in it; `start` returns when the API answers, `stop` when nothing
is left running.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from steersman.aio import Clock, Scope, SystemClock
from steersman.aio.mistakes import is_mistake
from steersman.cluster.apiserver.assembly import AssembledServer, ServerOptions
from steersman.cluster.apiserver.resources.storage_encoding import stamp
from steersman.cluster.auth.pki import StoredAuthority
from steersman.cluster.auth.users import AUTHENTICATED_GROUP, MASTERS_GROUP, User
from steersman.cluster.controllers.registry import SCHEDULER, chosen
from steersman.cluster.local.config import MEMORY, ClusterConfig
from steersman.cluster.local.data_folder import check_keys, check_store, ranges_of, store_folder
from steersman.cluster.local.effects import conditions_without_effect
from steersman.cluster.local.keys import admin_token, open_keys, serving_context
from steersman.cluster.local.kubeconfig import write_kubeconfig
from steersman.cluster.local.ranges import ClusterRanges
from steersman.cluster.machine.folders import data_folder
from steersman.cluster.store import Store, StoreError, ValueCipher, open_store
from steersman.http import Server
from steersman.objects.status import StatusError

if TYPE_CHECKING:
    from steersman.client import Client
    from steersman.client.sending import Observe
    from steersman.cluster.in_process import InProcess
    from steersman.cluster.machine import Machine
    from steersman.cluster.machine_nodes import MachineNodes
    from steersman.runtime import Manager

__all__ = ["LocalCluster"]

_log = logging.getLogger(__name__)

_HEARTBEAT_S = 10.0
_DRAIN_S = 5.0
#: How long pods of a cluster that keeps nothing outlive it when it is killed.
_ALONE_S = 10.0
#: What an encryption key is for.
_SEALED = ("/core/secrets/",)


class LocalCluster:
    """One cluster. Not restartable: make another for the same folder."""

    def __init__(self, config: ClusterConfig, clock: Clock | None = None) -> None:
        self.config = config
        self._clock = clock or SystemClock()
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._store: Store | None = None
        self._machine: Machine | None = None
        self._api_server: AssembledServer | None = None
        self._http: Server | None = None
        self._scope = Scope(on_error=_report)
        self._manager: Manager | None = None
        self._components: asyncio.Task[None] | None = None
        self._in_process: WeakSet[InProcess] = WeakSet()
        self.url = ""
        self.token = ""
        self.kubeconfig = Path()
        self.authority: StoredAuthority

    async def __aenter__(self) -> LocalCluster:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        config = self.config
        folder = self._open_folder()
        # First of all: who has the store has the folder, with all that is in it.
        store = await self._open_store(folder)
        if config.process_nodes:
            self._machine = await self._open_machine(folder)
        self.authority = StoredAuthority.open(folder)
        self.token = config.admin_token or admin_token(folder)
        ranges = ClusterRanges.choose(config, self._machine)
        keys = open_keys(folder, self.authority)
        options = self._server_options(store, ranges)
        self._api_server = server = AssembledServer(store, keys, options, self._clock, _report)
        server.open()
        host, address = config.reachable_host, server.api.services.first_address
        self._http = Server(server.handler.handle, on_error=server.handler.answer_error)
        await self._http.start(
            config.bind, config.port, serving_context(folder, self.authority, host, address)
        )
        self.url = f"https://{_host_in_url(host)}:{self.port}"
        await server.start(self.url, host, self.port)
        self.kubeconfig = (config.kubeconfig or folder / "kubeconfig").absolute()
        write_kubeconfig(self.kubeconfig, self.url, self.authority.pem, self.token)
        if config.has_components:
            self._components = self._scope.start(self._run_components(folder, ranges.pods), name="components")

    async def _open_store(self, folder: Path) -> Store:
        config = self.config
        if config.data != MEMORY:
            check_store(folder)
        self._store = store = await open_store(
            config.data if config.data == MEMORY else str(store_folder(folder)),
            stamp=stamp,
            history_s=config.history_s,
            sealer=ValueCipher.from_file(config.encryption_key, _SEALED) if config.encryption_key else None,
        )
        if store.revision:
            check_keys(folder, new_keys=config.new_keys)
        return store

    def _server_options(self, store: Store, ranges: ClusterRanges) -> ServerOptions:
        config = self.config
        admin = User("admin", "admin-uid", (MASTERS_GROUP, AUTHENTICATED_GROUP))
        return ServerOptions(
            ranges.services,
            {self.token: admin},
            loopback_endpoints=config.loopback_endpoints or ranges.are_loopback,
            disabled_admission=config.disabled_admission,
            enabled_admission=config.enabled_admission,
            controllers=chosen(config.controllers),
            authentication=config.authentication,
            audit_policy=config.audit_policy,
            audit_log=config.audit_log,
            max_requests_inflight=config.max_requests_inflight,
            without_effect=conditions_without_effect(config, store),
        )

    async def _run_components(self, folder: Path, pod_cidr: str) -> None:
        """Controllers, scheduler and nodes: clients of this server that happen to live in its process."""
        from steersman.cluster.components import Components, components_manager
        from steersman.cluster.controllers.setup import Options

        components = Components(
            controllers=chosen(self.config.controllers),
            scheduler=self.config.runs(SCHEDULER),
            nodes=self.config.nodes,
            first_node=self.config.process_nodes + 1,
            heartbeat_s=self.config.heartbeat_s or _HEARTBEAT_S,
            machine=self._machine_nodes(folder),
            options=Options(
                root_certificate=self.authority.pem.decode(),
                volumes=str(folder / "volumes"),
                pod_cidr=pod_cidr,
                sign_token=self.api_server.api.access.tokens.issue_legacy,
            ),
        )
        client = self.client(user_agent="steersman-components")
        async with components_manager(client, components, clock=self._clock, lasting=True) as self._manager:
            await self._manager.run()

    async def _open_machine(self, folder: Path) -> Machine:
        """Addresses of this machine for services and pods."""
        from steersman.cluster.machine import Ranges, open_machine

        kept = None if self.config.data == MEMORY else folder
        ranges = None
        preferred = ranges_of(self.store)
        if self.config.service_cidr is not None:
            ranges = Ranges.with_services(self.config.service_cidr)
        return await open_machine(kept, ranges=ranges, preferred=preferred)

    def _machine_nodes(self, folder: Path) -> MachineNodes | None:
        if self._machine is None:
            return None
        from steersman.cluster.machine_nodes import MachineNodes

        async def certify(user: str, names: Sequence[str]) -> tuple[Path, Path]:
            return self.authority.keep(folder, user.replace(":", "-"), user, sorted(names))

        return MachineNodes(
            self.config.process_nodes,
            self._machine,
            folder / "nodes",
            self.authority.pem,
            certify,
            # Pods of a cluster that keeps nothing must not live on for long.
            alone_s=_ALONE_S if self.config.data == MEMORY else 0.0,
            images=self.config.images,
            api=(self.config.reachable_host, self.port),
        )

    @property
    def port(self) -> int:
        assert self._http is not None
        return self._http.port

    @property
    def store(self) -> Store:
        assert self._store is not None
        return self._store

    @property
    def api_server(self) -> AssembledServer:
        assert self._api_server is not None
        return self._api_server

    def client(
        self,
        token: str | None = None,
        *,
        namespace: str = "default",
        user_agent: str = "steersman",
        observe: Observe | None = None,
        clock: Clock | None = None,
    ) -> Client:
        """A client that needs no socket; the admin's unless another user's token is given."""
        from steersman.client import Client
        from steersman.client.credentials import FixedFields, bearer

        return Client(
            self.transport(user_agent),
            namespace=namespace,
            credentials=FixedFields(bearer(token if token is not None else self.token)),
            observe=observe,
            clock=clock or self._clock,
            host=self.url.removeprefix("https://"),
        )

    def transport(self, user_agent: str = "steersman") -> InProcess:
        """Requests to this cluster without a socket; whose they are, their Authorization says."""
        from steersman.cluster.in_process import InProcess
        from steersman.http import Client as Http
        from steersman.http import client_tls

        def connect() -> Http:
            return Http(self.url, ssl=client_tls(ca=self.authority.pem))

        handler = self.api_server.handler
        fields = ((b"User-Agent", user_agent.encode()),)
        transport = InProcess(handler.handle, handler.answer_error, connect, fields)
        self._in_process.add(transport)
        return transport

    def _open_folder(self) -> Path:
        if self.config.data == MEMORY:
            self._temporary = tempfile.TemporaryDirectory(prefix="steersman-")
            return Path(self._temporary.name)
        return data_folder(self.config.data)

    async def _stop_components(self) -> None:
        """Let the controllers finish what they are doing, while the API is still there."""
        if self._components is None:
            return
        if self._manager is not None:
            self._manager.stop()
            await asyncio.wait((self._components,), timeout=_DRAIN_S)
        self._components.cancel()
        await asyncio.wait((self._components,))
        self._components = self._manager = None

    async def stop(self) -> None:
        """Watchers get an end, requests in flight their answer, the store its last commit."""
        await self._stop_components()
        for transport in tuple(self._in_process):
            await transport.close()
        if self._http is not None:
            await self._http.drain(_DRAIN_S)
            self.api_server.refuse_waiting()
            await self._http.close()
            self._http = None
        if self._api_server is not None:
            await self._api_server.close()
            self._api_server = None
        await self._scope.close()
        if self._store is not None:
            await self._store.close()
            self._store = None
        if self._machine is not None:
            await self._machine.close()
            self._machine = None
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None


def _report(error: BaseException) -> None:
    if not isinstance(error, (StatusError, StoreError)):
        unforeseen = error if is_mistake(error) else None
        _log.error("a task of the cluster failed: %s", error, exc_info=unforeseen)


def _host_in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
