"""The aggregator: which API groups other API servers serve, and the forwarding of requests to them.

The API server asks `find` before its own catalog and hands over what is found to `proxy`. `run` runs
as long as the cluster does: it looks after backends when something about them changed, and every so often.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from steersman.cluster.admission.cached import CachedObjects
from steersman.cluster.admission.chain import Reader
from steersman.cluster.admission.services import ServiceResolver, ServiceUnreachable
from steersman.cluster.apiserver.aggregation.availability import check, record_availability
from steersman.cluster.apiserver.aggregation.connections import BackendClients
from steersman.cluster.apiserver.aggregation.identity import front_proxy_pair
from steersman.cluster.apiserver.aggregation.merging import (
    Discovered,
    fetch_resources,
    merge_groups,
    merge_items,
)
from steersman.cluster.apiserver.aggregation.proxy import forward, unavailable_response
from steersman.cluster.apiserver.aggregation.registrations import GROUP, PLURAL, Backend, register_local
from steersman.cluster.apiserver.pipeline.call import Api
from steersman.cluster.auth.pki import StoredAuthority
from steersman.cluster.auth.users import User
from steersman.cluster.store import Event, Store, StoreError, Subscription
from steersman.cluster.store_changes import follow
from steersman.http import Request, Response
from steersman.http.errors import ClientError
from steersman.http.response import plain_text
from steersman.objects.kinds import Object

if TYPE_CHECKING:
    from steersman.cluster.apiserver.aggregation.schemas import Published
    from steersman.cluster.schema.openapi import Foreign

__all__ = ["Aggregator"]

_log = logging.getLogger(__name__)

#: Backends are looked after this often, news or no news.
_INTERVAL_S: Final = 30.0
#: If all of them are servers of this process and answer: they do until they take back what they registered.
_HERE_INTERVAL_S: Final = 3600.0
#: And at most this often.
_PAUSE_S: Final = 0.25
#: What backends depend on.
_SERVICES: Final = ("/core/services/", "/core/endpoints/", "/discovery.k8s.io/endpointslices/")

#: What can go wrong when a backend is asked about itself.
_UNHELPFUL: Final = (ClientError, ServiceUnreachable, ValueError, OSError, ssl.SSLError)


class Aggregator:
    def __init__(
        self,
        reader: Reader,
        resolver: ServiceResolver,
        authority: StoredAuthority,
        republish: Callable[[], None] = lambda: None,
    ) -> None:
        """`authority` is the request-header CA, which must sign nothing else. `republish` is called when
        `published` has changed."""
        self._reader = reader
        self._clients = BackendClients(resolver, front_proxy_pair(authority))
        self._backends = CachedObjects(self._read, (GROUP, PLURAL))
        self._discovered: dict[str, Discovered] = {}
        self._published: dict[str, Published] = {}
        self._republish = republish
        self._news = asyncio.Event()
        #: Grows when discovery changes, so that documents know when they are old.
        self.generation = 0

    # For the API server

    def find(self, group: str, version: str) -> Backend | None:
        """The backend that has a group version; None when it is not another server's."""
        return self._backends.get().get((group, version))

    async def proxy(self, backend: Backend, request: Request, user: User) -> Response | None:
        """Pass a request on. None when the answer was given as a stream or the connection taken over."""
        if not {"..", "."}.isdisjoint(request.path.split("/")):
            # Authorization looked at the path as it stands; the backend must not resolve it to another one.
            return plain_text(400, "the path has dots for a segment")
        if not backend.available:
            return unavailable_response("service unavailable")
        try:
            client = self._clients.to(backend)
        except ServiceUnreachable:
            return unavailable_response("service unavailable")
        except (ValueError, ssl.SSLError) as error:
            return plain_text(500, f"unable to load root certificates: {error}")
        return await forward(client, request, user)

    def merge_groups(self, groups: Sequence[Object]) -> Sequence[Object]:
        """APIGroup documents with those of backends; the same when there are none."""
        backends = self._backends.get()
        return merge_groups(groups, backends.values()) if backends else groups

    def merge_items(self, items: Sequence[Object]) -> Sequence[Object]:
        """Items of aggregated discovery with those of backends; the same when there are none."""
        backends = self._backends.get()
        if not backends:
            return items
        known = [self._discovered.get(each.name) or Discovered(each) for each in backends.values()]
        return merge_items(items, known)

    def published(self) -> list[Foreign]:
        """What backends say of themselves in OpenAPI, the most important first."""
        backends = sorted(self._backends.get().values(), key=lambda each: each.priority, reverse=True)
        return [self._published[each.name].foreign for each in backends if each.name in self._published]

    # For the cluster

    def watch(self, store: Store) -> list[Subscription]:
        """Follow what registrations and services do."""
        subscriptions = [follow(store, prefix, self._changed) for prefix in self._backends.prefixes]

        def moved(events: Sequence[Event]) -> None:
            if self._backends.get():
                self._news.set()

        return subscriptions + [store.watch(prefix, store.revision, moved) for prefix in _SERVICES]

    async def run(self, api: Api) -> None:
        """Check registrations and backends again and again, until cancelled."""
        while True:
            self._news.clear()
            try:
                await self.check_all(api)
            except StoreError as error:
                _log.warning("the status of APIServices could not be updated: %s", error)
            await asyncio.sleep(_PAUSE_S)
            try:
                async with asyncio.timeout(self.interval_s()):
                    await self._news.wait()
            except TimeoutError:
                continue

    def interval_s(self) -> float:
        """How long to wait for news before the backends are looked after again."""
        backends = self._backends.get().values()
        known = [self._discovered.get(each.name) for each in backends]
        calm = all(each is not None and each.fresh for each in known) and self._clients.are_here(backends)
        return _HERE_INTERVAL_S if calm else _INTERVAL_S

    async def check_all(self, api: Api) -> None:
        """Check every backend once, and what it has; register what is served here."""
        await register_local(api)
        backends = list(self._backends.get().values())
        await asyncio.gather(*(self._check(api, backend) for backend in backends))
        names = {backend.name for backend in backends}
        for name in self._discovered.keys() - names:
            del self._discovered[name]
            self.generation += 1
        for name in self._published.keys() - names:
            del self._published[name]
            self._republish()

    async def close(self) -> None:
        await self._clients.close()

    # Inside

    async def _check(self, api: Api, backend: Backend) -> None:
        found = await check(self._reader, self._clients, backend)
        await record_availability(api, backend.name, found)
        before = self._discovered.get(backend.name)
        resources = before.resources if before is not None else ()
        fresh = found.status == "True"
        if fresh:
            try:
                resources = await fetch_resources(self._clients.to(backend), backend)
            except _UNHELPFUL as error:
                _log.warning("no discovery from API service %s: %s", backend.name, error)
                fresh = False
            await self._look_at_schemas(backend)
        now = Discovered(backend, resources, fresh)
        if before is None or (before.resources, before.fresh) != (now.resources, now.fresh):
            self.generation += 1
        self._discovered[backend.name] = now

    async def _look_at_schemas(self, backend: Backend) -> None:
        # A cluster without backends does not pay for it.
        from steersman.cluster.apiserver.aggregation.schemas import fetch_published

        before = self._published.get(backend.name)
        try:
            now = await fetch_published(self._clients.to(backend), backend, before)
        except _UNHELPFUL as error:
            _log.warning("no OpenAPI from API service %s: %s", backend.name, error)
            return
        if now == before:
            return
        if now is None:
            del self._published[backend.name]
        else:
            self._published[backend.name] = now
        self._republish()

    def _changed(self, *_: object) -> None:
        self._backends.invalidate()
        self.generation += 1
        self._news.set()

    def _read(self) -> dict[tuple[str, str], Backend]:
        parsed = [Backend.parse(each) for each in self._reader.list(GROUP, PLURAL)]
        return {(each.group, each.version): each for each in parsed if each is not None}
