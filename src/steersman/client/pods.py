"""What can be done with a running pod: its logs, commands in it, its ports, evicting it.

The part of `Client` that knows pods; `logs`, `commands` and `forwarding` have the protocols.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Unpack

import orjson

from steersman.client import commands, forwarding
from steersman.client.commands import Completed, Process, StreamOptions, collect, stream_query
from steersman.client.errors import ClientError
from steersman.client.forwarding import Tunnel
from steersman.client.logs import LogOptions, log_query
from steersman.client.sending import Sender, Wire
from steersman.client.targets import one, with_query
from steersman.client.watching import reported
from steersman.objects.resource_type import ResourceType

__all__ = ["InsidePods"]

_log = logging.getLogger(__name__)

PODS = ResourceType("", "v1", "Pod", "pods")

_ANYTHING = Wire(b"*/*")
_WRITE = Wire(content_type=b"application/json")


def _log_failure(error: ClientError) -> None:
    _log.warning("a forwarded connection failed: %s", error)


class InsidePods:
    """Operations on one pod, by its name and namespace (the client's own if None)."""

    def __init__(self, sender: Sender, namespace: str) -> None:
        self._sender = sender
        self.namespace = namespace

    async def logs(self, name: str, namespace: str | None = None, **options: Unpack[LogOptions]) -> str:
        """What a container has written."""
        path = one(PODS, name, namespace or self.namespace, "log")
        answer = await self._sender.send("GET", with_query(path, log_query(options, follow=False)), _ANYTHING)
        return answer.content.decode(errors="replace")

    @asynccontextmanager
    async def follow_logs(
        self, name: str, namespace: str | None = None, **options: Unpack[LogOptions]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """`async with client.follow_logs(pod) as lines:` what a container writes, until it ends."""
        path = one(PODS, name, namespace or self.namespace, "log")
        target = with_query(path, log_query(options, follow=True))
        async with self._sender.stream(target, _ANYTHING) as answer:
            yield reported(answer.lines())

    async def exec(
        self,
        name: str,
        command: Sequence[str],
        namespace: str | None = None,
        **options: Unpack[StreamOptions],
    ) -> Process:
        """Start a command: `async with await client.exec(pod, ["sh"], stdin=True) as shell:`"""
        path = one(PODS, name, namespace or self.namespace, "exec")
        target = with_query(path, stream_query(options, command))
        return Process(await self._sender.websocket(target, commands.PROTOCOLS))

    async def run(
        self,
        name: str,
        command: Sequence[str],
        namespace: str | None = None,
        *,
        container: str = "",
        stdin: bytes | None = None,
    ) -> Completed:
        """Run a command in a container to its end and keep what it writes."""
        wants_input = stdin is not None
        process = await self.exec(name, command, namespace, container=container, stdin=wants_input)
        return await collect(process, stdin)

    async def attach(
        self, name: str, namespace: str | None = None, **options: Unpack[StreamOptions]
    ) -> Process:
        """Be connected to what a container runs."""
        path = one(PODS, name, namespace or self.namespace, "attach")
        target = with_query(path, stream_query(options))
        return Process(await self._sender.websocket(target, commands.PROTOCOLS))

    async def port_forward(self, name: str, port: int, namespace: str | None = None) -> Tunnel:
        """Connect to a port of a pod: `async with await client.port_forward(pod, 80) as tunnel:`"""
        path = one(PODS, name, namespace or self.namespace, "portforward")
        target = with_query(path, {"ports": port})
        return await forwarding.open_tunnel(await self._sender.websocket(target, forwarding.PROTOCOLS), port)

    def listen(
        self,
        name: str,
        port: int,
        namespace: str | None = None,
        *,
        local_host: str = "127.0.0.1",
        local_port: int = 0,
        on_error: Callable[[ClientError], None] = _log_failure,
    ) -> AbstractAsyncContextManager[int]:
        """`async with client.listen(pod, 80) as local_port:` the pod's port on this machine."""
        return forwarding.listen(
            lambda: self.port_forward(name, port, namespace), local_host, local_port, on_error
        )

    async def evict(
        self, name: str, namespace: str | None = None, *, grace_s: int | None = None, dry_run: bool = False
    ) -> None:
        """Delete a pod unless a disruption budget forbids it, which is `TooManyRequests`."""
        namespace = namespace or self.namespace
        options: dict[str, Any] = {"dryRun": ["All"]} if dry_run else {}
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": options,
        }
        target = one(PODS, name, namespace, "eviction")
        await self._sender.send("POST", target, _WRITE, orjson.dumps(body))
