"""Clients are kept for the servers that are called, the least recently used given up first."""

from __future__ import annotations

import asyncio

from steersman.http import Client
from steersman.http.client.cache import ClientCache


def test_clients_are_kept_up_to_a_number_of_places() -> None:
    made: list[str] = []

    def connect(place: str) -> Client:
        made.append(place)
        return Client(f"http://{place}")

    async def run() -> None:
        clients = ClientCache(connect, most=2)
        first = clients.to("a")
        clients.to("b")
        assert clients.to("a") is first
        clients.to("c")
        assert clients.to("a") is first
        clients.to("b")
        await clients.close()

    asyncio.run(run())
    assert made == ["a", "b", "c", "b"]
