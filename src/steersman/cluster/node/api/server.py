"""The HTTP server of the kubelet API: routes, access checks, handlers.

One server may serve several nodes: the Host header names the node or its address, or else the pod in the path
decides. With a single node it is always that one.
"""

from __future__ import annotations

import logging
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from steersman.aio import Clock, SystemClock
from steersman.client import Client
from steersman.cluster.node.agent import NodeAgent
from steersman.cluster.node.api.access import AccessUnknown, NodeApiAccess, subresources, verb_of
from steersman.cluster.node.api.call import NodeRequest, text
from steersman.cluster.node.api.errors import NodeRequestRefused
from steersman.cluster.node.api.listing import configuration, json_response, pods_of, running_pods_of
from steersman.cluster.node.api.logs import serve_logs
from steersman.cluster.node.api.measuring import Measurer
from steersman.cluster.node.api.reports import Reports
from steersman.cluster.node.errors import NodeProblem
from steersman.cluster.node.pod_head import PodHead
from steersman.http import Request, Response, Server
from steersman.http.response import plain_text
from steersman.objects.fields import quote

__all__ = ["NodeApi"]

_log = logging.getLogger(__name__)

Handler = Callable[[NodeRequest], Awaitable[Response | None]]

_DRAIN_S: Final = 2.0
_NOT_FOUND: Final = plain_text(404, "404 page not found")
_READ: Final = ("GET",)
_TALK: Final = ("GET", "POST")
_CHECKS: Final = ("ping", "log", "syncloop")


@dataclass(frozen=True, slots=True)
class _Route:
    """A path with its handler, methods and number of segments."""

    handler: Handler
    #: How many segments may follow the first.
    lengths: tuple[int, ...] = (0,)
    methods: tuple[str, ...] = _READ
    #: Whether a namespace and a pod's name are the first of them.
    of_pods: bool = False


