"""Authentication and authorization of the API server, assembled: authenticators, authorizers, impersonation.

`Access.open` follows the store, so it is made once the store is open and before the first request; the
API server asks it in this order: `authentication` (who is it), `action_of` the request, `acting` (who does
the user want to be), `authorize`. Writes go through `check_write` after mutating admission.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from steersman.cluster.apiserver.pipeline.escalation import Escalation
from steersman.cluster.apiserver.pipeline.impersonation import Impersonation, wanted_user
from steersman.cluster.apiserver.pipeline.paths import ResourcePath
from steersman.cluster.apiserver.resources.resource import Catalog, Resource
from steersman.cluster.auth.authentication import (
    AnonymousAccess,
    Authentication,
    CertificateAuthenticator,
    TokenAuthenticator,
)
from steersman.cluster.auth.authorization import Action, AuthorizerChain, Masters, denied
from steersman.cluster.auth.bootstrap_tokens import BootstrapTokens
from steersman.cluster.auth.default_roles import default_rules
from steersman.cluster.auth.jwt import SigningKey
from steersman.cluster.auth.node_graph import NodeGraph
from steersman.cluster.auth.nodes import NodeAuthorizer
from steersman.cluster.auth.rbac import RBAC
from steersman.cluster.auth.service_accounts import ServiceAccountTokens
from steersman.cluster.auth.users import User
from steersman.cluster.store import Store, Subscription
from steersman.objects.errors import SelectorError
from steersman.objects.kinds import Object
from steersman.objects.names import is_path_segment_name
from steersman.objects.selectors import FieldSelector

__all__ = ["Access", "StoreLookup", "action_of", "path_action"]


_COLLECTION_VERBS = ("list", "watch", "deletecollection")


class StoreLookup:
    """Core objects for authentication (`auth.lookup.Lookup`)."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog
        self._resources: dict[str, Resource] = {}

    def _resource(self, plural: str) -> Resource:
        resource = self._resources.get(plural)
        if resource is None:
            resource = self._catalog.find("", "v1", plural)
            assert resource is not None, plural
            self._resources[plural] = resource
        return resource

    def revision(self, plural: str, namespace: str, name: str) -> int:
        record = self._store.get(self._resource(plural).key(namespace, name))
        return 0 if record is None else record.revision

    def get(self, plural: str, namespace: str, name: str) -> Object | None:
        resource = self._resource(plural)
        record = self._store.get(resource.key(namespace, name))
        return None if record is None else resource.read(record.value)


@dataclass(slots=True)
class Access:
    authentication: Authentication
    authorizer: AuthorizerChain
    rbac: RBAC
    tokens: ServiceAccountTokens
    escalation: Escalation
    impersonation: Impersonation
    subscriptions: Sequence[Subscription]

    @classmethod
    def open(
        cls,
        store: Store,
        catalog: Catalog,
        key: SigningKey,
        certificates: CertificateAuthenticator | None,
        static: TokenAuthenticator,
        others: Sequence[TokenAuthenticator] = (),
        anonymous: AnonymousAccess | None = None,
        now: Callable[[], float] = time.time,
    ) -> Access:
        """`static` are the tokens known from the start, `others` come last (external issuers)."""
        lookup = StoreLookup(store, catalog)
        tokens = ServiceAccountTokens(key, lookup, now=now)
        rbac, graph = RBAC(), NodeGraph()
        subscriptions = [*rbac.follow(store), *graph.follow(store)]
        nodes = NodeAuthorizer(graph, default_rules("system:node"))
        authorizer = AuthorizerChain({"system:masters": Masters(), "node": nodes, "rbac": rbac})
        authentication = Authentication(
            certificates, [static, tokens, BootstrapTokens(lookup, now), *others], tokens.audiences, anonymous
        )
        return cls(
            authentication,
            authorizer,
            rbac,
            tokens,
            Escalation(authorizer, rbac),
            Impersonation(authorizer),
            subscriptions,
        )

    def close(self) -> None:
        for subscription in self.subscriptions:
            subscription.cancel()

    def acting(self, user: User, headers: Iterable[tuple[str, str]], action: Action) -> User:
        """The user that a request is made as: its own, or who it asks to be. Raises 400 and 403."""
        wanted = wanted_user(headers)
        return user if wanted is None else self.impersonation.acting(user, wanted, action)

    def authorize(self, user: User, action: Action) -> None:
        """Return if the user may; 403 otherwise."""
        if not self.authorizer.allows(user, action):
            raise denied(user, action, self.authorizer.decide(user, action).reason)

    def check_write(self, user: User, action: Action, new: Object, old: Object | None) -> None:
        """Refuse writes that would give away rights: roles and bindings. Others pass."""
        self.escalation.check(user, action, new, old)


def action_of(path: ResourcePath, verb: str, query: Mapping[str, list[str]]) -> Action:
    """A resource request as authorizers see it.

    A collection narrowed to one name by its field selector is about that name; a namespace is in itself.
    """
    name, namespace = path.name, path.namespace
    fields: tuple[tuple[str, str], ...] = ()
    if verb in _COLLECTION_VERBS and not path.watch and (text := query.get("fieldSelector", [""])[0]):
        fields = _required_fields(text)
        if not name and verb != "deletecollection":
            required = dict(fields).get("metadata.name", "")
            if required and not is_path_segment_name(required):
                name = required
    if name and not namespace and path.plural == "namespaces" and not path.group:
        namespace = path.name
    return Action(
        verb, path.group, path.version, path.plural, path.subresource, namespace, name, fields=fields
    )


def path_action(method: str, path: str) -> Action:
    """A request that is not about a resource. The path is taken as it is: `//`, case and a trailing
    slash are not the same path."""
    return Action(method.lower(), path=path)


def _required_fields(text: str) -> tuple[tuple[str, str], ...]:
    try:
        selector = FieldSelector.parse(text)
    except SelectorError:
        return ()
    return tuple(
        (requirement.field, requirement.value) for requirement in selector.requirements if requirement.equal
    )
