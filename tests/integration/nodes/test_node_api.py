"""The node's own API over TLS, against a cluster that says who may ask."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from steersman.aio import Scope
from steersman.client import Client as ApiClient
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.cluster.node.api import NodeApi
from steersman.cluster.node.simulated import FleetConfig, add_simulated_nodes, fleet
from steersman.cluster.node.simulated.engine import SimulatedRuntime
from steersman.http import Client, ClientResponse, client_tls, server_tls
from steersman.objects.resources import NODES, PODS
from steersman.runtime import Manager
from steersman.testing import eventually
from tests.integration.nodes.talking_engine import TalkingRuntime
from tests.support.waiting import pass_time

Object = dict[str, Any]
PATIENCE_S = 30.0


class World:
    """Two nodes behind one API. `node-1` is meant unless a request says otherwise."""

    def __init__(self, cluster: LocalCluster, manager: Manager, api: NodeApi, port: int) -> None:
        self.cluster = cluster
        self.client: ApiClient = cluster.client()
        self.manager = manager
        self.api = api
        self.url = f"https://127.0.0.1:{port}"
        self._https: list[Client] = []

    def http(self, pair: Any = None, ca: bytes | None = None) -> Client:
        """A client of the node's API with a certificate, or without one."""
        own = {} if pair is None else {"cert": pair.certificate, "key": pair.key}
        http = Client(self.url, ssl=client_tls(ca=ca or self.cluster.authority.pem, **own))
        self._https.append(http)
        return http

    async def close(self) -> None:
        for http in self._https:
            await http.close()

    def admin(self) -> Client:
        return self.http(self.cluster.authority.issue("admin", organizations=["system:masters"]))

    async def pod(self, name: str, node: str = "node-1", **annotations: str) -> Object:
        """A pod of which the node has reported."""
        script = {f"simulated.steersman.dev/{key}": value for key, value in annotations.items()}
        made = {
            "metadata": {"name": name, "namespace": "default", "annotations": script},
            "spec": {"nodeName": node, "containers": [{"name": "main", "image": "example.com/app:1"}]},
        }
        await self.client.create(made, kind=PODS)

        async def running() -> Object | None:
            found = await self.client.get(PODS, name, "default")
            states = [one["state"] for one in found["status"].get("containerStatuses") or ()]
            return found if states and "waiting" not in states[0] else None

        return await eventually(running, PATIENCE_S)


async def ask(
    http: Client, path: str, *, method: str = "GET", node: str = "node-1", token: str = ""
) -> ClientResponse:
    headers = [(b"host", node.encode())]
    if token:
        headers.append((b"authorization", f"Bearer {token}".encode()))
    return await http.request(method, path, headers=headers)


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    config = ClusterConfig(controllers=(), disabled_admission=("ServiceAccount",))
    async with LocalCluster(config) as cluster, Scope() as scope:
        authority = cluster.authority
        manager = Manager(cluster.client(user_agent="kubelet"), address=None)
        nodes = add_simulated_nodes(manager, 2, FleetConfig())

        pair = authority.issue("system:node:node-1", names=["127.0.0.1"], server=True)
        tls = server_tls(pair.certificate, pair.key, authority.pem)
        api = NodeApi(nodes.agents, client=cluster.client(), client_ca=authority.pem, tls=tls)
        port = await api.start()
        made = World(cluster, manager, api, port)
        running = scope.start(manager.run())
        try:
            await eventually(lambda: len(nodes.nodes.cache) == 2, PATIENCE_S)
            yield made
        finally:
            await made.close()
            await api.stop()
            manager.stop()
            await running


