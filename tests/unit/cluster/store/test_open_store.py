from __future__ import annotations

import asyncio
import pickle
from copy import copy

import pytest

import steersman.cluster.store as package
from steersman.cluster.store import MemoryStore, Record, SqliteStore, Unusable, errors, open_store


@pytest.mark.parametrize(
    ("location", "engine"),
    [
        (":memory:", MemoryStore),
        ("memory://", MemoryStore),
        ("{}/data", SqliteStore),
        ("sqlite://{}/data", SqliteStore),
    ],
)
def test_the_engine_is_chosen_by_location(tmp_path, location, engine):
    async def run():
        store = await open_store(location.format(tmp_path))
        assert type(store) is engine
        await store.put("k", b"v")
        await store.close()

    asyncio.run(run())


def test_a_path_object_is_a_folder(tmp_path):
    async def run():
        store = await open_store(tmp_path)
        assert type(store) is SqliteStore
        await store.close()

    asyncio.run(run())


def test_an_unknown_scheme_is_refused_by_name():
    with pytest.raises(Unusable, match="there is no engine ftp, only memory, sqlite"):
        asyncio.run(open_store("ftp://somewhere"))


def test_everything_public_is_there():
    assert all(hasattr(package, name) for name in package.__all__)
    assert set(errors.__all__) <= set(package.__all__)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (errors.Conflict("k", None), "k does not exist"),
        (errors.Conflict("k", Record("k", b"", 3, 1)), "k is at revision 3"),
        (errors.NotFound("k"), "k does not exist"),
        (errors.Compacted(1, 2), "revision 1 has been compacted, the oldest kept is 2"),
        (errors.FutureRevision(2, 1), "revision 2 is in the future, the newest is 1"),
        (errors.DiskFull("no space left"), "no space left"),
        (errors.Closed(), "the store is closed"),
        (errors.Corrupt("f", "torn"), "f is corrupt: torn"),
        (errors.Unusable("f", "gone"), "f cannot be used: gone"),
        (errors.SyncFailed("f", "disk I/O error"), "f could not be made durable: disk I/O error"),
        (errors.Locked("f", 7), "f is in use by process 7"),
        (errors.Locked("f", None), "f is in use by another process"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_are_sentences_that_survive_copying(error, text):
    for same in (error, copy(error), pickle.loads(pickle.dumps(error))):
        assert str(same) == text
        assert vars(same) == vars(error)
