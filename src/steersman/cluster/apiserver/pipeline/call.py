"""`Api` and `Call`: what all verbs share, and one request after routing and authorization.

`Api` is what the verbs share: the store, the resources, admission. `Call` is one request after routing,
authentication and authorization. Each verb is a function of the two.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from steersman.aio import Scope
from steersman.cluster.admission import AdmissionChain, Attributes
from steersman.cluster.apiserver.pipeline.paths import ResourcePath
from steersman.cluster.apiserver.resources.allocation import ServiceAllocator
from steersman.cluster.apiserver.resources.resource import Catalog, Resource
from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.users import User
from steersman.cluster.store import Store
from steersman.http import Request
from steersman.objects.kinds import Object

if TYPE_CHECKING:
    from steersman.cluster.apiserver.forwarding.node_connections import NodeConnections
    from steersman.cluster.apiserver.pipeline.access import Access
    from steersman.cluster.apiserver.pipeline.gate import InFlightRequest
    from steersman.cluster.apiserver.reading.watch import WatchHubs
    from steersman.cluster.apiserver.responses.render import Form

__all__ = ["Api", "Call", "StoreReader"]


@lru_cache(maxsize=1024)
def _manager_of(user_agent: str) -> str:
    text = user_agent.encode("latin-1", "replace").decode("utf-8", "replace")
    name = "".join(c for c in text.partition("/")[0] if c.isprintable())
    return name.encode()[:128].decode(errors="ignore") or "unknown"


@dataclass(slots=True)
class Api:
    store: Store
    catalog: Catalog
    admission: AdmissionChain
    services: ServiceAllocator
    hubs: WatchHubs
    access: Access
    #: Owns work that must be finished even when the client that asked for it is gone.
    scope: Scope
    now: Callable[[], float] = time.time
    #: The way to nodes; without it nothing that runs there can be reached.
    nodes: Callable[[], NodeConnections] | None = None


@dataclass(slots=True)
class Call:
    request: Request
    resource: Resource
    path: ResourcePath
    query: dict[str, list[str]]
    user: User
    form: Form
    #: What was authorized.
    action: Action
    in_flight: InFlightRequest | None = None
    #: What the client asks to be stored, as it wrote it: the parsed body, or what its patch made. None for
    #: protobuf. Not to be changed.
    submitted: Object | None = None
    #: What of that has empty lists: even those have owners, though the normal form, like storage, has none.
    with_empty_lists: Object | None = None
    warnings: list[str] = field(default_factory=list)
    #: What admission notes for the audit log.
    annotations: dict[str, str] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        return self.path.namespace

    @property
    def manager(self) -> str:
        """The field manager's name when the request gives none: the user agent's first word."""
        return _manager_of(self.request.headers.get("user-agent") or "")

    def started(self, code: int) -> None:
        """The answer is a stream, and it has begun."""
        if self.in_flight is not None:
            self.in_flight.started(code)

    def on(self, namespace: str, name: str) -> Call:
        """The same request about one named object: a collection's deletion, one by one."""
        return replace(self, path=self.path._replace(namespace=namespace, name=name))

    def attributes(
        self, operation: str, name: str, obj: Object | None, old: Object | None, *, dry_run: bool
    ) -> Attributes:
        """What admission sees of this request."""
        kind = self.resource.type
        namespace = name if kind.plural == "namespaces" and not kind.group else self.path.namespace
        return Attributes(
            operation=operation,
            group=kind.group,
            version=kind.version,
            plural=kind.plural,
            kind=kind.kind,
            subresource=self.path.subresource,
            namespace=namespace,
            name=name,
            object=obj,
            old=old,
            user=self.user,
            dry_run=dry_run,
            warnings=self.warnings,
            annotations=self.annotations,
            options=_options(operation, self.query) if self.query else None,
        )


def _options(operation: str, query: Mapping[str, list[str]]) -> Object | None:
    """The request's options as an object, for those who see it whole (webhooks)."""
    kinds = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
    if operation not in kinds:
        # A connection's options are its object.
        return None
    options: Object = {"kind": kinds[operation], "apiVersion": "meta.k8s.io/v1"}
    for key in ("fieldManager", "fieldValidation"):
        if query.get(key, [""])[0]:
            options[key] = query[key][0]
    if any(query.get("dryRun", ())):
        options["dryRun"] = list(query["dryRun"])
    return options


#: Namespaces that a reader remembers something of.
_REMEMBERED = 1024


class StoreReader:
    """Stored objects for admission plugins."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog
        #: Namespaces are looked up on every create.
        self._read: dict[str, tuple[int, Object]] = {}
        #: By group and plural, the namespaces without any: every create asks for quotas, and few have some.
        self._without: dict[tuple[str, str], set[str]] = {}

    def get(self, group: str, plural: str, namespace: str, name: str) -> Object | None:
        if plural == "namespaces" and not group:
            return self._namespace(name)
        resource = self._catalog.stored(group, plural)
        if resource is None:
            return None
        record = self._store.get(resource.key(namespace, name))
        return None if record is None else resource.read(record.value)

    def _namespace(self, name: str) -> Object | None:
        resource = self._catalog.find("", "v1", "namespaces")
        assert resource is not None
        record = self._store.get(resource.key("", name))
        if record is None:
            return None
        kept = self._read.get(name)
        if kept is None or kept[0] != record.revision:
            if len(self._read) > _REMEMBERED:
                self._read.clear()
            kept = self._read[name] = (record.revision, resource.read(record.value))
        return kept[1]

    def list(self, group: str, plural: str, namespace: str = "") -> Sequence[Object]:
        without = self._without.get((group, plural))
        if without is not None and namespace in without:
            return ()
        resource = self._catalog.stored(group, plural)
        if resource is None:
            return ()
        records = self._store.range(resource.scope(namespace)).records
        if not records:
            self._remember_without(resource, namespace)
        return [resource.read(record.value) for record in records]

    def _remember_without(self, resource: Resource, namespace: str) -> None:
        """Until one of the resource is written, wherever."""
        kind = (resource.group, resource.plural)
        without = self._without.get(kind)
        if without is None:
            known = without = self._without[kind] = set()
            store = self._store
            subscription = store.watch(resource.prefix, store.revision, lambda _: known.clear())
            weakref.finalize(self, subscription.cancel)
        if len(without) > _REMEMBERED:
            without.clear()
        without.add(namespace)
