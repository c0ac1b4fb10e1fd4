"""A cluster with one node that does nothing but talk: commands, logs and ports, of this machine.

What it serves is the node's real streaming code over `LocalProcesses`; the rest of a node is left out.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import parse_qs

from steersman.client import Client
from steersman.cluster.auth.pki import StoredAuthority
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.cluster.node.api.port_forwarding import ForwardedPod, serve_port_forward
from steersman.cluster.node.api.remote_commands import CommandOptions, serve_remote_command
from steersman.cluster.node.api.stream_upgrades import IDLE_TIMEOUT_S
from steersman.http import Request, Response, Server, server_tls
from tests.support.local_processes import LocalProcesses

__all__ = ["NODE", "StreamingNode", "StreamingWorld", "streaming_cluster"]

NODE = "talker"
DEADLINE_S = 60.0

T = TypeVar("T")


class StreamingNode:
    """What pods of the node can be asked."""

    def __init__(self, engine: LocalProcesses) -> None:
        self.engine = engine
        self.asked: list[tuple[str, dict[str, list[str]]]] = []
        self.certificates: list[bytes | None] = []
        self.idle_timeout_s = IDLE_TIMEOUT_S
        #: What the next log says.
        self.log: Response | Callable[[Request], Awaitable[Response | None]] = Response(200, b"a line\n")
        self.server = Server(self._serve)

    async def start(self, authority: StoredAuthority) -> None:
        pair = authority.issue("system:node:talker", names=("127.0.0.1",), server=True)
        await self.server.start(
            "127.0.0.1", 0, server_tls(pair.certificate, pair.key, client_cas=authority.pem)
        )

    async def close(self) -> None:
        await self.server.close()
        await self.engine.close()

    async def _serve(self, request: Request) -> Response | None:
        query = parse_qs(request.query_string, keep_blank_values=True)
        self.asked.append((request.path, query))
        self.certificates.append(request.connection.peer_certificate)
        match request.path.split("/")[1:]:
            case ["exec", _, _, container]:
                options = CommandOptions.parse(query)
                await serve_remote_command(
                    request,
                    lambda: self.engine.exec(
                        container, options.command, stdin=options.stdin, tty=options.tty
                    ),
                    options,
                    idle_timeout_s=self.idle_timeout_s,
                )
            case ["attach", _, _, container]:
                options = CommandOptions.parse(query)
                await serve_remote_command(
                    request, lambda: self.engine.attach(container, stdin=options.stdin), options
                )
            case ["portForward", _, name]:
                pod = ForwardedPod(name, "some-uid", lambda port: self.engine.port_forward(name, port))
                await serve_port_forward(request, pod, query, idle_timeout_s=self.idle_timeout_s)
            case ["containerLogs", *_]:
                return self.log if isinstance(self.log, Response) else await self.log(request)
            case _:
                return Response(200, f"{request.method} {request.target}".encode())
        return None


@asynccontextmanager
async def streaming_cluster(**config: Any) -> AsyncIterator[tuple[LocalCluster, StreamingNode, Client]]:
    """A cluster, its node, and a client; pods `one` (a container) and `two` (two of them) run on the node."""
    with tempfile.TemporaryDirectory() as folder:
        async with LocalCluster(ClusterConfig(loopback_endpoints=True, **config)) as cluster:
            node = StreamingNode(LocalProcesses(Path(folder)))
            await node.start(cluster.authority)
            try:
                async with cluster.client() as client:
                    await _register(client, node.server.port)
                    yield cluster, node, client
            finally:
                await node.close()


async def _register(client: Client, port: int) -> None:
    addresses = [
        {"type": "Hostname", "address": "no-such-host.invalid"},
        {"type": "InternalIP", "address": "127.0.0.1"},
    ]
    endpoints = {"kubeletEndpoint": {"Port": port}}
    await _create(client, "Node", NODE, {}, {"addresses": addresses, "daemonEndpoints": endpoints})
    running = {"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}
    for name, containers in (("one", ["main"]), ("two", ["first", "second"])):
        wanted = [{"name": container, "image": "x"} for container in containers]
        await _create(client, "Pod", name, {"nodeName": NODE, "containers": wanted}, running)


async def _create(client: Client, kind: str, name: str, spec: dict[str, Any], status: dict[str, Any]) -> None:
    made = await client.create({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
    await client.replace({**made, "status": {**made["status"], **status}}, subresource="status")


class StreamingWorld:
    """The same in a thread of its own, for tests that share it or run kubectl."""

    cluster: LocalCluster
    node: StreamingNode
    client: Client

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="streaming cluster")
        self._open = streaming_cluster()

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self.cluster, self.node, self.client = self.run(self._open.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.run(self._open.__aexit__(None, None, None))
        finally:
            self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Have something done in the cluster's loop."""

        async def bounded() -> T:
            async with asyncio.timeout(DEADLINE_S):
                return await coroutine

        return asyncio.run_coroutine_threadsafe(bounded(), self._loop).result()
