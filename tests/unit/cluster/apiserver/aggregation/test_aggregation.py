"""Aggregated API servers, with a real backend over TLS."""

from __future__ import annotations

import asyncio
import base64
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import orjson
import pytest
from cryptography import x509

from steersman.aio import Scope
from steersman.cluster.admission import build_chain
from steersman.cluster.admission.services import EndpointResolver
from steersman.cluster.apiserver.aggregation import Aggregator, authentication_config_map
from steersman.cluster.apiserver.aggregation.identity import identity_headers
from steersman.cluster.apiserver.aggregation.merging import merge_groups
from steersman.cluster.apiserver.aggregation.registrations import Backend, local_registrations
from steersman.cluster.apiserver.non_resource.discovery import Discovery
from steersman.cluster.apiserver.pipeline.access import Access
from steersman.cluster.apiserver.pipeline.call import Api, StoreReader
from steersman.cluster.apiserver.pipeline.paths import parse_path
from steersman.cluster.apiserver.reading.watch import WatchHubs
from steersman.cluster.apiserver.resources.allocation import ServiceAllocator
from steersman.cluster.apiserver.resources.resource import Catalog
from steersman.cluster.apiserver.resources.storage_encoding import encode, stamp
from steersman.cluster.auth.authentication import StaticTokens
from steersman.cluster.auth.jwt import SigningKey
from steersman.cluster.auth.pki import StoredAuthority
from steersman.cluster.auth.users import User
from steersman.cluster.schema.resources import all_resources
from steersman.cluster.store import open_store
from steersman.http import Client, Request, Response, Server, server_tls
from steersman.http.errors import Disconnected, UpgradeRefused
from steersman.http.websocket.socket import WebSocket
from tests.support.waiting import until
from tests.unit.cluster.apiserver.asking import ask

Object = dict[str, Any]
SERVING, FRONT = StoredAuthority.make("serving"), StoredAuthority.make("front-proxy-ca")
JANE = User("jane", "u-1", ("dev", "ops"), {"Scopes/x": ("a", "b")})
LEGACY = {
    "kind": "APIResourceList",
    "groupVersion": "metrics.k8s.io/v1beta1",
    "resources": [
        {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "PodMetrics", "verbs": ["get", "list"],
         "shortNames": ["pm"]},
        {"name": "pods/status", "singularName": "", "namespaced": True, "kind": "PodMetrics", "verbs": ["get"]},
    ],
}  # fmt: skip


