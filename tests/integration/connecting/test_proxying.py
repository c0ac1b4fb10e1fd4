"""`proxy` paths: pods, services and nodes reached through the API server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from steersman.client import Client
from steersman.client.errors import ApiError
from steersman.http import Client as Http
from steersman.http import Headers, Request, Response, Server, client_tls
from tests.support.streaming_node import NODE, StreamingWorld

PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"


class Web:
    """Something that runs in pod `one`."""

    def __init__(self) -> None:
        self.server = Server(self._serve)
        self.seen: list[tuple[str, str, Headers, bytes]] = []

    async def _serve(self, request: Request) -> Response | None:
        self.seen.append((request.method, request.target, request.headers, request.content))
        match request.path.strip("/"):
            case "page":
                html = b'<a href="/other">o</a><a href="far/">f</a><img src="https://else.where/x">'
                return Response(200, html, ((b"Content-Type", b"text/html; charset=utf-8"),))
            case "moved":
                return Response(302, b"", ((b"Location", b"/new/place?x=1"),))
            case "missing":
                return Response(404, b"not here")
            case "endless":
                stream = request.stream(200, ())
                for number in range(300):
                    stream.write(b"%d\n" % number * 1000)
                    await stream.drain()
                stream.end()
                return None
            case "socket":
                socket = await request.websocket(("shout",))
                async for message in socket:
                    await socket.send(str(message).upper())
                return None
        return Response(200, b"hello", ((b"X-Own", b"yes"), (b"Connection", b"X-Hop"), (b"X-Hop", b"no")))


@pytest.fixture(scope="module")
def web(world: StreamingWorld) -> Iterator[Web]:
    web = Web()
    world.run(web.server.start("127.0.0.1", 0))
    yield web
    world.run(web.server.close())


async def request(
    world: StreamingWorld, method: str, path: str, content: bytes = b"", **headers: str
) -> tuple[int, Headers, bytes]:
    fields = {"Authorization": f"Bearer {world.cluster.token}", **headers}
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()]
    async with Http(world.cluster.url, ssl=client_tls(ca=world.cluster.authority.pem)) as http:
        answer = await http.request(method, path, headers=raw, content=content)
    return answer.status, answer.headers, answer.content


def test_a_request_is_passed_on_with_all_that_belongs_to_it(world: StreamingWorld, web: Web) -> None:
    path = f"{PODS}/one:{web.server.port}/proxy/a%20b/c?x=%2F&y"
    status, headers, content = world.run(request(world, "POST", path, b"body", X_Mine="1", Cookie="c=d"))
    assert (status, content, headers.get("x-own"), headers.get("x-hop")) == (200, b"hello", "yes", None)
    method, target, sent, body = web.seen[-1]
    assert (method, target, body) == ("POST", "/a%20b/c?x=%2F&y", b"body")
    assert (sent.get("x-mine"), sent.get("cookie")) == ("1", "c=d")
    assert "authorization" not in sent
    assert sent.get("x-forwarded-for") == "127.0.0.1"
    assert sent.get("x-forwarded-uri") == f"{PODS}/one:{web.server.port}/proxy/a%20b/c"
    assert sent.get("host") == world.cluster.url.removeprefix("https://")


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
def test_every_method_is_passed_on(world: StreamingWorld, web: Web, method: str) -> None:
    status, _, content = world.run(request(world, method, f"{PODS}/one:{web.server.port}/proxy/"))
    assert (status, content) == (200, b"" if method == "HEAD" else b"hello")
    assert web.seen[-1][:2] == (method, "/")


def test_the_proxy_itself_is_a_folder(world: StreamingWorld, web: Web) -> None:
    path = f"{PODS}/one:{web.server.port}/proxy"
    status, headers, _ = world.run(request(world, "GET", f"{path}?x=1"))
    assert (status, headers.get("location")) == (301, f"{path}/?x=1")


def test_links_and_redirects_lead_through_the_proxy(world: StreamingWorld, web: Web) -> None:
    prefix = f"{PODS}/one:{web.server.port}/proxy"
    _, _, page = world.run(request(world, "GET", f"{prefix}/page"))
    assert page.decode() == (
        f'<a href="{prefix}/other">o</a><a href="far/">f</a><img src="https://else.where/x">'
    )
    status, headers, _ = world.run(request(world, "GET", f"{prefix}/moved"))
    assert (status, headers.get("location")) == (302, f"{prefix}/new/place?x=1")


def test_refusals_of_the_backend_are_its_own(world: StreamingWorld, web: Web) -> None:
    status, _, content = world.run(request(world, "GET", f"{PODS}/one:{web.server.port}/proxy/missing"))
    assert (status, content) == (404, b"not here")


def test_long_answers_flow(world: StreamingWorld, web: Web) -> None:
    _, _, content = world.run(request(world, "GET", f"{PODS}/one:{web.server.port}/proxy/endless"))
    assert content == b"".join(b"%d\n" % number * 1000 for number in range(300))


def test_a_websocket_passes(world: StreamingWorld, web: Web) -> None:
    async def talk() -> Any:
        headers = [(b"Authorization", f"Bearer {world.cluster.token}".encode())]
        async with Http(world.cluster.url, ssl=client_tls(ca=world.cluster.authority.pem)) as http:
            path = f"{PODS}/one:{web.server.port}/proxy/socket"
            socket = await http.websocket(path, ("shout",), headers=headers)
            await socket.send("quiet")
            answer = await socket.receive()
            await socket.close()
            return socket.subprotocol, answer

    assert world.run(talk()) == ("shout", "QUIET")


async def service(client: Client, name: str, port: int, **endpoint: Any) -> None:
    ports = [{"name": "web", "port": 80, "targetPort": port}]
    await client.create(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": ports}}
    )
    about = {"name": name, "labels": {"kubernetes.io/service-name": name}}
    target = {"kind": "Pod", "namespace": "default", "name": "one"}
    await client.create(
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": about,
            "addressType": "IPv4",
            "ports": [{"name": "web", "port": port}],
            "endpoints": [{"addresses": ["127.0.0.1"], "targetRef": target, **endpoint}],
        }
    )


@pytest.fixture(scope="module")
def shop(world: StreamingWorld, web: Web) -> str:
    world.run(service(world.client, "shop", web.server.port))
    return "shop"


@pytest.mark.parametrize("name", ["shop:80", "shop:web", "http:shop:web"])
def test_a_service_is_reached_by_its_ports_number_or_name(
    world: StreamingWorld, shop: str, name: str
) -> None:
    status, _, content = world.run(request(world, "GET", f"{SERVICES}/{name}/proxy/"))
    assert (status, content) == (200, b"hello")


@pytest.mark.parametrize(
    ("name", "endpoint"),
    [
        ("no-pod", {"targetRef": None}),
        ("other-pod", {"targetRef": {"kind": "Pod", "namespace": "default", "name": "none"}}),
        ("other-address", {"addresses": ["127.0.0.9"]}),
        ("not-ready", {"conditions": {"ready": False}}),
    ],
)
def test_only_ready_pods_are_reached_through_a_service(
    world: StreamingWorld, web: Web, name: str, endpoint: dict[str, Any]
) -> None:
    given = {key: value for key, value in endpoint.items() if value is not None}

    async def create() -> None:
        await service(world.client, name, web.server.port, **given)
        if endpoint.get("targetRef", "") is None:
            kind = await world.client.resource_type("discovery.k8s.io/v1", "EndpointSlice")
            piece = await world.client.get(kind, name)
            del piece["endpoints"][0]["targetRef"]
            await world.client.replace(piece)

    world.run(create())
    with pytest.raises(ApiError, match=f'no endpoints available for service "{name}"'):
        world.run(world.client.request("GET", f"{SERVICES}/{name}:80/proxy/"))


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        (f"{PODS}/a:b:c:d/proxy/", 400, 'invalid pod request "a:b:c:d"'),
        (f"{PODS}/ftp:one:80/proxy/", 400, 'invalid pod request "ftp:one:80"'),
        (f"{PODS}/none/proxy/", 404, 'pods "none" not found'),
        (f"{PODS}/one:1/proxy/", 503, "error trying to reach service: no connection to 127.0.0.1:1"),
        (f"{SERVICES}/a:b:c:d/proxy/", 400, 'invalid service request "a:b:c:d"'),
        (f"{SERVICES}/shop:81/proxy/", 503, 'no service port 81 found for service "shop"'),
        (f"{SERVICES}/none/proxy/", 503, 'no endpoints available for service "none"'),
        (f"{SERVICES}/none:80/proxy/", 404, 'services "none" not found'),
        ("/api/v1/nodes/a:b:c:d/proxy/", 400, 'invalid node request "a:b:c:d"'),
        ("/api/v1/nodes/none/proxy/", 404, 'nodes "none" not found'),
    ],
)
def test_what_cannot_be_reached_is_refused(
    world: StreamingWorld, shop: str, path: str, code: int, message: str
) -> None:
    with pytest.raises(ApiError) as error:
        world.run(world.client.request("GET", path))
    assert (error.value.code, error.value.message[: len(message)]) == (code, message)


def test_a_nodes_own_api_is_reached(world: StreamingWorld) -> None:
    status, _, content = world.run(request(world, "GET", f"/api/v1/nodes/{NODE}/proxy/stats/summary?only=x"))
    assert (status, content) == (200, b"GET /stats/summary?only=x")
    # By our certificate, not by what the client brought.
    assert world.node.certificates[-1] is not None


def test_a_pod_that_speaks_tls_is_reached_whatever_its_certificate(world: StreamingWorld) -> None:
    path = f"{PODS}/https:one:{world.node.server.port}/proxy/deep?x"
    status, _, content = world.run(request(world, "GET", path))
    assert (status, content) == (200, b"GET /deep?x")
    # It is not told who we are to nodes.
    assert world.node.certificates[-1] is None


def test_another_port_of_a_node_is_reached(world: StreamingWorld, web: Web) -> None:
    status, _, content = world.run(request(world, "GET", f"/api/v1/nodes/{NODE}:{web.server.port}/proxy/"))
    assert (status, content) == (200, b"hello")


def test_many_at_once_do_not_wait_for_each_other(world: StreamingWorld, web: Web) -> None:
    async def all_of_them() -> set[int]:
        path = f"{PODS}/one:{web.server.port}/proxy/endless"
        answers = await asyncio.gather(*(request(world, "GET", path) for _ in range(10)))
        return {status for status, _, _ in answers}

    assert world.run(all_of_them()) == {200}