def with_world(test: Callable[[World], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        async def body() -> None:
            async with world() as made:
                await test(made)

        asyncio.run(body())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@pytest.fixture(autouse=True)
def talking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TalkingRuntime, "folder", tmp_path, raising=False)
    monkeypatch.setattr(fleet, "SimulatedRuntime", TalkingRuntime)


def write_log(pod: Object, folder: Path, text: str, mode: str = "w") -> None:
    container = pod["status"]["containerStatuses"][0]["containerID"].removeprefix("simulated://")
    with (folder / f"{container}.log").open(mode) as file:
        for line in text.splitlines():
            file.write(f"2026-11-16T12:00:00.000000000Z stdout F {line}\n")


@with_world
async def test_only_those_come_in_whom_the_cluster_knows_and_lets(made: World) -> None:
    authority = made.cluster.authority
    stranger = made.http()
    for path in ("/healthz", "/pods", "/metrics", "/nowhere"):
        answer = await ask(stranger, path)
        assert (answer.status, answer.content) == (401, b"Unauthorized")
    assert (await ask(stranger, "/healthz", token="made-up")).status == 401
    # Another authority's certificate is none.
    other = type(authority).make()
    assert (
        await ask(made.http(other.issue("admin", organizations=["system:masters"])), "/pods")
    ).status == 401

    user = made.http(authority.issue("jane"))
    answer = await ask(user, "/pods")
    assert answer.status == 403
    expected = b"Forbidden (user=jane, verb=get, resource=nodes, subresource(s)=[pods proxy])\n"
    assert answer.content == expected
    answer = await ask(user, "/exec/default/p/c", method="POST")
    assert answer.content == b"Forbidden (user=jane, verb=create, resource=nodes, subresource(s)=[proxy])\n"
    assert (await ask(made.admin(), "/healthz")).content == b"ok"
    assert (await ask(stranger, "/healthz", token=made.cluster.token)).content == b"ok"


@with_world
async def test_rights_on_a_part_are_enough_for_it(made: World) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "scraper"},
        "rules": [{"apiGroups": [""], "resources": ["nodes/stats", "nodes/pods"], "verbs": ["get"]}],
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "scraper"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "scraper"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "jane"}],
    }
    for each in (role, binding):
        await made.client.create(each)
    http = made.http(made.cluster.authority.issue("jane"))
    answers = {
        path: (await ask(http, path)).status
        for path in ("/pods", "/stats/summary", "/metrics", "/configz", "/containerLogs/default/p/c")
    }
    assert answers == {
        "/pods": 200,
        "/stats/summary": 200,
        "/metrics": 403,
        "/configz": 403,
        "/containerLogs/default/p/c": 403,
    }


@with_world
async def test_what_is_not_there_is_said_in_plain_words(made: World) -> None:
    http = made.admin()
    await made.pod("there")
    for path, status, text in (
        ("/", 404, "404 page not found\n"),
        ("/nowhere", 404, "404 page not found\n"),
        ("/run/default/p/c", 404, "404 page not found\n"),
        ("/checkpoint/default/p/c", 404, "404 page not found\n"),
        ("/logs/", 404, "404 page not found\n"),
        ("/metrics/other", 404, "404 page not found\n"),
        ("/stats/../pods", 404, "404 page not found\n"),
        ("/containerLogs/default/gone/main", 404, 'pod "gone" does not exist'),
        ("/containerLogs/default/there/side", 404, 'container "side" not found in pod "there"'),
        ("/containerLogs/default/there/main?previous=true", 400,
         'previous terminated container "main" in pod "there" not found'),
        ("/exec/default/gone/main?output=1&command=id", 404, "pod does not exist"),
        ("/exec/default/there/side?output=1&command=id", 500, 'container not found ("side")'),
        ("/portForward/default/gone", 404, "pod does not exist"),
        ("/portForward/default/there/other-uid", 404, "pod not found"),
    ):  # fmt: skip
        answer = await ask(http, path)
        assert (answer.status, answer.content.decode()) == (status, text), path
    answer = await ask(http, "/pods", method="DELETE")
    assert (answer.status, answer.headers.get("allow")) == (405, "GET")
    # A pod of another node is none of this one's.
    answer = await ask(http, "/containerLogs/default/there/main", node="node-2")
    assert answer.content == b'pod "there" does not exist'


