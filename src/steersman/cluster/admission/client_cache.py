"""A least-recently-used cache of HTTP clients, one for each server that is called.

Used for webhooks, aggregated API servers and nodes: users decide how many servers there are, the cache how
many stay connected.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from steersman.aio import Scope
from steersman.http import Client

__all__ = ["ClientCache"]

K = TypeVar("K", bound=Hashable)


class ClientCache(Generic[K]):
    def __init__(self, connect: Callable[[K], Client], most: int) -> None:
        self._connect = connect
        self._most = most
        self._clients: OrderedDict[K, Client] = OrderedDict()
        self._closing = Scope()

    def to(self, place: K) -> Client:
        """The client of a place, made if there is none. Raises what making it raises."""
        client = self._clients.get(place)
        if client is None:
            client = self._clients[place] = self._connect(place)
            if len(self._clients) > self._most:
                self._closing.start(self._clients.popitem(last=False)[1].close())
        else:
            self._clients.move_to_end(place)
        return client

    async def close(self) -> None:
        clients = list(self._clients.values())
        self._clients.clear()
        for client in clients:
            await client.close()
        await self._closing.join()
        await self._closing.close()
