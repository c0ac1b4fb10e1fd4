"""The HTTP server of the metrics API: accepts only requests of the API server, which has authorized them
(front proxy).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, TypeVar
from urllib.parse import parse_qs

import orjson
from cryptography import x509

from steersman.aio import Backoff, Clock, SystemClock
from steersman.client import Client, ClientError
from steersman.cluster.auth.authentication import CertificateAuthenticator
from steersman.cluster.auth.pki import StoredAuthority
from steersman.cluster.metrics_api.documents import (
    GROUP,
    KINDS,
    PATH,
    api_group,
    api_groups,
    api_resources,
    openapi,
)
from steersman.cluster.metrics_api.objects import as_table, listed, node_metrics, pod_metrics, single
from steersman.cluster.metrics_api.registration import NAMESPACE, SERVER_NAME, register, unregister
from steersman.cluster.metrics_api.sampling import Sampler, UsageSample
from steersman.http import Request, Response, Server, server_tls
from steersman.objects.kinds import Object
from steersman.objects.resources import CONFIG_MAPS
from steersman.objects.selectors import FieldSelector, LabelSelector
from steersman.objects.status import (
    StatusError,
    bad_request,
    method_not_allowed,
    no_such_resource,
    not_found,
    unauthorized,
)
from steersman.runtime import Cache, Cached, Change, Informer

__all__ = ["MetricsApi"]

_log = logging.getLogger(__name__)

T = TypeVar("T")

_AUTHENTICATION: Final = "extension-apiserver-authentication"
_JSON: Final = ((b"Content-Type", b"application/json"),)
_RETRY: Final = Backoff(0.25, 10.0)
_FAREWELL_S: Final = 1.0
#: How long after a change of the registration it is looked after whether somebody serves the API.
_LOOK_S: Final = 5.0
_HEALTH: Final = ("/healthz", "/livez", "/readyz")
_DOCUMENTS: Final = {
    "/apis": api_groups,
    f"/apis/{GROUP}": api_group,
    PATH: api_resources,
    "/openapi/v2": openapi,
}


class _FrontProxy:
    """The CA and names of the API server's front-proxy client certificate."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self.ca = config["requestheader-client-ca-file"].encode()
        self._names = frozenset(orjson.loads(config["requestheader-allowed-names"]))
        self._certificates = CertificateAuthenticator(x509.load_pem_x509_certificate(self.ca))

    def sent(self, request: Request) -> bool:
        der = request.connection.peer_certificate
        user = None if der is None else self._certificates.authenticate(der)
        return user is not None and (not self._names or user.name in self._names)


