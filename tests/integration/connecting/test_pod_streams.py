"""exec, attach and portforward through the API server."""

from __future__ import annotations

import asyncio
import base64
import os
from typing import Any

import pytest
from cryptography import x509

from steersman.client import BadRequest, Client, CommandFailed, Forbidden, ForwardingFailed, NotFound
from steersman.client.errors import ApiError
from steersman.http import Client as Http
from steersman.http import client_tls
from steersman.http.errors import UpgradeRefused
from tests.support.streaming_node import NODE, StreamingWorld


def test_a_command_is_run_on_the_pods_node(world: StreamingWorld) -> None:
    data = os.urandom(3 << 20)
    done = world.run(world.client.run("one", ["sh", "-c", "cat; echo oops >&2; exit 3"], stdin=data))
    assert (done.exit_code, done.stdout, done.stderr) == (3, data, b"oops\n")
    path, query = world.node.asked[-1]
    assert path == "/exec/default/one/main"
    assert query == {
        "input": ["1"],
        "output": ["1"],
        "error": ["1"],
        "command": ["sh", "-c", "cat; echo oops >&2; exit 3"],
    }


def test_the_node_knows_who_asks_by_certificate(world: StreamingWorld) -> None:
    world.run(world.client.run("one", ["true"]))
    der = world.node.certificates[-1]
    assert der is not None
    certificate = x509.load_der_x509_certificate(der)
    certificate.verify_directly_issued_by(world.cluster.authority.certificate)
    assert certificate.subject.rfc4514_string() == "CN=kube-apiserver-kubelet-client,O=system:masters"


async def refusal(client: Client, pod: str, path: str, method: str = "GET") -> ApiError:
    with pytest.raises(ApiError) as error:
        await client.request(method, f"/api/v1/namespaces/default/pods/{pod}/{path}")
    return error.value


@pytest.mark.parametrize(
    ("pod", "path", "code", "message"),
    [
        ("one", "exec?command=x&stdout=1", 400, "Upgrade request required"),
        ("one", "portforward", 400, "Upgrade request required"),
        ("one", "exec?stdout=1", 400, "you must specify at least 1 command for the container"),
        ("one", "exec?command=x&container=no", 400, "container no is not valid for pod one"),
        ("one", "attach?container=no", 400, "container no is not valid for pod one"),
        (
            "two",
            "attach",
            400,
            "a container name must be specified for pod two, choose one of: [first second]",
        ),
        ("none", "exec?command=x", 404, 'pods "none" not found'),
    ],
)
def test_what_cannot_be_connected_is_refused(
    world: StreamingWorld, pod: str, path: str, code: int, message: str
) -> None:
    error = world.run(refusal(world.client, pod, path, "POST"))
    assert (error.code, error.message) == (code, message)


def test_what_the_node_refuses_is_passed_back(world: StreamingWorld) -> None:
    async def ask() -> None:
        # Neither input nor output: the node has nothing to connect.
        path = "/api/v1/namespaces/default/pods/one/exec?command=x"
        await world.client._sender.websocket(path, ("v5.channel.k8s.io",))

    with pytest.raises(BadRequest, match="at least 1 of stdin, stdout, stderr"):
        world.run(ask())


async def lost_node(client: Client, name: str, status: dict[str, Any] | None) -> None:
    """A pod on a node that cannot be reached."""
    if status is not None:
        node = await client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        await client.replace({**node, "status": {**node["status"], **status}}, subresource="status")
    spec = {"nodeName": name, "containers": [{"name": "c", "image": "x"}]}
    await client.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


@pytest.mark.parametrize(
    ("name", "status", "code", "message"),
    [
        ("nowhere", None, 404, 'pods "nowhere" not found'),
        (
            "silent",
            {},
            503,
            "node silent cannot be reached: it serves no API (its kubeletEndpoint has no port)",
        ),
        (
            "homeless",
            {"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}},
            500,
            "no preferred addresses found; known addresses: []",
        ),
        (
            "down",
            {
                "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}},
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            },
            500,
            "error dialing backend: no connection to 127.0.0.1:1",
        ),
    ],
    ids=["missing", "without port", "without address", "not listening"],
)
def test_a_node_that_cannot_be_reached_is_said_to_be_so(
    world: StreamingWorld, name: str, status: dict[str, Any] | None, code: int, message: str
) -> None:
    async def ask() -> ApiError:
        await lost_node(world.client, name, status)
        with pytest.raises(ApiError) as error:
            await world.client.run(name, ["x"])
        return error.value

    error = world.run(ask())
    assert (error.code, error.message[: len(message)]) == (code, message)


def test_a_node_with_somebody_elses_certificate_is_not_trusted(world: StreamingWorld) -> None:
    async def ask() -> str:
        # The certificate is for an address only.
        status = {
            "daemonEndpoints": {"kubeletEndpoint": {"Port": world.node.server.port}},
            "addresses": [{"type": "Hostname", "address": "localhost"}],
        }
        await lost_node(world.client, "impostor", status)
        with pytest.raises(ApiError) as error:
            await world.client.run("impostor", ["x"])
        return error.value.message

    assert "certificate is not valid for 'localhost'" in world.run(ask())


async def allow(client: Client, user: str, verbs: list[str]) -> None:
    rule = {"apiGroups": [""], "resources": ["pods/exec"], "verbs": verbs}
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": user, "namespace": "default"}}
    await client.create({**rbac, "kind": "Role", "rules": [rule]})
    bound = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}
    role = {"kind": "Role", "apiGroup": "rbac.authorization.k8s.io", "name": user}
    await client.create({**rbac, "kind": "RoleBinding", "subjects": [bound], "roleRef": role})


