"""The TCP probe: whether a port accepts connections."""

from __future__ import annotations

import asyncio

from steersman.cluster.node.probing.http_get import dialling
from steersman.cluster.node.probing.outcome import ProbeOutcome, failure, port_number, success
from steersman.objects.kinds.types.core_v1 import Container, TCPSocketAction

__all__ = ["tcp_probe"]


async def tcp_probe(action: TCPSocketAction, container: Container, ip: str, timeout_s: float) -> ProbeOutcome:
    port = port_number(container, action["port"])
    host = action.get("host") or ip
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(timeout_s):
            transport, _ = await loop.create_connection(asyncio.Protocol, host, port)
    except TimeoutError:
        return failure(f"dial tcp {where}: i/o timeout")
    except OSError as error:
        return failure(dialling(where, error))
    transport.abort()
    return success()
