"""Several Readys in one write must leave what one after the other would."""

from __future__ import annotations

import pytest

from steersman.raft.core import Entry, HardState, Ready, Snapshot, SnapshotMeta
from steersman.raft.storage import MemoryStorage, Write, join


def ready(
    *indices: int, term: int = 1, snapshot: int = 0, commit: int | None = None, sync: bool = True
) -> Ready:
    return Ready(
        number=1,
        hard_state=None if commit is None else HardState(term, 0, commit),
        snapshot=Snapshot(SnapshotMeta(snapshot, term), b"state") if snapshot else None,
        entries=[Entry(index, term) for index in indices],
        must_sync=sync,
        messages=(),
        messages_after_persist=(),
        committed=(),
        reads=(),
    )


def contents(storage: MemoryStorage) -> object:
    first, last = storage.first_index(), storage.last_index()
    return storage.hard_state(), first, storage.entries(first, last + 1, 1 << 20), storage.snapshot()


@pytest.mark.parametrize(
    "readys",
    [
        pytest.param([ready(4, 5), ready(6)], id="goes on"),
        pytest.param([ready(4, 5, 6), ready(5, term=2)], id="cuts the one before"),
        pytest.param([ready(4, 5, 6), ready(3, term=2), ready(4, term=2)], id="cuts deeper"),
        pytest.param([ready(4, 5), ready(snapshot=9), ready(10, term=2)], id="a snapshot between"),
        pytest.param([ready(4, commit=1), ready(commit=2), ready(5)], id="hard states"),
        pytest.param([ready(), ready(sync=False)], id="nothing"),
    ],
)
def test_joined_is_the_same_as_one_after_the_other(readys):
    joined, single = MemoryStorage(), MemoryStorage()
    for storage in (joined, single):
        storage.write(Write(entries=[Entry(index, 1) for index in (1, 2, 3)]))
    for one in readys:
        single.write(join([one]))
    joined.write(join(readys))
    assert contents(joined) == contents(single)


def test_one_that_must_be_durable_makes_all_durable():
    assert join([ready(sync=False), ready(1), ready(sync=False)]).sync
    assert not join([ready(sync=False, commit=3)]).sync