@with_world
async def test_logs_are_read_and_followed_to_the_end(made: World) -> None:
    folder = TalkingRuntime.folder
    http = made.admin()
    pod = await made.pod("talks")
    path = "/containerLogs/default/talks/main"
    answer = await ask(http, path)
    assert (answer.status, answer.content.startswith(b"failed to open log file")) == (400, True)
    write_log(pod, folder, "one\ntwo\nthree")
    assert (await ask(http, f"{path}?tailLines=2")).content == b"two\nthree\n"
    host = [(b"host", b"node-1")]
    async with http.stream("GET", f"{path}?follow=true&tailLines=1", headers=host) as following:
        assert following.status == 200
        lines = following.lines()
        assert (await anext(lines)).strip() == b"three"
        write_log(pod, folder, "four", "a")
        assert (await anext(lines)).strip() == b"four"
        write_log(pod, folder, "last words", "a")
        await made.client.delete(PODS, "talks", "default", grace_s=0)
        assert [line.strip() async for line in lines] == [b"last words"]


@with_world
async def test_a_reader_that_leaves_is_not_followed_for(made: World) -> None:
    pod = await made.pod("talks")
    write_log(pod, TalkingRuntime.folder, "one")
    http = made.admin()
    target = "/containerLogs/default/talks/main?follow=true"
    async with http.stream("GET", target, headers=[(b"host", b"node-1")]) as following:
        assert (await anext(following.lines())).strip() == b"one"
        assert len(made.api._server.connections) == 1
    await eventually(lambda: not made.api._server.connections, PATIENCE_S)


@with_world
async def test_a_thousand_lines_a_second_are_followed_without_loss(made: World) -> None:
    pod = await made.pod("chatty")
    write_log(pod, TalkingRuntime.folder, "begin")
    http, count = made.admin(), 2000
    host = [(b"host", b"node-1")]

    async def write() -> None:
        for start in range(0, count, 50):
            text = "\n".join(str(number) for number in range(start, start + 50))
            write_log(pod, TalkingRuntime.folder, text, "a")
            await pass_time(0.05, "the pace at which the container writes")
        write_log(pod, TalkingRuntime.folder, "end", "a")

    async with (
        Scope() as scope,
        http.stream("GET", "/containerLogs/default/chatty/main?follow=true", headers=host) as following,
    ):
        writing = scope.start(write())
        seen = []
        async for line in following.lines():
            seen.append(line.strip().decode())
            if seen[-1] == "end":
                break
        await writing
    assert seen == ["begin", *map(str, range(count)), "end"]


@with_world
async def test_pods_and_usage_are_those_of_the_node_asked(made: World) -> None:
    http = made.admin()
    await made.pod("one", cpu="250m", memory="64Mi")
    await made.pod("two", node="node-2")
    listed = orjson.loads((await ask(http, "/pods")).content)
    assert [pod["metadata"]["name"] for pod in listed["items"]] == ["one"]
    running = orjson.loads((await ask(http, "/runningpods/")).content)
    assert [pod["metadata"]["name"] for pod in running["items"]] == ["one"]
    assert running["items"][0]["spec"]["containers"][0]["image"] == "example.com/app:1"

    summary = orjson.loads((await ask(http, "/stats/summary")).content)
    assert summary["node"]["nodeName"] == "node-1"
    (pod,) = summary["pods"]
    assert pod["podRef"]["name"] == "one"
    assert pod["containers"][0]["cpu"]["usageNanoCores"] == 250_000_000
    assert pod["memory"]["workingSetBytes"] == 64 << 20
    node = summary["node"]["memory"]
    assert node["availableBytes"] == (32 << 30) - node["workingSetBytes"]

    labels = 'container="main",namespace="default",pod="one"'
    text = (await ask(http, "/metrics/resource")).content.decode()
    assert f"container_memory_working_set_bytes{{{labels}}} 6.7108864e+07" in text
    assert "node_memory_working_set_bytes" in text
    assert "container_cpu_usage_seconds_total{" in text
    assert "machine_cpu_cores 8.0" in (await ask(http, "/metrics/cadvisor")).content.decode()
    own = (await ask(http, "/metrics")).content.decode()
    assert 'kubelet_running_containers{container_state="running"} 1.0' in own
    assert (await ask(http, "/metrics/probes")).status == 200
    config = orjson.loads((await ask(http, "/configz")).content)["kubeletconfig"]
    assert config["maxPods"] == 110


