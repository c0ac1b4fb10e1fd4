"""How a promise of the public Kubernetes conformance suite becomes a test here.

Every test does what the public test of the same name does: the same requests, the same assertions, against a
cluster in this process. Where the public one needs controllers or nodes, the test plays their part.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from tests.support import waiting
from tests.support.api import PATIENCE_S, ApiClient, Events, api

__all__ = [
    "KEPT",
    "NAMESPACE",
    "Collection",
    "Object",
    "bare_api",
    "keep",
    "newer",
    "promise",
    "promised",
    "until",
]

Object = dict[str, Any]
Keeping = Callable[[ApiClient], Awaitable[None]]

#: Where a test's objects live; it exists when the test begins.
NAMESPACE = "e2e"
#: The promises that have a test, by name without the tags in brackets.
KEPT: set[str] = set()
_PATCHES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


def promised(name: str) -> str:
    """Note that a test keeps a promise; for cases of a table."""
    assert name not in KEPT, f"{name!r} has a test already"
    KEPT.add(name)
    return name


def promise(name: str) -> Callable[[Keeping], Callable[[], None]]:
    """Make a test of an async function that keeps the promise."""
    promised(name)

    def decorate(test: Keeping) -> Callable[[], None]:
        def run() -> None:
            keep(test)

        run.__name__, run.__doc__ = test.__name__, f"{name}."
        return run

    return decorate


@asynccontextmanager
async def bare_api(**labels: str) -> AsyncIterator[ApiClient]:
    """An API without controllers, whose part the tests play, and with their namespace."""
    async with asyncio.timeout(PATIENCE_S * 3), api(controllers=()) as client:
        metadata = {"name": NAMESPACE, "labels": labels}
        await client.ok("POST", "/api/v1/namespaces", {"metadata": metadata})
        yield client


def keep(test: Keeping) -> None:
    async def body() -> None:
        async with bare_api() as client:
            await test(client)

    asyncio.run(body())


def newer(after: Object, before: Object) -> bool:
    """Whether an object was written later, by its resource version: a number in 128 bits, never zero."""
    versions = [int(obj["metadata"]["resourceVersion"]) for obj in (before, after)]
    assert all(0 < version < 2**128 for version in versions)
    return versions[1] > versions[0]


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Ask until it holds, as the public suite does; there is a deadline."""
    await waiting.until(holds, PATIENCE_S)


@dataclass(frozen=True, slots=True)
class Collection:
    """The objects of one resource, with the verbs of a typed client."""

    client: ApiClient
    #: Group and version, as in `apiVersion`.
    version: str
    plural: str
    namespace: str = ""

    @property
    def path(self) -> str:
        root = f"/apis/{self.version}" if "/" in self.version else f"/api/{self.version}"
        within = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"{root}{within}/{self.plural}"

    @property
    def everywhere(self) -> Collection:
        return Collection(self.client, self.version, self.plural)

    def of(self, name: str, part: str = "", **query: Any) -> str:
        whole = f"{self.path}/{name}" + (f"/{part}" if part else "")
        return f"{whole}?{urlencode(query)}" if query else whole

    def many(self, labels: str = "", **query: Any) -> str:
        asked = ({"labelSelector": labels} if labels else {}) | query
        return f"{self.path}?{urlencode(asked)}" if asked else self.path

    async def create(self, obj: Object, **query: Any) -> Object:
        return await self.client.ok("POST", self.many(**query), obj)

    async def refused(self, obj: Object, code: int, **query: Any) -> Object:
        """The Status that a creation is refused with."""
        got, status = await self.client.ask("POST", self.many(**query), obj)
        assert got == code, status
        return status

    async def get(self, name: str, part: str = "") -> Object:
        return await self.client.ok("GET", self.of(name, part))

    async def gone(self, name: str) -> bool:
        code, _ = await self.client.ask("GET", self.of(name))
        return code == 404

    async def list(self, labels: str = "", **query: Any) -> list[Object]:
        found: list[Object] = (await self.client.ok("GET", self.many(labels, **query)))["items"]
        return found

    async def names(self, labels: str = "", **query: Any) -> list[str]:
        return [item["metadata"]["name"] for item in await self.list(labels, **query)]

    def watch(self, labels: str = "", **query: Any) -> AbstractAsyncContextManager[Events]:
        return self.client.watch(self.many(labels, watch="true", **query))

    async def patch(self, name: str, body: Any, kind: str = "merge", part: str = "", **query: Any) -> Object:
        kinds = {"content-type": _PATCHES[kind]}
        return await self.client.ok("PATCH", self.of(name, part, **query), body, kinds)

    async def replace(self, obj: Object, part: str = "") -> Object:
        return await self.client.ok("PUT", self.of(obj["metadata"]["name"], part), obj)

    async def change(self, name: str, change: Callable[[Object], Object], part: str = "") -> Object:
        """Read, change and replace, again when somebody else was faster."""
        while True:
            wanted = change(await self.get(name, part))
            code, answer = await self.client.ask("PUT", self.of(name, part), wanted)
            if code != 409:
                assert code == 200, answer
                return answer

    async def delete(self, name: str, options: Object | None = None) -> Object:
        return await self.client.ok("DELETE", self.of(name), options)

    async def delete_all(self, labels: str = "", **query: Any) -> Object:
        return await self.client.ok("DELETE", self.many(labels, **query))
