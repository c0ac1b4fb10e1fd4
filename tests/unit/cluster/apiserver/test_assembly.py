"""API servers made from a store, keys and options: without a folder, and several over one store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson

from steersman.aio import SystemClock
from steersman.cluster.apiserver.assembly import AssembledServer, Keys, ServerOptions
from steersman.cluster.apiserver.resources.storage_encoding import stamp
from steersman.cluster.auth.jwt import SigningKey
from steersman.cluster.auth.pki import StoredAuthority
from steersman.cluster.auth.users import AUTHENTICATED_GROUP, MASTERS_GROUP, User
from steersman.cluster.in_process import InProcess
from steersman.cluster.store import Store, open_store
from steersman.http import Client, ClientResponse

MAPS = "/api/v1/namespaces/default/configmaps"
TOKEN = "token-of-the-admin"


def no_socket() -> Client:
    raise AssertionError("these requests need no connection")


def keys() -> Keys:
    return Keys(StoredAuthority.make(), SigningKey.make(), StoredAuthority.make)


class Api:
    """Requests of an admin to one server."""

    def __init__(self, server: AssembledServer) -> None:
        self.server = server
        fields = ((b"Authorization", f"Bearer {TOKEN}".encode()), (b"Content-Type", b"application/json"))
        handler = server.handler
        self.transport = InProcess(handler.handle, handler.answer_error, no_socket, fields)

    async def ask(self, method: str, path: str, body: Any = None) -> ClientResponse:
        content = b"" if body is None else orjson.dumps(body)
        return await self.transport.request(method, path, content=content)


@asynccontextmanager
async def served(store: Store, of: Keys) -> AsyncIterator[Api]:
    admin = User("admin", "uid", (MASTERS_GROUP, AUTHENTICATED_GROUP))
    errors: list[BaseException] = []
    server = AssembledServer(
        store, of, ServerOptions("10.96.0.0/16", {TOKEN: admin}), SystemClock(), errors.append
    )
    server.open()
    api = Api(server)
    try:
        yield api
        assert not errors
    finally:
        await api.transport.close()
        server.refuse_waiting()
        await server.close()


def test_it_is_ready_once_its_objects_exist() -> None:
    async def run() -> None:
        store = await open_store(":memory:", stamp=stamp)
        async with served(store, keys()) as api:
            assert (await api.ask("GET", "/livez")).status == 200
            assert (await api.ask("GET", "/readyz")).status == 500
            await api.server.start("https://127.0.0.1:6443", "127.0.0.1", 6443)
            assert (await api.ask("GET", "/readyz")).status == 200
            assert (await api.ask("GET", "/api/v1/namespaces/kube-system")).status == 200
        assert store.revision
        await store.close()

    asyncio.run(run())


def test_two_servers_over_one_store_show_each_others_writes() -> None:
    async def run() -> None:
        store, shared = await open_store(":memory:", stamp=stamp), keys()
        async with served(store, shared) as one, served(store, shared) as other:
            await one.server.start("https://127.0.0.1:6443", "127.0.0.1", 6443)
            await other.server.start("https://127.0.0.1:6444", "127.0.0.1", 6444)
            written = await one.ask("POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
            assert written.status == 201
            read = await other.ask("GET", f"{MAPS}/a")
            assert orjson.loads(read.content) == orjson.loads(written.content)
        await store.close()

    asyncio.run(run())