@pytest.mark.parametrize(
    ("verbs", "allowed"), [(["get"], False), (["create"], False), (["get", "create"], True)]
)
def test_a_websocket_needs_the_right_to_create_too(
    world: StreamingWorld, verbs: list[str], allowed: bool
) -> None:
    user = f"user-{'-'.join(verbs)}"

    async def ask() -> int:
        await allow(world.client, user, verbs)
        http = world.cluster.transport()
        headers = [
            (b"Authorization", f"Bearer {world.cluster.token}".encode()),
            (b"Impersonate-User", user.encode()),
        ]
        async with Client(http, namespace="default") as client:
            client._sender.fields = lambda wire: headers  # type: ignore[method-assign]
            done = await client.run("one", ["true"])
        await http.close()
        return done.exit_code

    if allowed:
        assert world.run(ask()) == 0
    else:
        with pytest.raises(Forbidden, match="is forbidden"):
            world.run(ask())


@pytest.mark.parametrize("right", [True, False])
def test_a_browser_gives_its_token_as_a_subprotocol(world: StreamingWorld, right: bool) -> None:
    async def talk() -> list[bytes]:
        token = world.cluster.token if right else "wrong"
        secret = base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
        named = (f"base64url.bearer.authorization.k8s.io.{secret}", "v4.channel.k8s.io")
        async with Http(world.cluster.url, ssl=client_tls(ca=world.cluster.authority.pem)) as http:
            path = "/api/v1/namespaces/default/pods/one/exec?command=echo&command=hi&stdout=1"
            socket = await http.websocket(path, named)
            assert socket.subprotocol == "v4.channel.k8s.io"
            return [bytes(message) async for message in socket if isinstance(message, bytes)]

    if right:
        assert b"\x01hi\n" in world.run(talk())
    else:
        with pytest.raises(UpgradeRefused) as refused:
            world.run(talk())
        assert refused.value.status == 401


def test_a_command_that_does_not_exist_is_told(world: StreamingWorld) -> None:
    with pytest.raises(CommandFailed, match="no-such-program: No such file or directory"):
        world.run(world.client.run("one", ["no-such-program"]))


def test_a_container_is_attached_to(world: StreamingWorld) -> None:
    async def talk() -> bytes:
        await world.node.engine.run("second", "sh", "-c", "while read x; do echo got $x; done")
        async with await world.client.attach("two", container="second", stdin=True) as process:
            await process.write(b"this\n")
            await process.write_eof()
            return b"".join([output.data async for output in process])

    assert world.run(talk()) == b"got this\n"


# Ports, with the product's own client


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    writer.write(b" over")
    writer.close()


def test_a_port_is_forwarded_and_closed_in_each_direction(world: StreamingWorld) -> None:
    async def talk() -> None:
        async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with await world.client.port_forward("one", port) as tunnel:
                await tunnel.write(b"hello")
                assert await tunnel.read() == b"hello"
                await tunnel.write_eof()
                assert await tunnel.read() == b" over"
                assert await tunnel.read() == b""

    world.run(talk())
    path, query = world.node.asked[-1]
    assert (path, list(query)) == ("/portForward/default/one", ["port"])


def test_megabytes_pass_a_forwarded_port_both_ways(world: StreamingWorld) -> None:
    data = os.urandom(4 << 20)

    async def ask(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)

        async def send() -> None:
            writer.write(data)
            await writer.drain()
            writer.write_eof()

        sending = asyncio.ensure_future(send())
        answer = await reader.read()
        await sending
        writer.close()
        return answer

    async def talk() -> list[bool]:
        async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
            target = server.sockets[0].getsockname()[1]
            async with world.client.listen("one", target) as port:
                answers = await asyncio.gather(ask(port), ask(port))
        return [answer == data + b" over" for answer in answers]

    assert world.run(talk()) == [True, True]


def test_a_port_where_nobody_listens_is_an_error(world: StreamingWorld) -> None:
    async def talk() -> None:
        async with await world.client.port_forward("one", 1) as tunnel:
            await tunnel.read()

    with pytest.raises(
        ForwardingFailed, match=r"error forwarding port 1 to pod one, uid some-uid: .* refused"
    ):
        world.run(talk())


def test_a_pod_that_is_not_there_has_no_ports(world: StreamingWorld) -> None:
    with pytest.raises(NotFound):
        world.run(world.client.port_forward("none", 80))


def test_the_node_is_called_at_its_address_not_its_name(world: StreamingWorld) -> None:
    async def addresses() -> list[str]:
        types = await world.client.resource_type("v1", "Node")
        node = await world.client.get(types, NODE)
        return [entry["type"] for entry in node["status"]["addresses"]]

    # The name, which comes first, leads nowhere.
    assert world.run(addresses()) == ["Hostname", "InternalIP"]
    assert world.run(world.client.run("one", ["true"])).exit_code == 0
