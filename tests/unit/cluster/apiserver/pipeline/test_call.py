"""What every new object gets, and what admission sees of the stored ones."""

from __future__ import annotations

import asyncio
import gc
import uuid
from collections.abc import Sequence

from steersman.cluster.apiserver.pipeline.call import StoreReader
from steersman.cluster.apiserver.resources.resource import Catalog
from steersman.cluster.apiserver.resources.storage_encoding import encode, stamp
from steersman.cluster.apiserver.resources.system_fields import new_uid
from steersman.cluster.schema.resources import all_resources
from steersman.cluster.store import MemoryStore, Range


def test_uids_are_random_uuids_in_their_usual_spelling() -> None:
    made = [new_uid() for _ in range(500)]
    assert len(set(made)) == len(made)
    for text in made:
        parsed = uuid.UUID(text)
        assert (parsed.version, parsed.variant, str(parsed)) == (4, uuid.RFC_4122, text)
    # Every digit that is not fixed takes every value.
    for position in set(range(36)) - {8, 13, 14, 18, 19, 23}:
        assert len({text[position] for text in made}) == 16


class CountingStore(MemoryStore):
    """Knows how often it was asked."""

    def __init__(self) -> None:
        super().__init__(stamp=stamp)
        self.asked = 0

    def range(self, prefix: str, *, after: str = "", limit: int = 0, revision: int = 0) -> Range:
        self.asked += 1
        return super().range(prefix, after=after, limit=limit, revision=revision)

    async def add_quota(self, namespace: str, name: str) -> None:
        quota = {"metadata": {"name": name, "namespace": namespace}}
        await self.put(f"/core/resourcequotas/{namespace}/{name}", encode(quota))


def quotas(reader: StoreReader, namespace: str) -> Sequence[str]:
    return [quota["metadata"]["name"] for quota in reader.list("", "resourcequotas", namespace)]


def test_what_a_namespace_has_none_of_is_looked_up_again_only_after_a_write() -> None:
    async def main() -> None:
        store = CountingStore()
        reader = StoreReader(store, Catalog(all_resources()))
        for _ in range(3):
            assert quotas(reader, "a") == quotas(reader, "b") == []
        assert store.asked == 2
        await store.put("/core/configmaps/a/other", encode({"metadata": {}}))
        assert quotas(reader, "a") == []
        assert store.asked == 2
        await store.add_quota("a", "one")
        assert (quotas(reader, "a"), quotas(reader, "b")) == (["one"], [])
        await store.add_quota("b", "two")
        assert (quotas(reader, "a"), quotas(reader, "b")) == (["one"], ["two"])
        await store.delete("/core/resourcequotas/a/one")
        assert (quotas(reader, "a"), quotas(reader, "b")) == ([], ["two"])
        await store.close()

    asyncio.run(main())


def test_a_reader_that_is_gone_is_told_nothing_more() -> None:
    async def main() -> None:
        store = CountingStore()
        told = store._index._watchers
        reader = StoreReader(store, Catalog(all_resources()))
        assert quotas(reader, "a") == []
        assert told._by_table
        del reader
        gc.collect()
        assert not told._by_table
        await store.close()

    asyncio.run(main())