@dataclass
class World:
    """A store, an aggregator in front, and a backend behind."""

    api: Api
    aggregator: Aggregator
    backend_port: int
    client: Client
    seen: list[Request] = field(default_factory=list)
    #: Path → what the backend does with it.
    paths: dict[str, Callable[[Request], Any]] = field(default_factory=dict)

    async def put(self, group: str, plural: str, obj: Object) -> None:
        resource = self.api.catalog.stored(group, plural)
        assert resource is not None
        obj["metadata"] |= {"uid": "u", "creationTimestamp": "2024-01-01T00:00:00Z"}
        key = resource.key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        await self.api.store.put(key, encode(obj))

    async def register(self, version: str = "v1beta1", **spec: Any) -> None:
        """An API service, and the service it means."""
        ports = [{"name": "https", "port": 443, "protocol": "TCP"}]
        metadata = {"name": "m", "namespace": "sys"}
        await self.put("", "services", {"metadata": metadata, "spec": {"type": "ClusterIP", "ports": ports}})
        named = {**metadata, "name": "m-1", "labels": {"kubernetes.io/service-name": "m"}}
        endpoints = [{"addresses": ["127.0.0.1"], "conditions": {"ready": True}}]
        serving = [{"name": "https", "port": self.backend_port, "protocol": "TCP"}]
        piece = {"metadata": named, "addressType": "IPv4", "endpoints": endpoints, "ports": serving}
        await self.put("discovery.k8s.io", "endpointslices", piece)
        given = {
            "group": "metrics.k8s.io",
            "version": version,
            "service": {"namespace": "sys", "name": "m", "port": 443},
            "caBundle": base64.b64encode(SERVING.pem).decode(),
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            **spec,
        }
        name = f"{version}.metrics.k8s.io"
        await self.put(
            "apiregistration.k8s.io", "apiservices", {"metadata": {"name": name}, "spec": given, "status": {}}
        )
        await self.aggregator.check_all(self.api)

    def condition(self) -> tuple[str, str, str]:
        reader = StoreReader(self.api.store, self.api.catalog)
        found = reader.get("apiregistration.k8s.io", "apiservices", "", "v1beta1.metrics.k8s.io")
        assert found is not None
        (condition,) = found["status"]["conditions"]
        return condition["status"], condition["reason"], condition["message"]

    async def front(self, request: Request) -> Response | None:
        path = parse_path(request.path)
        backend = None if path is None else self.aggregator.find(path.group, path.version)
        return Response(404) if backend is None else await self.aggregator.proxy(backend, request, JANE)

    async def back(self, request: Request) -> Response | None:
        self.seen.append(request)
        behave = self.paths.get(request.path)
        if behave is None:
            return Response(404)
        answer = behave(request)
        return await answer if isinstance(answer, Awaitable) else answer


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    store = await open_store(":memory:", stamp=stamp)
    scope = Scope()
    catalog = Catalog(all_resources())
    reader = StoreReader(store, catalog)
    services = ServiceAllocator("10.96.0.0/16")
    access = Access.open(store, catalog, SigningKey.make(), None, StaticTokens({}))
    api = Api(store, catalog, build_chain(reader), services, WatchHubs(store), access, scope)
    aggregator = Aggregator(reader, EndpointResolver(reader), FRONT)
    subscriptions = aggregator.watch(store)
    made: list[World] = []
    backend = Server(lambda request: made[0].back(request))
    pair = SERVING.issue("m", names=["m.sys.svc"], server=True)
    await backend.start("127.0.0.1", 0, server_tls(pair.certificate, pair.key, FRONT.pem))
    front = Server(lambda request: made[0].front(request))
    await front.start("127.0.0.1", 0)
    try:
        async with Client(f"http://127.0.0.1:{front.port}") as client:
            made.append(World(api, aggregator, backend.port, client))
            made[0].paths["/apis/metrics.k8s.io/v1beta1"] = lambda _: Response(200, orjson.dumps(LEGACY))
            yield made[0]
    finally:
        for subscription in subscriptions:
            subscription.cancel()
        await front.close()
        await aggregator.close()
        await backend.close()
        await scope.close()
        await store.close()


