"""Upgrading a request to SPDY (in HTTP or WebSocket), and the idle timeout of streams."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from steersman.http import Request, RequestRefused, Upgraded

__all__ = ["IDLE_TIMEOUT_S", "STREAMS_TIMEOUT_S", "Idle", "upgrade_to_spdy", "wants_websocket"]

IDLE_TIMEOUT_S: Final = 4 * 3600.0
#: How long a client gets to open the streams it wants.
STREAMS_TIMEOUT_S: Final = 30.0

_VERSION_HEADER: Final = "X-Stream-Protocol-Version"
_SPDY: Final = "SPDY/3.1"


def wants_websocket(request: Request) -> bool:
    return request.upgradable and "websocket" in request.headers.tokens("upgrade")


def upgrade_to_spdy(request: Request, known: Sequence[str]) -> tuple[str, Upgraded]:
    """The stream protocol that is spoken, the first that the client asks for, and the connection."""
    if not request.upgradable or _SPDY.lower() not in request.headers.tokens("upgrade"):
        raise RequestRefused(400, "unable to upgrade: missing upgrade headers in request")
    values = request.headers.get_all(_VERSION_HEADER)
    if not values:
        count = len(request.headers)
        raise RequestRefused(
            400,
            f"unable to upgrade: header {_VERSION_HEADER} does not exist in request with {count} headers",
        )
    asked = [name for value in values for part in value.split(",") if (name := part.strip())]
    for protocol in asked:
        if protocol in known:
            return protocol, request.upgrade(
                (
                    (b"Connection", b"Upgrade"),
                    (b"Upgrade", _SPDY.encode()),
                    (_VERSION_HEADER.encode(), protocol.encode()),
                )
            )
    raise RequestRefused(
        403,
        "unable to upgrade: unable to negotiate protocol: "
        f"client supports [{' '.join(asked)}], server accepts [{' '.join(known)}]",
        tuple((b"X-Accepted-Stream-Protocol-Versions", name.encode()) for name in known),
    )


class Idle:
    """Detects that no data has passed for a long time."""

    __slots__ = ("_limit_s", "_loop", "_touched")

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._loop = asyncio.get_running_loop()
        self.touch()

    def touch(self) -> None:
        self._touched = self._loop.time()

    async def expire(self) -> None:
        left_s = self._limit_s
        while left_s > 0:
            await asyncio.sleep(left_s)
            left_s = self._touched + self._limit_s - self._loop.time()
