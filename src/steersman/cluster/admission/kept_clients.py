"""HTTP clients kept for the places they connect to, the least recently used given up first.

Used for webhooks and for aggregated API servers: how many places there are is for users to say, how many stay
connected is not.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from steersman.http import Client

__all__ = ["KeptClients"]

K = TypeVar("K", bound=Hashable)


class KeptClients(Generic[K]):
    def __init__(self, connect: Callable[[K], Client], most: int) -> None:
        self._connect = connect
        self._most = most
        self._clients: OrderedDict[K, Client] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()

    def to(self, place: K) -> Client:
        """The client of a place, made if there is none. Raises what making it raises."""
        client = self._clients.get(place)
        if client is None:
            client = self._clients[place] = self._connect(place)
            if len(self._clients) > self._most:
                self._close_later(self._clients.popitem(last=False)[1])
        else:
            self._clients.move_to_end(place)
        return client

    def _close_later(self, client: Client) -> None:
        task = asyncio.get_running_loop().create_task(client.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        clients = list(self._clients.values())
        self._clients.clear()
        for client in clients:
            await client.close()
        if self._closing:
            await asyncio.gather(*self._closing)