def with_world(test: Callable[[World], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        async def body() -> None:
            async with asyncio.timeout(30), world() as there:
                await test(there)

        asyncio.run(body())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


PODS = "/apis/metrics.k8s.io/v1beta1/pods"


# Passing on


@with_world
async def test_a_request_goes_through_with_the_users_identity(there: World) -> None:
    await there.register()
    answer_headers = ((b"Content-Type", b"text/plain"), (b"X-Custom", b"1"))
    there.paths[PODS] = lambda r: Response(201, r.method.encode() + b" " + r.content, answer_headers)
    forged = [
        (b"X-Remote-User", b"root"), (b"x-remote-group", b"system:masters"), (b"X-Remote-Extra-Foo", b"x"),
        (b"X-Remote-Uid", b"0"), (b"Authorization", b"Bearer secret"), (b"Impersonate-User", b"root"),
        (b"Connection", b"x-hop"), (b"X-Hop", b"1"), (b"X-Kept", b"2"),
    ]  # fmt: skip
    answer = await there.client.request("POST", f"{PODS}?limit=1&x=a%20b", headers=forged, content=b"hello")
    assert (answer.status, answer.content) == (201, b"POST hello")
    assert answer.headers.get("content-type") == "text/plain"
    assert answer.headers.get("x-custom") == "1"
    request = there.seen[-1]
    assert request.target == f"{PODS}?limit=1&x=a%20b"
    headers = request.headers
    assert headers.get_all("x-remote-user") == ["jane"]
    assert headers.get_all("x-remote-uid") == ["u-1"]
    assert headers.get_all("x-remote-group") == ["dev", "ops"]
    assert headers.get_all("x-remote-extra-scopes%2fx") == ["a", "b"]
    assert headers.get_all("x-forwarded-for") == ["127.0.0.1"]
    assert headers.get("x-kept") == "2"
    for dropped in ("x-remote-extra-foo", "authorization", "impersonate-user", "x-hop"):
        assert dropped not in headers


@pytest.mark.parametrize("path", ["/../x", "/%2e%2e/x", "/./x", "/a/.."])
def test_paths_that_lead_elsewhere_are_refused(path: str) -> None:
    @with_world
    async def run(there: World) -> None:
        await there.register()
        count = len(there.seen)
        assert (await there.client.request("GET", f"{PODS}{path}")).status == 400
        assert len(there.seen) == count

    run()


@with_world
async def test_a_compressed_body_arrives_as_what_it_says_it_is(there: World) -> None:
    await there.register()
    there.paths[PODS] = lambda r: Response(
        200, r.content + (r.headers.get("content-encoding") or "").encode()
    )
    packed = gzip.compress(b"hello")
    answer = await there.client.request(
        "POST", PODS, headers=((b"Content-Encoding", b"gzip"),), content=packed
    )
    assert answer.content == b"hello"


@pytest.mark.parametrize("size", [0, 1000, 2_000_000])
def test_answers_of_any_size_arrive_whole(size: int) -> None:
    @with_world
    async def run(there: World) -> None:
        await there.register()
        there.paths[PODS] = lambda _: Response(200, b"x" * size, ((b"X-Custom", b"1"),))
        assert (await there.client.request("GET", PODS)).content == b"x" * size
        head = await there.client.request("HEAD", PODS)
        assert (head.status, head.content, head.headers.get("x-custom")) == (200, b"", "1")

    run()


@with_world
async def test_the_front_proxys_certificate_comes_with_it(there: World) -> None:
    await there.register()
    there.paths[PODS] = lambda _: Response(200)
    await there.client.request("GET", PODS)
    der = there.seen[-1].connection.peer_certificate
    assert der is not None
    certificate = x509.load_der_x509_certificate(der)
    certificate.verify_directly_issued_by(FRONT.certificate)
    assert certificate.subject.rfc4514_string() == "CN=front-proxy-client"


@with_world
async def test_an_endless_answer_flows_as_it_comes(there: World) -> None:
    await there.register()
    steps: asyncio.Queue[bytes | None] = asyncio.Queue()
    gone = asyncio.Event()

    async def watch(request: Request) -> None:
        stream = request.stream(200, ((b"Content-Type", b"application/json"),))
        stream.on_close(gone.set)
        while (step := await steps.get()) is not None:
            stream.write(step)
        stream.end()

    there.paths[PODS] = watch
    async with there.client.stream("GET", f"{PODS}?watch=true") as answer:
        lines = answer.lines()
        for event in (b"one", b"two"):
            steps.put_nowait(event + b"\n")
            assert await anext(lines) == event
        steps.put_nowait(None)
        assert [line async for line in lines] == []
    async with there.client.stream("GET", f"{PODS}?watch=true") as answer:
        gone.clear()
        steps.put_nowait(b"x\n")
        await anext(answer.lines())
    # The client left in the middle: the backend is told although it had nothing to say.
    await gone.wait()
    steps.put_nowait(None)


@with_world
async def test_an_answer_that_breaks_off_is_not_taken_for_whole(there: World) -> None:
    await there.register()

    async def broken(request: Request) -> None:
        stream = request.stream(200, ())
        stream.write(b"half")
        await stream.drain()
        stream.abort()

    there.paths[PODS] = broken
    async with there.client.stream("GET", PODS) as answer:
        with pytest.raises(Disconnected):
            await answer.read()


@with_world
async def test_an_upgrade_joins_the_connections(there: World) -> None:
    await there.register()

    async def echo(request: Request) -> None:
        socket = await request.websocket(["v4"])
        async with asyncio.timeout(20):
            message = await socket.receive()
            await socket.send(message)
            await socket.close()

    there.paths[PODS] = echo
    socket: WebSocket = await there.client.websocket(PODS, ["v4"])
    assert socket.subprotocol == "v4"
    await socket.send("hello")
    assert await socket.receive() == "hello"
    await socket.close()
    assert there.seen[-1].headers.get("x-remote-user") == "jane"


@with_world
async def test_a_refused_upgrade_is_an_answer(there: World) -> None:
    await there.register()
    there.paths[PODS] = lambda _: Response(403, b'{"kind":"Status"}')
    with pytest.raises(UpgradeRefused, match="403"):
        await there.client.websocket(PODS)


# Availability


@with_world
async def test_a_backend_that_answers_is_available(there: World) -> None:
    await there.register()
    assert there.condition() == ("True", "Passed", "all checks passed")
    assert there.seen[0].headers.get("x-remote-user") == "system:kube-aggregator"


@with_world
async def test_what_is_not_available_is_not_asked(there: World) -> None:
    there.paths.clear()
    await there.register()
    url = "https://m.sys.svc:443/apis/metrics.k8s.io/v1beta1"
    message = f"failing or missing response from {url}: bad status from {url}: 404"
    assert there.condition() == ("False", "FailedDiscoveryCheck", message)
    count = len(there.seen)
    answer = await there.client.request("GET", PODS)
    assert (answer.status, answer.content) == (503, b"service unavailable\n")
    assert len(there.seen) == count


PROBLEMS: dict[str, tuple[Object, str, str]] = {
    "no service": (
        {"service": {"namespace": "sys", "name": "gone", "port": 443}},
        "ServiceNotFound", 'service/gone in "sys" is not present',
    ),
    "another port": (
        {"service": {"namespace": "sys", "name": "m", "port": 8443}},
        "ServicePortError", 'service/m in "sys" is not listening on port 8443',
    ),
    "an unknown authority": (
        {"caBundle": base64.b64encode(FRONT.pem).decode()},
        "FailedDiscoveryCheck", "failing or missing response from ",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "reason", "message"), PROBLEMS.values(), ids=PROBLEMS)
def test_why_a_backend_is_not_available(spec: Object, reason: str, message: str) -> None:
    @with_world
    async def run(there: World) -> None:
        await there.register(**spec)
        status, why, text = there.condition()
        assert (status, why) == ("False", reason)
        assert text.startswith(message)

    run()


@with_world
async def test_verification_can_be_skipped(there: World) -> None:
    await there.register(caBundle="", insecureSkipTLSVerify=True)
    assert there.condition()[0] == "True"


@with_world
async def test_backends_are_looked_after_when_something_changes(there: World) -> None:
    watching = asyncio.get_running_loop().create_task(there.aggregator.run(there.api))
    await there.register()
    there.paths[PODS] = lambda _: Response(200, b"ok")

    async def answers() -> bool:
        return (await there.client.request("GET", PODS)).status == 200

    await until(answers, 60)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


# Discovery


@with_world
async def test_discovery_shows_backends_among_the_rest(there: World) -> None:
    apps = {"groupVersion": "apps/v1", "version": "v1"}
    local = [
        {"kind": "APIGroup", "apiVersion": "v1", "name": "apps", "versions": [apps], "preferredVersion": apps}
    ]
    assert there.aggregator.merge_groups(local) is local
    generation = there.aggregator.generation
    await there.register()
    assert there.aggregator.generation > generation
    groups = there.aggregator.merge_groups(local)
    assert [group["name"] for group in groups] == ["apps", "metrics.k8s.io"]
    assert groups[1]["preferredVersion"] == {"groupVersion": "metrics.k8s.io/v1beta1", "version": "v1beta1"}
    discovery = Discovery(Catalog(()))
    discovery.aggregator = there.aggregator
    for path in ("/apis/metrics.k8s.io", "/apis/metrics.k8s.io/"):
        answer = discovery.serve(ask(path))
        assert answer is not None
        assert orjson.loads(cast(bytes, answer.body)) == groups[1]
    items = there.aggregator.merge_items([{"metadata": {"name": "apps"}, "versions": [{"version": "v1"}]}])
    kind = {"group": "metrics.k8s.io", "version": "v1beta1", "kind": "PodMetrics"}
    assert items[1] == {
        "metadata": {"name": "metrics.k8s.io"},
        "versions": [
            {
                "version": "v1beta1",
                "resources": [
                    {
                        "resource": "pods",
                        "responseKind": kind,
                        "scope": "Namespaced",
                        "singularResource": "pod",
                        "verbs": ["get", "list"],
                        "subresources": [{"subresource": "status", "responseKind": kind, "verbs": ["get"]}],
                        "shortNames": ["pm"],
                    }
                ],
                "freshness": "Current",
            }
        ],
    }


@with_world
async def test_a_backends_own_aggregated_discovery_is_preferred(there: World) -> None:
    resources = [{"resource": "things", "verbs": ["get"]}]
    versions = [{"version": "v1beta1", "resources": resources}, {"version": "v2"}]
    document = {"items": [{"metadata": {"name": "metrics.k8s.io"}, "versions": versions}]}
    kind = b"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    there.paths["/apis"] = lambda _: Response(200, orjson.dumps(document), ((b"Content-Type", kind),))
    await there.register()
    (item,) = there.aggregator.merge_items([])
    assert item["versions"] == [{"version": "v1beta1", "resources": resources, "freshness": "Current"}]


@with_world
async def test_an_unreachable_backends_discovery_is_stale(there: World) -> None:
    await there.register()
    there.paths["/apis/metrics.k8s.io/v1beta1"] = lambda _: Response(500)
    await there.aggregator.check_all(there.api)
    (item,) = there.aggregator.merge_items([])
    (version,) = item["versions"]
    assert version["freshness"] == "Stale"
    assert [each["resource"] for each in version["resources"]] == ["pods"]


@with_world
async def test_only_a_backend_of_this_process_that_answers_is_asked_seldom(there: World) -> None:
    await there.register()
    assert there.aggregator.interval_s() == 3600
    there.paths["/apis/metrics.k8s.io/v1beta1"] = lambda _: Response(500)
    await there.aggregator.check_all(there.api)
    assert there.aggregator.interval_s() == 30
    there.paths["/apis/metrics.k8s.io/v1beta1"] = lambda _: Response(200, orjson.dumps(LEGACY))
    await there.aggregator.check_all(there.api)
    assert there.aggregator.interval_s() == 3600
    await there.register(service={"namespace": "sys", "name": "elsewhere", "port": 443})
    assert there.aggregator.interval_s() == 30


def backend(group: str, version: str, priority: tuple[int, int]) -> Backend:
    return Backend(f"{version}.{group}", group, version, "", "", 443, b"", False, priority, True)


def test_versions_and_groups_are_ordered_by_priority() -> None:
    v1 = {"groupVersion": "batch/v1", "version": "v1"}
    local = [{"name": "batch", "versions": [v1], "preferredVersion": v1}]
    others = [
        backend("batch", "v2", (17400, 20)),
        backend("a.example", "v1", (18500, 1)),
        backend("z", "v1", (1, 1)),
    ]
    groups = merge_groups(local, others)
    assert [group["name"] for group in groups] == ["a.example", "batch", "z"]
    assert [version["version"] for version in groups[1]["versions"]] == ["v2", "v1"]
    assert groups[1]["preferredVersion"]["version"] == "v2"


# What is served here


@with_world
async def test_what_is_served_here_is_registered(there: World) -> None:
    await there.aggregator.check_all(there.api)
    reader = StoreReader(there.api.store, there.api.catalog)
    registered = {
        each["metadata"]["name"]: each for each in reader.list("apiregistration.k8s.io", "apiservices")
    }
    assert {"v1.", "v1.apps", "v2.autoscaling", "v1.rbac.authorization.k8s.io"} <= registered.keys()
    assert "v1.apiregistration.k8s.io" not in registered
    core = registered["v1."]
    assert core["spec"] == {"version": "v1", "groupPriorityMinimum": 18000, "versionPriority": 1}
    assert core["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "onstart"}
    (condition,) = core["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("True", "Local")
    (owner,) = registered["v1.apps"]["metadata"]["managedFields"]
    assert (owner["manager"], owner["operation"]) == ("kube-apiserver", "Update")
    owned = ("f:group", "f:groupPriorityMinimum", "f:version", "f:versionPriority")
    assert owner["fieldsV1"]["f:spec"] == {name: {} for name in owned}
    revision = there.api.store.revision
    await there.aggregator.check_all(there.api)
    assert there.api.store.revision == revision
    assert there.aggregator.find("apps", "v1") is None


@with_world
async def test_registrations_of_custom_groups_come_and_go(there: World) -> None:
    (registration,) = local_registrations([("example.com", "v1")]).values()
    assert registration["spec"]["groupPriorityMinimum"] == 1000
    await there.put("apiregistration.k8s.io", "apiservices", registration)
    await there.aggregator.check_all(there.api)
    reader = StoreReader(there.api.store, there.api.catalog)
    assert reader.get("apiregistration.k8s.io", "apiservices", "", "v1.example.com") is None


def test_names_of_extras_are_escaped() -> None:
    user = User("ü", extra={"example.com/Key": ("v",)})
    assert list(identity_headers(user)) == [
        (b"X-Remote-User", "ü".encode()),
        (b"X-Remote-Extra-example.com%2Fkey", b"v"),
    ]


def test_backends_are_told_whom_to_believe() -> None:
    config_map = authentication_config_map(FRONT, SERVING.pem)
    assert config_map["data"]["requestheader-client-ca-file"] == FRONT.pem.decode()
    assert orjson.loads(config_map["data"]["requestheader-allowed-names"]) == ["front-proxy-client"]


# Schemas

V2 = {
    "swagger": "2.0",
    "paths": {f"{PODS}/": {"get": {"responses": {}}}, "/apis/other/v1/x": {}},
    "definitions": {},
}
V3_URL = "/openapi/v3/apis/metrics.k8s.io/v1beta1"


def _document(document: object, **headers: str) -> Callable[[Request], Response]:
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    return lambda _: Response(200, orjson.dumps(document), encoded)


def _asked(there: World, path: str) -> int:
    return sum(request.path == path for request in there.seen)


@with_world
async def test_schemas_of_a_backend_are_taken_once(there: World) -> None:
    def v2(request: Request) -> Response:
        if request.headers.get("if-none-match") == '"1"':
            return Response(304)
        return Response(200, orjson.dumps(V2), ((b"ETag", b'"1"'),))

    url = {"serverRelativeURL": f"{V3_URL}?hash=1"}
    there.paths |= {
        "/openapi/v2": v2,
        "/openapi/v3": _document({"paths": {"apis/metrics.k8s.io/v1beta1": url}}),
        V3_URL: _document({"openapi": "3.0.0"}),
    }
    await there.register()
    [foreign] = there.aggregator.published()
    assert (foreign.path, foreign.v3) == ("apis/metrics.k8s.io/v1beta1", b'{"openapi":"3.0.0"}')
    assert list(foreign.v2["paths"]) == [f"{PODS}/"]
    await there.aggregator.check_all(there.api)
    assert there.aggregator.published() == [foreign]
    assert (_asked(there, "/openapi/v2"), _asked(there, V3_URL)) == (2, 1)


@pytest.mark.parametrize(
    ("v2", "v3"),
    [
        pytest.param(None, None, id="none"),
        pytest.param(["no document"], None, id="no object"),
        pytest.param(None, {"paths": {"apis/metrics.k8s.io/v1beta1": {}}}, id="no place"),
        pytest.param(
            None,
            {"paths": {"apis/metrics.k8s.io/v1beta1": {"serverRelativeURL": "/secrets"}}},
            id="a place that is not for documents",
        ),
    ],
)
def test_a_backend_without_good_schemas_is_served_all_the_same(v2: object, v3: object) -> None:
    @with_world
    async def run(there: World) -> None:
        for path, document in (("/openapi/v2", v2), ("/openapi/v3", v3)):
            if document is not None:
                there.paths[path] = _document(document)
        await there.register()
        assert there.aggregator.published() == []
        assert there.condition()[0] == "True"
        assert _asked(there, "/secrets") == 0

    run()


@with_world
async def test_the_last_schemas_stay_while_a_backend_says_nonsense(there: World) -> None:
    there.paths["/openapi/v2"] = _document(V2)
    await there.register()
    [foreign] = there.aggregator.published()
    there.paths["/openapi/v2"] = _document(["nonsense"])
    await there.aggregator.check_all(there.api)
    assert there.aggregator.published() == [foreign]
    del there.paths["/openapi/v2"]
    await there.aggregator.check_all(there.api)
    assert there.aggregator.published() == []
