"""A cluster on this machine, assembled: store, certificates, API server, kubeconfig.

`LocalCluster` is what `steer up`, the tests and the demo start. It owns the data folder and everything
made in it; `start` returns when the API answers, `stop` when nothing is left running.
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import json
import logging
import secrets
import ssl
import tempfile
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from steersman.aio import Clock, Scope, SystemClock
from steersman.aio.mistakes import is_mistake
from steersman.cluster.apiserver.audit import Auditor
from steersman.cluster.apiserver.bootstrap.default_roles import install_default_roles
from steersman.cluster.apiserver.bootstrap.essentials import ensure, install_essentials
from steersman.cluster.apiserver.controllers.certificate_signing import CertificateSigning
from steersman.cluster.apiserver.controllers.legacy_token_tracking import note_uses
from steersman.cluster.apiserver.controllers.role_aggregation import RoleAggregation
from steersman.cluster.apiserver.fairness import (
    Fairness,
    install_flow_control,
    keep_flow_control,
    stored_count,
)
from steersman.cluster.apiserver.non_resource.health import Health
from steersman.cluster.apiserver.non_resource.openid import OpenIDMetadata
from steersman.cluster.apiserver.non_resource.version import KUBERNETES_VERSION
from steersman.cluster.apiserver.pipeline.access import Access
from steersman.cluster.apiserver.pipeline.admission import AdmissionSetup
from steersman.cluster.apiserver.pipeline.call import Api, StoreReader
from steersman.cluster.apiserver.pipeline.gate import Gate
from steersman.cluster.apiserver.reading.watch import WatchHubs
from steersman.cluster.apiserver.resources.allocation import ServiceAllocator
from steersman.cluster.apiserver.resources.resource import Catalog
from steersman.cluster.apiserver.resources.storage_encoding import stamp
from steersman.cluster.apiserver.server import APIServer
from steersman.cluster.auth.authentication import (
    Anonymous,
    CertificateAuthenticator,
    StaticTokens,
    TokenAuthenticator,
)
from steersman.cluster.auth.pki import Authority, PkiError, write_private
from steersman.cluster.auth.service_accounts import open_signing_key
from steersman.cluster.auth.users import AUTHENTICATED_GROUP, MASTERS_GROUP, User
from steersman.cluster.controllers.registry import CLOUD, CONTROLLERS, IN_SERVER, SCHEDULER, chosen
from steersman.cluster.data_folder import check_keys, check_store, ranges_of, store_folder
from steersman.cluster.machine.folders import data_folder, state_folder
from steersman.cluster.machine.ranges import pods_with
from steersman.cluster.schema.resources import all_resources
from steersman.cluster.store import Sealer, Store, StoreError, open_store
from steersman.http import Server, server_tls
from steersman.objects.status import StatusError

if TYPE_CHECKING:
    from steersman.client import Client
    from steersman.client.sending import Observe
    from steersman.cluster.apiserver.aggregation import Aggregator
    from steersman.cluster.apiserver.custom import Definitions
    from steersman.cluster.apiserver.forwarding.node_connections import NodeConnections
    from steersman.cluster.in_process import InProcess
    from steersman.cluster.machine import Machine
    from steersman.cluster.machine_nodes import MachineNodes
    from steersman.cluster.schema.openapi import Extension, Foreign, OpenAPI
    from steersman.runtime import Manager

__all__ = ["MEMORY", "ClusterConfig", "LocalCluster", "default_data_folder"]

_log = logging.getLogger(__name__)

#: The data folder's name for keeping nothing.
MEMORY = ":memory:"
_HEARTBEAT_S = 10.0
_DRAIN_S = 5.0
#: How long pods of a cluster that keeps nothing outlive it when it is killed.
_ALONE_S = 10.0
#: What nobody needs in the first moment is loaded after it.
_AFTER_START_S = 0.2
#: Where pods get their addresses from: a /24 for each of so many nodes, or for more of them.
_FEW = 256
_SERVICES = "10.96.0.0/16"
_MANY_NODES = "10.128.0.0/9"
#: What an encryption key is for.
_SEALED = ("/core/secrets/",)
_INGRESS_CLASSES = "/networking.k8s.io/ingressclasses/"


def default_data_folder() -> Path:
    """Where a user's cluster lives unless told otherwise."""
    return state_folder() / "cluster"


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    #: A folder, or MEMORY.
    data: str = MEMORY
    bind: str = "127.0.0.1"
    #: 0 takes a free one.
    port: int = 0
    #: Where to write the kubeconfig; the data folder when None.
    kubeconfig: Path | None = None
    #: Made at first start and kept when None.
    admin_token: str | None = None
    #: None: a range that is free on this machine if pods really run, else 10.96.0.0/16.
    service_cidr: str | None = None
    #: Let endpoints have loopback addresses, which Kubernetes refuses: for pods that live on them. So it is
    #: in any case if services have such addresses.
    loopback_endpoints: bool = False
    disabled_admission: Collection[str] = ()
    #: Admission plugins that are not asked otherwise (cluster.admission.OPTIONAL_PLUGINS).
    enabled_admission: Collection[str] = ()
    #: Controllers to run: names, "all", "-name" for all but one.
    controllers: Collection[str] = IN_SERVER
    #: Nodes to simulate.
    nodes: int = 0
    #: How often simulated nodes say that they live; their leases are for four times as long.
    heartbeat_s: float | None = None
    #: Nodes of this machine, whose pods are really run.
    process_nodes: int = 0
    #: Which folders are images to them; None: those of `steer image`.
    images: Path | None = None
    #: Make keys anew that the folder has lost, though certificates and tokens were issued with them.
    new_keys: bool = False
    #: Keys that encrypt Secrets on disk (see store.sealing), one a line, the newest first.
    encryption_key: Path | None = None
    #: Who else vouches for users (AuthenticationConfiguration of apiserver.config.k8s.io).
    authentication: Path | None = None
    #: What is logged of requests, by whom and about what (audit.k8s.io/v1 Policy), and where.
    audit_policy: Path | None = None
    audit_log: str | None = None
    #: Requests served at the same time, shared fairly between those who ask.
    max_requests_inflight: int = 600
    #: How long old revisions can be watched and listed from.
    history_s: float = 300.0

    def runs(self, controller: str) -> bool:
        return controller in chosen(self.controllers)


