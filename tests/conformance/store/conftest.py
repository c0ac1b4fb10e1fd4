"""The engines under test. A new one adds a line to ENGINES."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from steersman.cluster.store import MemoryStore, SqliteStore, Store

#: Opens one store, in a folder of its own.
Engine = Callable[..., AbstractAsyncContextManager[Store]]


async def open_memory(folder: Path, **options: Any) -> Store:
    return MemoryStore(**options)


async def open_sqlite(folder: Path, **options: Any) -> Store:
    return await SqliteStore.open(folder, **options)


ENGINES = {"memory": open_memory, "sqlite": open_sqlite}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    @asynccontextmanager
    async def opened(**options: Any) -> AsyncIterator[Store]:
        store = await ENGINES[request.param](tmp_path_factory.mktemp("store"), **options)
        try:
            yield store
        finally:
            await store.close()

    return opened


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run `async def` tests, each on a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
