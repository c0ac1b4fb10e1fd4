"""A cluster with one node that does nothing but talk: commands, logs and ports, of this machine.

What it serves is the node's real streaming code over `LocalProcesses`; the rest of a node is left out.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from steersman.client import Client
from steersman.cluster.auth.pki import Authority
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.cluster.node.api.port_forwarding import ForwardedPod, serve_port_forward
from steersman.cluster.node.api.remote_commands import CommandOptions, serve_remote_command
from steersman.http import Request, Response, Server, server_tls
from tests.support.local_processes import LocalProcesses

__all__ = ["NODE", "StreamingNode", "streaming_cluster"]

NODE = "talker"


class StreamingNode:
    """What pods of the node can be asked."""

    def __init__(self, engine: LocalProcesses) -> None:
        self.engine = engine
        self.asked: list[tuple[str, dict[str, list[str]]]] = []
        self.certificates: list[bytes | None] = []
        #: What the next log says.
        self.log = Response(200, b"a line\n")
        self.server = Server(self._serve)

    async def start(self, authority: Authority) -> None:
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
                )
            case ["attach", _, _, container]:
                options = CommandOptions.parse(query)
                await serve_remote_command(
                    request, lambda: self.engine.attach(container, stdin=options.stdin), options
                )
            case ["portForward", _, name]:
                pod = ForwardedPod(name, "some-uid", lambda port: self.engine.port_forward(name, port))
                await serve_port_forward(request, pod, query)
            case ["containerLogs", *_]:
                return self.log
            case _:
                return Response(200, f"{request.method} {request.target}".encode())
        return None


@asynccontextmanager
async def streaming_cluster() -> AsyncIterator[tuple[LocalCluster, StreamingNode, Client]]:
    """A cluster, its node, and a client; pods `one` (a container) and `two` (two of them) run on the node."""
    with tempfile.TemporaryDirectory() as folder:
        async with LocalCluster(ClusterConfig(loopback_endpoints=True)) as cluster:
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
