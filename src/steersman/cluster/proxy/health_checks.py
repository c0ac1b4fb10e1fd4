"""The healthCheckNodePort of Services: tells load balancers whether this machine has local endpoints, as
kube-proxy does.

Only Services of type LoadBalancer with externalTrafficPolicy Local have one.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection
from dataclasses import dataclass

from steersman.http import Request, Response, Server
from steersman.runtime import Key

__all__ = ["HealthChecks"]

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Check:
    """The health check server of one Service."""

    port: int
    server: Server
    endpoints: int


class HealthChecks:
    """The health check servers of all Services."""

    def __init__(self, addresses: Collection[str]) -> None:
        self._addresses = addresses
        self._checks: dict[Key, _Check] = {}

    async def keep(self, key: Key, port: int, endpoints: int) -> None:
        """Answer for a service at a port; 0 for not at all."""
        check = self._checks.get(key)
        if check is not None and check.port != port:
            del self._checks[key]
            await check.server.close()
            check = None
        if check is not None:
            check.endpoints = endpoints
        elif port:
            await self._open(key, port, endpoints)

    async def close(self) -> None:
        while self._checks:
            await self._checks.popitem()[1].server.close()

    async def _open(self, key: Key, port: int, endpoints: int) -> None:
        async def answer(request: Request) -> Response:
            return _answer(key, check.endpoints)

        check = _Check(port, Server(answer), endpoints)
        try:
            for address in self._addresses:
                await check.server.start(address, port)
        except OSError as error:
            _log.warning("no health check for %s at port %d: %s", key, port, error)
            await check.server.close()
            return
        self._checks[key] = check


def _answer(key: Key, endpoints: int) -> Response:
    body = {
        "service": {"namespace": key.namespace, "name": key.name},
        "localEndpoints": endpoints,
        "serviceProxyHealthy": True,
    }
    headers = (
        (b"Content-Type", b"application/json"),
        (b"X-Content-Type-Options", b"nosniff"),
        (b"X-Load-Balancing-Endpoint-Weight", str(endpoints).encode()),
    )
    return Response(200 if endpoints else 503, json.dumps(body, indent="\t").encode(), headers)
