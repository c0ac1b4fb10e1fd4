"""The handlers of `/exec`, `/attach` and `/portForward`: they find the pod and container; `remote_commands`
and `port_forwarding` do the streaming.
"""

from __future__ import annotations

import asyncio
from typing import Final

from steersman.cluster.node.api.call import NodeRequest
from steersman.cluster.node.api.errors import NodeRequestRefused
from steersman.cluster.node.api.port_forwarding import ForwardedPod
from steersman.cluster.node.api.port_forwarding import serve_port_forward as forward_ports
from steersman.cluster.node.api.remote_commands import CommandOptions, serve_remote_command
from steersman.cluster.node.cri import ContainerState
from steersman.cluster.node.streaming import Session, StreamingService
from steersman.objects.fields import quote
from steersman.objects.kinds.types.core_v1 import Pod

__all__ = ["serve_attach", "serve_exec", "serve_port_forward"]

_NO_POD: Final = "pod does not exist"


async def serve_exec(call: NodeRequest) -> None:
    options = CommandOptions.parse(call.query)
    engine, container = await _place(call)

    async def open_session() -> Session:
        return await engine.exec(container, options.command, stdin=options.stdin, tty=options.tty)

    await serve_remote_command(call.request, open_session, options)


async def serve_attach(call: NodeRequest) -> None:
    options = CommandOptions.parse(call.query)
    engine, container = await _place(call)

    async def open_session() -> Session:
        return await engine.attach(container, stdin=options.stdin)

    await serve_remote_command(call.request, open_session, options)


async def serve_port_forward(call: NodeRequest) -> None:
    namespace, name, *uid = call.rest
    pod = call.pod(namespace, name, _NO_POD)
    own = pod["metadata"]["uid"]
    if uid and uid != [own]:
        raise NodeRequestRefused(404, "pod not found")
    engine = _engine(call, "nothing listens in its pods")
    sandboxes = await call.agent.host.runtime.list_pod_sandboxes(own)
    ready = [one.id for one in sandboxes if one.ready]
    if not ready:
        raise NodeRequestRefused(500, f"pod not found ({quote(_full_name(pod))})")

    async def connect(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await engine.port_forward(ready[0], port)

    await forward_ports(call.request, ForwardedPod(_full_name(pod), own, connect), call.query)


async def _place(call: NodeRequest) -> tuple[StreamingService, str]:
    """The engine and the ID of the running container that a path names."""
    namespace, name, *uid, container = call.rest
    pod = call.pod(namespace, name, _NO_POD)
    own = pod["metadata"]["uid"]
    engine = _engine(call, "nothing runs in its containers")
    if not uid or uid == [own]:
        for one in await call.agent.host.runtime.list_containers(own):
            if one.name == container and one.state is ContainerState.RUNNING:
                return engine, one.id
    raise NodeRequestRefused(500, f"container not found ({quote(container)})")


def _engine(call: NodeRequest, why_not: str) -> StreamingService:
    engine = call.streaming
    if engine is None:
        raise NodeRequestRefused(501, f"node {quote(call.agent.name)} is simulated: {why_not}")
    return engine


def _full_name(pod: Pod) -> str:
    return f"{pod['metadata']['name']}_{pod['metadata']['namespace']}"
