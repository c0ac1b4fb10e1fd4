"""The gRPC probe: grpc.health.v1.Health/Check. Needs `grpcio`, which comes with the extra `raft`."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from steersman.cluster.node.probing.outcome import ProbeOutcome, failure, success
from steersman.cluster.node.restarts import go_duration
from steersman.cluster.schema.version import KUBERNETES_MINOR
from steersman.objects.fields import quote
from steersman.objects.kinds.types.core_v1 import GRPCAction

__all__ = ["grpc_probe"]

_METHOD: Final = "/grpc.health.v1.Health/Check"
_STATUSES: Final = ("UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN")
_SERVING: Final = 1


async def grpc_probe(action: GRPCAction, ip: str, timeout_s: float) -> ProbeOutcome:
    try:
        import grpc  # type: ignore[import-untyped]
        from grpc import aio
    except ImportError:
        return failure("this node cannot probe by grpc: the Python package grpcio is not installed")
    address = f"[{ip}]:{action['port']}" if ":" in ip else f"{ip}:{action['port']}"
    options = [("grpc.primary_user_agent", f"kube-probe/{KUBERNETES_MINOR}"), ("grpc.enable_http_proxy", 0)]
    limit = go_duration(timeout_s)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    async with aio.insecure_channel(address, options=options) as channel:
        try:
            async with asyncio.timeout_at(deadline):
                await channel.channel_ready()
        except TimeoutError:
            return failure(
                f"timeout: failed to connect service {quote(address)} within {limit}: "
                "context deadline exceeded"
            )
        check = channel.unary_unary(_METHOD, request_serializer=_request, response_deserializer=_status)
        try:
            status = await check(action.get("service") or "", timeout=max(deadline - loop.time(), 0.001))
        except aio.AioRpcError as error:
            return failure(_problem(error, grpc.StatusCode, limit))
    if status != _SERVING:
        name = _STATUSES[status] if status < len(_STATUSES) else str(status)
        return failure(f"service unhealthy (responded with {quote(name)})")
    return success("service healthy")


def _problem(error: Any, codes: Any, limit: str) -> str:
    code, details = error.code(), error.details()
    if code is codes.UNIMPLEMENTED:
        return (
            "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): "
            f"{details}"
        )
    if code is codes.DEADLINE_EXCEEDED:
        return f"timeout: health rpc did not complete within {limit}"
    name = "".join(part.capitalize() for part in code.name.split("_"))
    return f"error: health rpc probe failed: rpc error: code = {name} desc = {details}"


def _request(service: str) -> bytes:
    """HealthCheckRequest: the service's name is its first field."""
    name = service.encode()
    if not name:
        return b""
    size, length = len(name), b""
    while size > 0x7F:
        length += bytes((size & 0x7F | 0x80,))
        size >>= 7
    return b"\x0a" + length + bytes((size,)) + name


def _status(response: bytes) -> int:
    """HealthCheckResponse: the status is its first field, and left out when it is 0."""
    return response[1] if response[:1] == b"\x08" and len(response) > 1 else 0
