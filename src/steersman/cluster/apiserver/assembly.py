"""An API server made from a store, keys and options: every part, in the order in which they need each other.

    server = AssembledServer(store, keys, options, clock, on_error)
    server.open()                      # `server.handler` answers requests; its objects do not exist yet
    await server.start(url, host, port)  # creates its objects, starts its control loops, reports ready
    …
    server.refuse_waiting()            # after the HTTP server was drained
    await server.close()               # the store stays open, it is the caller's

Nothing here knows a data folder, a kubeconfig or a node. Two parts assume that no other API server writes to
the store: service addresses and node ports (`resources.allocation` keeps what is taken in memory, read once),
and the endpoints of the `kubernetes` Service (`bootstrap.essentials` writes one address, its own).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from steersman.aio import Clock, Scope
from steersman.cluster.apiserver.admission import AdmissionSetup
from steersman.cluster.apiserver.audit import Auditor
from steersman.cluster.apiserver.bootstrap.essentials import ensure, install_essentials
from steersman.cluster.apiserver.bootstrap.flow_control import install_flow_control, keep_flow_control
from steersman.cluster.apiserver.bootstrap.role_installation import install_default_roles
from steersman.cluster.apiserver.controllers.certificate_signing import CertificateSigning
from steersman.cluster.apiserver.controllers.following import when_first
from steersman.cluster.apiserver.controllers.legacy_token_tracking import note_uses
from steersman.cluster.apiserver.controllers.role_aggregation import RoleAggregation
from steersman.cluster.apiserver.fairness import Fairness, stored_count
from steersman.cluster.apiserver.non_resource.health import Health
from steersman.cluster.apiserver.non_resource.openid import OpenIDMetadata
from steersman.cluster.apiserver.pipeline.access import Access
from steersman.cluster.apiserver.pipeline.call import Api, StoreReader
from steersman.cluster.apiserver.pipeline.gate import Gate
from steersman.cluster.apiserver.reading.watch import WatchHubs
from steersman.cluster.apiserver.resources.allocation import ServiceAllocator
from steersman.cluster.apiserver.resources.resource import Catalog
from steersman.cluster.apiserver.server import APIServer
from steersman.cluster.auth.authentication import (
    AnonymousAccess,
    CertificateAuthenticator,
    StaticTokens,
    TokenAuthenticator,
)
from steersman.cluster.auth.jwt import SigningKey
from steersman.cluster.auth.pki import StoredAuthority
from steersman.cluster.auth.users import User
from steersman.cluster.schema.resources import all_resources
from steersman.cluster.schema.version import KUBERNETES_VERSION
from steersman.cluster.store import Store

if TYPE_CHECKING:
    from steersman.cluster.apiserver.aggregation import Aggregator
    from steersman.cluster.apiserver.custom import Definitions
    from steersman.cluster.apiserver.forwarding.node_connections import NodeConnections
    from steersman.cluster.schema.openapi import Extension, Foreign, OpenAPI

__all__ = ["AssembledServer", "Keys", "ServerOptions"]

#: What a first request does not need is loaded this long after the start.
_AFTER_START_S = 0.2


@dataclass(frozen=True, slots=True)
class Keys:
    #: Issues client certificates, which it recognizes users by.
    authority: StoredAuthority
    #: Signs service account tokens.
    tokens: SigningKey
    #: Opens the request-header CA, by which aggregated API servers recognize this one.
    open_front_proxy: Callable[[], StoredAuthority]


@dataclass(frozen=True, slots=True)
class ServerOptions:
    service_cidr: str
    #: Users by their bearer tokens.
    static_tokens: Mapping[str, User] = field(default_factory=dict)
    #: Allow Endpoints and EndpointSlices in 127.0.0.0/8.
    loopback_endpoints: bool = False
    disabled_admission: Collection[str] = ()
    enabled_admission: Collection[str] = ()
    #: Names of the controllers that run, in this process or elsewhere.
    controllers: Collection[str] = ()
    #: AuthenticationConfiguration of apiserver.config.k8s.io.
    authentication: Path | None = None
    #: audit.k8s.io/v1 Policy, and where events are written.
    audit_policy: Path | None = None
    audit_log: str | None = None
    #: Requests served at the same time, shared fairly between their users.
    max_requests_inflight: int = 600
    #: Conditions under which a write is warned about fields that have no effect, by name.
    without_effect: Mapping[str, Callable[[], bool]] = field(default_factory=dict)


class AssembledServer:
    def __init__(
        self,
        store: Store,
        keys: Keys,
        options: ServerOptions,
        clock: Clock,
        on_error: Callable[[BaseException], None],
    ) -> None:
        """`on_error` is called with what a task of the server failed with."""
        self._store = store
        self._keys = keys
        self._options = options
        self._clock = clock
        self._scope = Scope(on_error=on_error)
        self._is_ready = False
        self._access: Access | None = None
        self._admission: AdmissionSetup | None = None
        self._fairness: Fairness | None = None
        self._auditor: Auditor | None = None
        self._definitions: Definitions | None = None
        self._aggregator: Aggregator | None = None
        self._nodes: NodeConnections | None = None
        self._documents: OpenAPI | None = None
        self.api: Api
        self.handler: APIServer

    def open(self) -> None:
        """Make the handler of requests. Raises what is wrong with the options; `close` it all the same."""
        options = self._options
        self.api = api = self._open_api()
        live = {"ping": lambda: ""}
        ready = {"bootstrap": lambda: "" if self._is_ready else "not finished"}
        self._fairness = Fairness(options.max_requests_inflight, count=stored_count(self._store, api.catalog))
        self._fairness.follow(self._store)
        if options.audit_policy is not None or options.audit_log is not None:
            self._auditor = Auditor.open(options.audit_policy, options.audit_log or "-")
        gate = Gate(api.access, self._fairness, self._auditor)
        self.handler = APIServer(api, self._openapi, Health(live, ready), gate)

    async def start(self, url: str, host: str, port: int) -> None:
        """Create the objects of every cluster, and start the control loops. `url` is where clients reach this
        server, `host` and `port` what the `kubernetes` Service leads to."""
        api, runs = self.api, self._options.controllers
        self.handler.serve_identity(OpenIDMetadata(api.access.tokens, url))
        note_uses(api)
        await install_essentials(api, host, port)
        await install_default_roles(api)
        await install_flow_control(api)
        self._scope.start(keep_flow_control(api), name="flow control")
        if "clusterrole-aggregation" in runs:
            self._scope.start(RoleAggregation(api).run(), name="role aggregation")
        if "certificatesigningrequest-signing" in runs:
            signing = CertificateSigning(api, self._keys.authority)
            self._scope.start(signing.run(), name="certificate signing")
        self._follow_definitions()
        if "validatingadmissionpolicy-status" in runs:
            self._follow_policies()
        self._scope.start(self._aggregate(), name="aggregation")
        self._scope.start(api.hubs.bookmark_forever(), name="bookmarks")
        self._is_ready = True

    def refuse_waiting(self) -> None:
        """Refuse requests that still wait for a seat."""
        if self._fairness is not None:
            self._fairness.close()

    async def close(self) -> None:
        """End all control loops and connections. The store stays open."""
        if self._nodes is not None:
            await self._nodes.close()
        if self._auditor is not None:
            await self._auditor.close()
        await self._scope.close()
        if self._admission is not None:
            await self._admission.close()
        if self._access is not None:
            self._access.close()

    # The parts

    def _open_api(self) -> Api:
        store, options = self._store, self._options
        catalog = Catalog(all_resources())
        if options.loopback_endpoints:
            from steersman.cluster.apiserver.resources.loopback_endpoints import allow_loopback_endpoints

            allow_loopback_endpoints(catalog)
        if options.without_effect:
            from steersman.cluster.apiserver.resources.fields_without_effect import add_warnings

            add_warnings(catalog, options.without_effect)
        services = ServiceAllocator(options.service_cidr)
        stored = catalog.find("", "v1", "services")
        assert stored is not None
        stored.allocator = services
        services.load(stored.read(record.value) for record in store.range(stored.prefix).records)
        self._access = access = self._open_access(catalog)
        reader = StoreReader(store, catalog)
        self._admission = AdmissionSetup(
            store,
            catalog,
            reader,
            access.authorizer,
            self._scope,
            options.disabled_admission,
            self._clock.wall,
            enabled=options.enabled_admission,
            recounts="resourcequota" in options.controllers,
            lenient_default_account="serviceaccount" not in options.controllers,
        )
        chain, hubs = self._admission.chain, WatchHubs(store)
        now = self._clock.wall
        return Api(store, catalog, chain, services, hubs, access, self._scope, now, self._node_connections)

    def _open_access(self, catalog: Catalog) -> Access:
        certificates = CertificateAuthenticator(self._keys.authority.certificate)
        issuers, anonymous = self._other_issuers()
        static = StaticTokens(self._options.static_tokens)
        now = self._clock.wall
        return Access.open(
            self._store, catalog, self._keys.tokens, certificates, static, issuers, anonymous, now
        )

    def _other_issuers(self) -> tuple[list[TokenAuthenticator], AnonymousAccess]:
        """Other issuers of tokens, their keys fetched again and again; and who may be anonymous."""
        if self._options.authentication is None:
            return [], AnonymousAccess()
        from steersman.cluster.auth.authentication_file import read_authentication_file
        from steersman.cluster.auth.oidc import ExternalIssuers, fetch

        settings = read_authentication_file(self._options.authentication)
        issuers = ExternalIssuers(settings.issuers)
        self._scope.start(issuers.run(fetch), name="keys of other issuers")
        return [issuers], settings.anonymous

    def _node_connections(self) -> NodeConnections:
        """Connections to nodes and pods, made when first needed."""
        if self._nodes is None:
            from steersman.cluster.apiserver.forwarding.node_connections import NodeConnections

            allows_loopback = self._options.loopback_endpoints
            self._nodes = NodeConnections(self._keys.authority, allows_loopback=allows_loopback)
        return self._nodes

    def _follow_definitions(self) -> None:
        """Serve custom resources, from the first definition on."""

        def start() -> None:
            from steersman.cluster.apiserver.custom import Definitions

            self._definitions = Definitions(self.api, self._publish)
            self._definitions.start()

        when_first(self._store, ["/apiextensions.k8s.io/customresourcedefinitions/"], start)

    def _follow_policies(self) -> None:
        """Check the expressions of admission policies, from the first policy on."""

        def start() -> None:
            from steersman.cluster.apiserver.controllers.policy_status import PolicyStatus

            self._scope.start(PolicyStatus(self.api).run(), name="policy status")

        when_first(self._store, ["/admissionregistration.k8s.io/validatingadmissionpolicies/"], start)

    async def _aggregate(self) -> None:
        """Other API servers behind this one. Loaded after the start, which does not wait for it."""
        await asyncio.sleep(_AFTER_START_S)
        from steersman.cluster.admission.services import EndpointResolver
        from steersman.cluster.apiserver.aggregation import Aggregator, authentication_config_map

        api, authority = self.api, self._keys.open_front_proxy()
        believed = authentication_config_map(authority, self._keys.authority.pem)
        await ensure(api, "", "configmaps", believed, follow="data")
        reader = StoreReader(api.store, api.catalog)
        aggregator = Aggregator(reader, EndpointResolver(reader), authority, self._publish)
        self._aggregator = aggregator
        subscriptions = aggregator.watch(api.store)
        self.handler.serve_others(aggregator)
        try:
            await aggregator.run(api)
        finally:
            for subscription in subscriptions:
                subscription.cancel()
            await aggregator.close()

    # OpenAPI

    def _publish(self) -> None:
        """Other resources are served than before: documents about them are made again."""
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