class LocalCluster:
    """One cluster. Not restartable: make another for the same folder."""

    def __init__(self, config: ClusterConfig, clock: Clock | None = None) -> None:
        self.config = config
        self._clock = clock or SystemClock()
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._store: Store | None = None
        self._server: Server | None = None
        self._scope = Scope(on_error=_report)
        self._access: Access | None = None
        self._admission: AdmissionSetup | None = None
        self._fairness: Fairness | None = None
        self._auditor: Auditor | None = None
        self._definitions: Definitions | None = None
        self._aggregator: Aggregator | None = None
        self._nodes: NodeConnections | None = None
        self._documents: OpenAPI | None = None
        self._api_server: APIServer | None = None
        self._manager: Manager | None = None
        self._components: asyncio.Task[None] | None = None
        self._machine: Machine | None = None
        self._in_process: WeakSet[InProcess] = WeakSet()
        self.url = ""
        self.token = ""
        self.kubeconfig = Path()
        self.authority: Authority

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
        if config.data != MEMORY:
            check_store(folder)
        self._store = store = await open_store(
            config.data if config.data == MEMORY else str(store_folder(folder)),
            stamp=stamp,
            history_s=config.history_s,
            sealer=Sealer.from_file(config.encryption_key, _SEALED) if config.encryption_key else None,
        )
        if store.revision:
            check_keys(folder, new_keys=config.new_keys)
        if config.process_nodes:
            self._machine = await self._open_machine(folder)
        self.authority = Authority.open(folder)
        self.token = config.admin_token or self._kept_token(folder)
        api = self._api(store, folder)
        ready = False
        server = APIServer(
            api,
            self._openapi,
            Health({"ping": lambda: ""}, {"bootstrap": lambda: "" if ready else "not finished"}),
            Gate(api.access, self._open_fairness(api), self._open_audit()),
        )
        self._api_server = server
        self._server = Server(server.handle, on_error=server.answer_error)
        await self._server.start(config.bind, config.port, self._tls(folder, api))
        self.url = f"https://{_host_in_url(self._reachable)}:{self._server.port}"
        server.serve_identity(OpenIDMetadata(api.access.tokens, self.url))
        note_uses(api)
        await install_essentials(api, self._reachable, self._server.port)
        await install_default_roles(api)
        await install_flow_control(api)
        self._scope.start(keep_flow_control(api), name="flow control")
        if config.runs("clusterrole-aggregation"):
            self._scope.start(RoleAggregation(api).run(), name="role aggregation")
        if config.runs("certificatesigningrequest-signing"):
            self._scope.start(CertificateSigning(api, self.authority).run(), name="certificate signing")
        self._follow_definitions(api)
        if config.runs("validatingadmissionpolicy-status"):
            self._check_policies(api)
        self._scope.start(self._aggregate(api, server, folder), name="aggregation")
        self._scope.start(api.hubs.bookmark_forever(), name="bookmarks")
        self.kubeconfig = (config.kubeconfig or folder / "kubeconfig").absolute()
        self.kubeconfig.parent.mkdir(parents=True, exist_ok=True)
        write_private(self.kubeconfig, self._kubeconfig_text().encode())
        ready = True
        if (
            config.nodes
            or config.process_nodes
            or chosen(config.controllers) & {SCHEDULER, *CLOUD, *CONTROLLERS}
        ):
            self._components = self._scope.start(self._run_components(folder), name="components")

    async def _run_components(self, folder: Path) -> None:
        """Controllers, scheduler and nodes: clients of this server that happen to live in its process."""
        from steersman.cluster.components import Components, components_manager
        from steersman.cluster.controllers.setup import Options

        assert self._access is not None
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
                pod_cidr=self._pod_cidr,
                sign_token=self._access.tokens.issue_legacy,
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
            # What nobody can find again does not live on for long.
            alone_s=_ALONE_S if self.config.data == MEMORY else 0.0,
            images=self.config.images,
            api=(self._reachable, self.port),
        )

    @property
    def _service_cidr(self) -> str:
        if self._machine is not None:
            return str(self._machine.ranges.services)
        return self.config.service_cidr or _SERVICES

    @property
    def _pod_cidr(self) -> str:
        if self._machine is not None:
            return str(self._machine.ranges.pods)
        if self.config.nodes > _FEW:
            return _MANY_NODES
        return pods_with(self.config.service_cidr or _SERVICES)

    @property
    def _loopback_endpoints(self) -> bool:
        # Where services are, the pods of nodes in other processes are too.
        return self.config.loopback_endpoints or ipaddress.ip_network(self._service_cidr).is_loopback

    @property
    def port(self) -> int:
        assert self._server is not None
        return self._server.port

    @property
    def store(self) -> Store:
        assert self._store is not None
        return self._store

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

        assert self._api_server is not None
        fields = ((b"User-Agent", user_agent.encode()),)
        transport = InProcess(self._api_server.handle, self._api_server.answer_error, connect, fields)
        self._in_process.add(transport)
        return transport

    @property
    def _reachable(self) -> str:
        """The address clients on this machine use."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.config.bind, self.config.bind)  # noqa: S104

    def _open_folder(self) -> Path:
        if self.config.data == MEMORY:
            self._temporary = tempfile.TemporaryDirectory(prefix="steersman-")
            return Path(self._temporary.name)
        return data_folder(self.config.data)

    @staticmethod
    def _kept_token(folder: Path) -> str:
        file = folder / "admin.token"
        if file.exists() and (kept := file.read_text("ascii", "replace").strip()):
            if not kept.isascii() or not kept.isprintable():
                raise PkiError(f"{file} is damaged: it holds no token")
            return kept
        # Letters and digits only: it ends up on command lines, where a leading dash is an option.
        token = secrets.token_hex(32)
        write_private(file, token.encode() + b"\n")
        return token

    def _admin(self) -> StaticTokens:
        admin = User("admin", "admin-uid", (MASTERS_GROUP, AUTHENTICATED_GROUP))
        return StaticTokens({self.token: admin})

    def _api(self, store: Store, folder: Path) -> Api:
        catalog = Catalog(all_resources())
        if self._loopback_endpoints:
            from steersman.cluster.apiserver.resources.loopback_endpoints import allow_loopback_endpoints

            allow_loopback_endpoints(catalog)
        self._warn_of_unacted(catalog, store)
        services = ServiceAllocator(self._service_cidr)
        stored = catalog.find("", "v1", "services")
        assert stored is not None
        services.load(stored.read(record.value) for record in store.range(stored.prefix).records)
        certificates = CertificateAuthenticator(self.authority.certificate)
        others, anonymous = self._other_issuers()
        self._access = Access.open(
            store,
            catalog,
            open_signing_key(folder),
            certificates,
            self._admin(),
            others,
            anonymous,
            self._clock.wall,
        )
        self._admission = AdmissionSetup(
            store,
            catalog,
            StoreReader(store, catalog),
            self._access.authorizer,
            self._scope,
            self.config.disabled_admission,
            self._clock.wall,
            enabled=self.config.enabled_admission,
            recounts=self.config.runs("resourcequota"),
            lenient_default_account=not self.config.runs("serviceaccount"),
        )
        chain = self._admission.chain
        return Api(
            store,
            catalog,
            chain,
            services,
            WatchHubs(store),
            self._access,
            self._scope,
            self._clock.wall,
            self._node_connections,
        )

    def _warn_of_unacted(self, catalog: Catalog, store: Store) -> None:
        """Say what nothing acts on, as far as all that follows the API is known here: where pods of this
        machine run, nobody has brought nodes, a network or a scheduler of his own."""
        conditions: dict[str, Callable[[], bool]] = {}
        if self.config.process_nodes:
            conditions["process-nodes"] = lambda: True
            conditions["no-ingress-class"] = lambda: not store.count(_INGRESS_CLASSES)
            if self.config.runs(SCHEDULER):
                conditions["scheduler"] = lambda: True
            if chosen(self.config.controllers) >= CONTROLLERS.keys():
                conditions["controllers"] = lambda: True
        if conditions:
            from steersman.cluster.apiserver.resources.fields_without_effect import warn_of

            warn_of(catalog, conditions)

    def _node_connections(self) -> NodeConnections:
        """The way to nodes and pods, made when first needed."""
        if self._nodes is None:
            from steersman.cluster.apiserver.forwarding.node_connections import NodeConnections

            self._nodes = NodeConnections(self.authority, allows_loopback=self._loopback_endpoints)
        return self._nodes

    def _other_issuers(self) -> tuple[list[TokenAuthenticator], Anonymous]:
        """Who may vouch for users besides this cluster, their keys kept fresh; and who may go without."""
        if self.config.authentication is None:
            return [], Anonymous()
        from steersman.cluster.auth.authentication_file import read_authentication_file
        from steersman.cluster.auth.oidc import ExternalIssuers, fetch

        settings = read_authentication_file(self.config.authentication)
        issuers = ExternalIssuers(settings.issuers)
        self._scope.start(issuers.run(fetch), name="keys of other issuers")
        return [issuers], settings.anonymous

    def _open_fairness(self, api: Api) -> Fairness:
        count = stored_count(api.store, api.catalog)
        self._fairness = Fairness(self.config.max_requests_inflight, count=count)
        self._fairness.follow(api.store)
        return self._fairness

    def _open_audit(self) -> Auditor | None:
        config = self.config
        if config.audit_policy is None and config.audit_log is None:
            return None
        self._auditor = Auditor.open(config.audit_policy, config.audit_log or "-")
        return self._auditor

    def _follow_definitions(self, api: Api) -> None:
        """Serve custom resources."""

        def start() -> None:
            from steersman.cluster.apiserver.custom import Definitions

            self._definitions = Definitions(api, self._publish)
            self._definitions.start()

        _when_first(api, "/apiextensions.k8s.io/customresourcedefinitions/", start)

    def _check_policies(self, api: Api) -> None:
        """Look at the types in admission policies."""

        def start() -> None:
            from steersman.cluster.apiserver.controllers.policy_status import PolicyStatus

            self._scope.start(PolicyStatus(api).run(), name="policy status")

        _when_first(api, "/admissionregistration.k8s.io/validatingadmissionpolicies/", start)

    async def _aggregate(self, api: Api, server: APIServer, folder: Path) -> None:
        """Other API servers behind this one. Loaded after the start, which does not wait for it."""
        await asyncio.sleep(_AFTER_START_S)
        from steersman.cluster.admission.services import EndpointResolver
        from steersman.cluster.apiserver.aggregation import Aggregator, authentication_config_map

        front = folder / "front-proxy"
        front.mkdir(mode=0o700, exist_ok=True)
        authority = Authority.open(front)
        believed = authentication_config_map(authority, self.authority.pem)
        await ensure(api, "", "configmaps", believed, follow="data")
        reader = StoreReader(api.store, api.catalog)
        aggregator = Aggregator(reader, EndpointResolver(reader), authority, self._publish)
        self._aggregator = aggregator
        subscriptions = aggregator.watch(api.store)
        server.serve_others(aggregator)
        try:
            await aggregator.keep_watch(api)
        finally:
            for subscription in subscriptions:
                subscription.cancel()
            await aggregator.close()

    def _publish(self) -> None:
        """Other resources are served than before: documents about them are made anew."""
        if self._documents is not None:
            self._documents.changed()

    def _openapi(self) -> OpenAPI:
        """The OpenAPI documents, loaded when first asked for."""
        if self._documents is None:
            from steersman.cluster.schema.openapi import OpenAPI

            self._documents = OpenAPI(
                f"v{KUBERNETES_VERSION}", self._custom_documents, self._foreign_documents
            )
        return self._documents

    def _custom_documents(self) -> Iterable[Extension]:
        return self._definitions.published() if self._definitions is not None else ()

    def _foreign_documents(self) -> Iterable[Foreign]:
        return self._aggregator.published() if self._aggregator is not None else ()

    def _tls(self, folder: Path, api: Api) -> ssl.SSLContext:
        names = {
            "localhost", "127.0.0.1", "::1", self._reachable, api.services.first_address,
            "kubernetes", "kubernetes.default", "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
        }  # fmt: skip
        certificate, key = self.authority.keep(folder, "apiserver", "kube-apiserver", sorted(names))
        return server_tls(certificate, key, self.authority.pem)

    def _kubeconfig_text(self) -> str:
        authority = base64.b64encode(self.authority.pem).decode()
        return (
            "apiVersion: v1\n"
            "kind: Config\n"
            "clusters:\n"
            "- name: steersman\n"
            "  cluster:\n"
            f"    server: {self.url}\n"
            f"    certificate-authority-data: {authority}\n"
            "users:\n"
            "- name: admin\n"
            "  user:\n"
            f"    token: {json.dumps(self.token)}\n"
            "contexts:\n"
            "- name: steersman\n"
            "  context: {cluster: steersman, user: admin}\n"
            "current-context: steersman\n"
        )

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
        if self._server is not None:
            await self._server.drain(_DRAIN_S)
            if self._fairness is not None:
                self._fairness.close()
            await self._server.close()
            self._server = None
        if self._nodes is not None:
            await self._nodes.close()
            self._nodes = None
        if self._auditor is not None:
            await self._auditor.close()
            self._auditor = None
        await self._scope.close()
        if self._admission is not None:
            await self._admission.close()
            self._admission = None
        if self._access is not None:
            self._access.close()
            self._access = None
        if self._store is not None:
            await self._store.close()
            self._store = None
        if self._machine is not None:
            await self._machine.close()
            self._machine = None
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None


def _when_first(api: Api, prefix: str, start: Callable[[], None]) -> None:
    """Start something with the first object that it is for; its code is loaded then."""
    if api.store.count(prefix):
        start()
        return

    def on_first(_: object) -> None:
        waiting.cancel()
        start()

    waiting = api.store.watch(prefix, api.store.revision, on_first)


def _report(error: BaseException) -> None:
    if not isinstance(error, (StatusError, StoreError)):
        unforeseen = error if is_mistake(error) else None
        _log.error("a task of the cluster failed: %s", error, exc_info=unforeseen)


def _host_in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
