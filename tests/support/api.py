"""A cluster in the test's own process and a small client for it: `async with api() as client: …`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import orjson

from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.http import Client, ClientResponse, client_tls

Object = dict[str, Any]

#: Long enough for a busy machine, short enough to notice a hang.
PATIENCE_S = 20.0


class ApiClient:
    """JSON requests to a cluster. Paths are given whole; answers are (code, body)."""

    def __init__(self, cluster: LocalCluster, http: Client) -> None:
        self.cluster = cluster
        self.http = http

    async def raw(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> ClientResponse:
        content = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        given = {"user-agent": "test/1", **(headers or {})}
        if body is not None:
            given.setdefault("content-type", "application/json")
        encoded = [(name.encode(), value.encode()) for name, value in given.items()]
        return await self.http.request(method, path, headers=encoded, content=content)

    async def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Object]:
        answer = await self.raw(method, path, body, headers)
        if answer.status == 404 and answer.headers.get("content-type") != "application/json":
            return answer.status, {"message": answer.content.decode()}
        return answer.status, orjson.loads(answer.content)

    async def ok(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Object:
        """The body of an answer that must be a success."""
        code, answer = await self.ask(method, path, body, headers)
        assert code < 300, answer
        return answer

    async def patch(self, path: str, body: Any, kind: str = "merge") -> tuple[int, Object]:
        return await self.ask("PATCH", path, body, {"content-type": f"application/{kind}-patch+json"})

    @asynccontextmanager
    async def watch(self, path: str) -> AsyncIterator[Events]:
        async with self.http.stream("GET", path) as response:
            assert response.status == 200, await anext(response.chunks())
            yield Events(response.lines())


class Events:
    """The events of a watch, one by one."""

    def __init__(self, lines: AsyncIterator[bytes]) -> None:
        self._lines = lines

    async def next(self) -> Object:
        async with asyncio.timeout(PATIENCE_S):
            return orjson.loads(await anext(self._lines))

    async def take(self, count: int) -> list[tuple[str, str]]:
        """(type, name) of the next events."""
        events = [await self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]

    async def rest(self) -> list[Object]:
        """Everything until the server ends the stream."""
        async with asyncio.timeout(PATIENCE_S):
            return [orjson.loads(line) async for line in self._lines]


@asynccontextmanager
async def api(**config: Any) -> AsyncIterator[ApiClient]:
    async with LocalCluster(ClusterConfig(**config)) as cluster:
        token = [(b"authorization", f"Bearer {cluster.token}".encode())]
        async with Client(cluster.url, ssl=client_tls(ca=cluster.authority.pem), headers=token) as http:
            yield ApiClient(cluster, http)


def with_api(test: Callable[[ApiClient], Awaitable[None]]) -> Callable[[], None]:
    """Make a test of an async function that takes a client."""

    def run() -> None:
        async def body() -> None:
            async with api() as client:
                await test(client)

        asyncio.run(body())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def config_map(name: str, labels: dict[str, str] | None = None, **data: str) -> Object:
    metadata: Object = {"name": name, **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