class NodeApi:
    """Serves the kubelet API of `agents`, which may be added and removed."""

    def __init__(
        self,
        agents: Mapping[str, NodeAgent],
        *,
        client: Client,
        client_ca: bytes,
        tls: ssl.SSLContext,
        bind: str = "127.0.0.1",
        port: int = 0,
        clock: Clock | None = None,
    ) -> None:
        """`client` asks the API who somebody is and what they may; `client_ca` (PEM) vouches for clients'
        certificates. `tls` is the server's context (see `http.server_tls`) until the first `renew`."""
        self._agents = agents
        self._tls = tls
        self._bind = bind
        self._port = port
        clock = clock or SystemClock()
        self._access = NodeApiAccess(client, client_ca, clock.monotonic)
        self._server = Server(self._handle, on_error=_on_error)
        self._requests: Counter[tuple[str, str]] = Counter()
        self._reports = Reports(Measurer(clock.wall), self._requests)
        self._routes: Mapping[str, _Route] = {
            "healthz": _Route(_health, (0, 1)),
            "pods": _Route(_pods),
            "runningpods": _Route(_running_pods),
            "configz": _Route(_configz),
            "containerLogs": _Route(serve_logs, (3,), of_pods=True),
            "exec": _Route(_exec, (3, 4), _TALK, of_pods=True),
            "attach": _Route(_attach, (3, 4), _TALK, of_pods=True),
            "portForward": _Route(_port_forward, (2, 3), _TALK, of_pods=True),
            "stats": _Route(self._reports.stats, (1,), _TALK),
            "metrics": _Route(self._reports.metrics, (0, 1)),
        }

    async def start(self) -> int:
        """Serve; returns the port, which nodes have to know before they register (`NodeConfig.port`)."""
        first = self._tls
        # Certificates are renewed while the server runs: every handshake takes the newest.
        first.sni_callback = self._newest
        await self._server.start(self._bind, self._port, first)
        return self._server.port

    def renew(self, tls: ssl.SSLContext) -> None:
        """Use another certificate, for new connections."""
        self._tls = tls

    async def stop(self) -> None:
        await self._server.drain(_DRAIN_S)
        await self._server.close()

    def _newest(self, connection: ssl.SSLObject, _name: str | None, _first: ssl.SSLContext) -> None:
        connection.context = self._tls

    # Requests

    async def _handle(self, request: Request) -> Response | None:
        part, *rest = request.path.strip("/").split("/")
        agent = self._agent(request) or self._agent_of_pod(part, rest)
        refusal = await self._refusal(request, part, "" if agent is None else agent.name)
        if refusal is not None:
            return refusal
        route = self._routes.get(part)
        if route is None or len(rest) not in route.lengths:
            return _NOT_FOUND
        if request.method not in route.methods:
            allowed = ((b"Allow", ", ".join(route.methods).encode()),)
            return Response(405, b"Method Not Allowed", allowed)
        if agent is None:
            return text(404, "none of the nodes that are served here is meant")
        if not agent.host.online:
            return text(503, f"node {quote(agent.name)} is cut off")
        self._requests[request.method, part] += 1
        try:
            return await route.handler(NodeRequest(request, agent, rest))
        except NodeRequestRefused as refused:
            return text(refused.status, refused.message)

    def _agent(self, request: Request) -> NodeAgent | None:
        if len(self._agents) == 1:
            return next(iter(self._agents.values()))
        host = _host(request.headers.get("host") or "")
        return self._agents.get(host) or next(
            (agent for agent in self._agents.values() if host in agent.host.config.addresses), None
        )

    def _agent_of_pod(self, part: str, rest: Sequence[str]) -> NodeAgent | None:
        route = self._routes.get(part)
        if route is None or not route.of_pods or len(rest) not in route.lengths:
            return None
        for agent in self._agents.values():
            cached = agent.host.pods.get((rest[0], rest[1]))
            if cached is not None and PodHead(cached).node == agent.name:
                return agent
        return None

    async def _refusal(self, request: Request, part: str, node: str) -> Response | None:
        """Why this request is not served, as far as who asks is concerned."""
        user = await self._access.user(request)
        if user is None:
            return text(401, "Unauthorized")
        asked = []
        for subresource in subresources(part):
            asked.append(subresource)
            try:
                if await self._access.allows(user, request.method, node, subresource):
                    return None
            except AccessUnknown as error:
                _log.warning("authorization of %s failed: %s", user.name, error)
                who = f"user={user.name}, verb={verb_of(request.method)}"
                return text(500, f"Authorization error ({who}, resource=nodes, subresource={subresource})")
        who = f"user={user.name}, verb={verb_of(request.method)}"
        return text(403, f"Forbidden ({who}, resource=nodes, subresource(s)=[{' '.join(asked)}])\n")


def _host(header: str) -> str:
    """A Host header without its port."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]


def _on_error(_: Request | None, error: Exception) -> Response | None:
    return text(500, str(error)) if isinstance(error, NodeProblem) else None


# The small ones


async def _health(call: NodeRequest) -> Response:
    if call.rest and call.rest[0] not in _CHECKS:
        return _NOT_FOUND
    if "verbose" not in call.query or call.rest:
        return text(200, "ok")
    lines = "".join(f"[+]{check} ok\n" for check in _CHECKS)
    return text(200, f"{lines}healthz check passed\n")


async def _pods(call: NodeRequest) -> Response:
    return json_response(pods_of(call.agent))


async def _running_pods(call: NodeRequest) -> Response:
    return json_response(await running_pods_of(call.agent))


async def _configz(call: NodeRequest) -> Response:
    return json_response(configuration(call.agent))


# What talks with containers is loaded when somebody wants to.


async def _exec(call: NodeRequest) -> None:
    from steersman.cluster.node.api.streaming_routes import serve_exec

    await serve_exec(call)


async def _attach(call: NodeRequest) -> None:
    from steersman.cluster.node.api.streaming_routes import serve_attach

    await serve_attach(call)


async def _port_forward(call: NodeRequest) -> None:
    from steersman.cluster.node.api.streaming_routes import serve_port_forward

    await serve_port_forward(call)