class MetricsApi:
    """The HTTP server."""

    def __init__(
        self,
        client: Client,
        nodes: Cache,
        pods: Cache,
        sampler: Sampler,
        registrations: Informer,
        *,
        bind: str = "127.0.0.1",
        clock: Clock | None = None,
    ) -> None:
        """`bind` must be an address that the API server can reach; `registrations` sees who serves it."""
        self._client = client
        self._nodes = nodes
        self._pods = pods
        self._sampler = sampler
        self._registrations = registrations
        self._bind = bind
        self._clock = clock or SystemClock()
        self._front: _FrontProxy | None = None
        #: Whether it answers, if somebody asks it: another may have been there first.
        self.serving = False

    async def run(self) -> None:
        """Serve until cancelled."""
        self._front = front = await self._insist(self._front_proxy)
        # The certificate is for nobody but the API server, which is told its authority.
        authority = StoredAuthority.make("steersman-metrics-ca")
        pair = authority.issue(SERVER_NAME, names=[SERVER_NAME], server=True)
        server = Server(self._handle, on_error=_on_error)
        news = asyncio.Event()

        def wake(change: Change) -> None:
            news.set()

        self._registrations.add_handler(wake)
        try:
            await server.start(self._bind, 0, server_tls(pair.certificate, pair.key, front.ca))
            while True:
                await self._insist(partial(register, self._client, self._bind, server.port, authority.pem))
                self.serving = True
                # Whoever serves it now may be gone then, or somebody else have come.
                await news.wait()
                news.clear()
                await self._clock.sleep(_LOOK_S)
        finally:
            self.serving = False
            self._registrations.remove_handler(wake)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_FAREWELL_S):
                    await unregister(self._client, server.port)
            await server.close()

    async def _front_proxy(self) -> _FrontProxy:
        """What the cluster tells about itself."""
        config = await self._client.get(CONFIG_MAPS, _AUTHENTICATION, NAMESPACE)
        return _FrontProxy(config["data"])

    async def _insist(self, step: Callable[[], Awaitable[T]]) -> T:
        """Do something as soon as the API lets us."""
        failures = 0
        while True:
            try:
                return await step()
            except (ClientError, KeyError, ValueError) as error:
                # A cluster that has just started is not complete yet.
                _log.debug("cannot register metrics.k8s.io, trying again: %s", error)
            failures += 1
            await self._clock.sleep(_RETRY.wait_s(failures))

    # Requests

    async def _handle(self, request: Request) -> Response:
        if self._front is None or not self._front.sent(request):
            raise unauthorized()
        path = request.path.rstrip("/")
        if path in _HEALTH:
            return Response(200, b"ok", ((b"Content-Type", b"text/plain"),))
        if request.method != "GET":
            raise method_not_allowed()
        if (document := _DOCUMENTS.get(path)) is not None:
            return _json(document())
        if not path.startswith(f"{PATH}/"):
            raise no_such_resource()
        match path.removeprefix(f"{PATH}/").split("/"):
            case ["nodes" | "pods" as plural]:
                return await self._list(request, plural, None)
            case ["namespaces", namespace, "pods"]:
                return await self._list(request, "pods", namespace)
            case ["nodes", name]:
                return await self._get(request, "nodes", "", name)
            case ["namespaces", namespace, "pods", name]:
                return await self._get(request, "pods", namespace, name)
        raise no_such_resource()

    async def _list(self, request: Request, plural: str, namespace: str | None) -> Response:
        query = parse_qs(request.query_string)
        if "watch" in query:
            raise method_not_allowed()
        try:
            labels = LabelSelector.parse(query.get("labelSelector", [""])[0])
            fields = FieldSelector.parse(query.get("fieldSelector", [""])[0])
        except ValueError as error:
            raise bad_request(str(error)) from error
        sample = await self._sampler.sample()
        found = []
        for cached in self._cache(plural):
            names = {"metadata.name": cached.name, "metadata.namespace": cached.namespace}
            if namespace is not None and cached.namespace != namespace:
                continue
            if fields.matches(names) and labels.matches(own := cached.labels()):
                item = _item(plural, cached, own, sample)
                if item is not None:
                    found.append(item)
        found.sort(key=lambda item: (item["metadata"].get("namespace", ""), item["metadata"]["name"]))
        table = _table(request, query, found, KINDS[plural])
        return _json(table or listed(KINDS[plural], found))

    async def _get(self, request: Request, plural: str, namespace: str, name: str) -> Response:
        cached = self._cache(plural).get((namespace, name))
        if cached is None:
            # As metrics-server, which looks for the object first.
            raise not_found("", plural, name)
        item = _item(plural, cached, cached.labels(), await self._sampler.sample())
        if item is None:
            raise not_found(GROUP, plural, f"{namespace}/{name}" if namespace else name)
        table = _table(request, parse_qs(request.query_string), [item], KINDS[plural])
        return _json(table or single(KINDS[plural], item))

    def _cache(self, plural: str) -> Cache:
        return self._nodes if plural == "nodes" else self._pods


def _item(plural: str, cached: Cached, labels: Mapping[str, str], sample: UsageSample) -> Object | None:
    """The metrics of a node or pod; None if there are none."""
    if plural == "nodes":
        usage = sample.nodes.get(cached.name)
        return None if usage is None else node_metrics(cached.name, labels, sample.time, usage)
    containers = sample.pods.get(cached.key)
    if not containers:
        return None
    return pod_metrics(cached.namespace, cached.name, labels, sample.time, containers)


def _table(request: Request, query: Mapping[str, list[str]], items: list[Object], kind: str) -> Object | None:
    """The answer as a table, if that is what the client likes best of what there is."""
    for accepted in (request.headers.get("accept") or "").split(","):
        media, *parameters = (part.strip() for part in accepted.split(";"))
        given = dict(parameter.partition("=")[::2] for parameter in parameters)
        if media not in ("application/json", "application/*", "*/*"):
            continue
        if given.get("as") != "Table":
            return None
        included = query.get("includeObject", ["Metadata"])[0]
        return as_table(items, kind, included, given.get("v") or "v1")
    return None


def _json(body: Object) -> Response:
    return Response(200, orjson.dumps(body), _JSON)


def _on_error(_: Request | None, error: Exception) -> Response | None:
    if not isinstance(error, StatusError):
        return None
    return Response(error.code, orjson.dumps(error.status()), _JSON)