@with_world
async def test_processor_time_only_grows(made: World) -> None:
    http = made.admin()
    await made.pod("busy", cpu="2")

    async def seconds() -> int:
        summary = orjson.loads((await ask(http, "/stats/summary")).content)
        total: int = summary["pods"][0]["cpu"]["usageCoreNanoSeconds"]
        return total

    first = await seconds()

    async def grew() -> bool:
        return await seconds() > first

    await eventually(grew, PATIENCE_S)


@with_world
async def test_a_new_certificate_is_used_without_a_restart(made: World) -> None:
    authority = made.cluster.authority
    successor = type(authority).make()
    pair = successor.issue("system:node:node-1", names=["127.0.0.1"], server=True)
    assert (await ask(made.admin(), "/healthz")).status == 200
    made.api.renew(server_tls(pair.certificate, pair.key, authority.pem))
    client = authority.issue("admin", organizations=["system:masters"])
    assert (await ask(made.http(client, successor.pem), "/healthz")).status == 200


@with_world
async def test_a_node_that_is_cut_off_does_not_answer(made: World) -> None:
    http = made.admin()
    patch = {"metadata": {"annotations": {"simulated.steersman.dev/offline": "true"}}}
    await made.client.patch(NODES, "node-2", patch)

    async def silent() -> bool:
        return (await ask(http, "/pods", node="node-2")).status == 503

    await eventually(silent, PATIENCE_S)
    assert (await ask(http, "/pods")).status == 200


@with_world
async def test_a_pod_says_whose_api_is_meant(made: World) -> None:
    pod = await made.pod("far", node="node-2")
    write_log(pod, TalkingRuntime.folder, "hello")
    answer = await ask(made.admin(), "/containerLogs/default/far/main", node="127.0.0.1")
    assert answer.content == b"hello\n"
    answer = await ask(made.admin(), "/pods", node="127.0.0.1")
    assert (answer.status, answer.content) == (404, b"none of the nodes that are served here is meant")


@with_world
async def test_commands_run_in_the_container_that_is_named(made: World) -> None:
    await made.pod("listens")
    target = "/exec/default/listens/main?input=1&output=1&command=say&command=hi"
    host = [(b"host", b"node-1")]
    socket = await made.admin().websocket(target, subprotocols=["v5.channel.k8s.io"], headers=host)
    seen = b""
    try:
        await socket.send(b"\x00there")
        # v5 ends input with 255 and the channel.
        await socket.send(b"\xff\x00")
        async for message in socket:
            assert isinstance(message, bytes)
            if message[0] == 1:
                seen += message[1:]
            elif message[0] == 3:
                assert orjson.loads(message[1:])["status"] == "Success"
                break
    finally:
        await socket.close()
    assert seen == b"say hithere"


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch, talking: None) -> None:
    """Nodes whose engine runs nothing."""
    monkeypatch.setattr(fleet, "SimulatedRuntime", SimulatedRuntime)


def test_simulated_containers_are_silent(silent: None) -> None:
    async def look(made: World) -> None:
        http = made.admin()
        await made.pod("quiet")
        path = "/containerLogs/default/quiet/main"
        answer = await ask(http, path)
        assert (answer.status, answer.content) == (200, b"")
        async with http.stream("GET", f"{path}?follow=true", headers=[(b"host", b"node-1")]) as following:
            await made.client.delete(PODS, "quiet", "default", grace_s=0)
            assert [piece async for piece in following.chunks()] == []
        await made.pod("mute")
        for target, why in (
            ("/exec/default/mute/main?output=1&command=id", "nothing runs in its containers"),
            ("/portForward/default/mute", "nothing listens in its pods"),
        ):
            answer = await ask(http, target, method="POST")
            assert (answer.status, answer.content.decode()) == (501, f'node "node-1" is simulated: {why}')

    with_world(look)()
