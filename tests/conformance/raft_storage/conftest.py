"""The storages under test. A new one adds a line to STORAGES."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from steersman.raft.storage import MemoryStorage, Storage
from steersman.raft.storage.rocks import RocksStorage

Open = Callable[[], Storage]

STORAGES: dict[str, Callable[[Path], Storage]] = {
    "memory": lambda _: MemoryStorage(),
    "rocksdb": RocksStorage,
}


@pytest.fixture(params=STORAGES)
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    opened = STORAGES[request.param](tmp_path / "raft")
    yield opened
    opened.close()
