"""A served API and a client for it: `async with serving(tenant) as (api, client): …`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson

from steersman.highlander.api import Access, Api
from steersman.http import Client
from tests.support.highlander import PretendedTenant, pretended_logs

TOKEN = "opensesame"
AUTHORIZED = ((b"Authorization", b"Bearer " + TOKEN.encode()),)


@asynccontextmanager
async def serving(
    *tenants: PretendedTenant, access: Access | None = None
) -> AsyncIterator[tuple[Api, Client]]:
    api = Api(access=access or Access(environment={"HIGHLANDER_API_TOKEN": TOKEN}))
    for tenant in tenants:
        api.add(tenant, pretended_logs)
    await api.start("127.0.0.1", 0)
    try:
        async with Client(f"http://127.0.0.1:{api.port}") as client:
            yield api, client
    finally:
        await api.close()


async def data_of(client: Client, path: str) -> Any:
    """What a successful answer has for data."""
    answer = await client.request("GET", path)
    body = orjson.loads(answer.content)
    assert (answer.status, body["status"]) == (200, "success"), body
    return body["data"]


async def error_of(client: Client, method: str, path: str, headers: Any = ()) -> tuple[int, str]:
    answer = await client.request(method, path, headers=headers)
    body = orjson.loads(answer.content)
    assert body["status"] == "error", body
    return answer.status, body["error"]
