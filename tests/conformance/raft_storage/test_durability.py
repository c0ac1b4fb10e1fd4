"""What must survive a crash, and what is said of a folder that cannot be used."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from rocksdict import WriteBatch

from steersman.raft.core import Configuration, Entry, HardState, Snapshot, SnapshotMeta
from steersman.raft.errors import StorageError
from steersman.raft.storage import Identity, Write
from steersman.raft.storage.rocks import RocksStorage


def entries(first: int, last: int) -> list[Entry]:
    return [Entry(index, 1, data=b"%d" % index) for index in range(first, last + 1)]


def after_a_crash(folder: Path) -> Path:
    """What a killed process leaves: the files as they are while they are open."""
    left = folder.with_name(folder.name + "-left")
    shutil.copytree(folder, left)
    (left / "LOCK").unlink()
    return left


def journal(folder: Path) -> Path:
    """RocksDB's own log, which has what was written last."""
    return max((file for file in folder.glob("*.log") if file.stat().st_size), key=lambda file: file.name)


def test_everything_synced_is_there_after_a_crash(tmp_path):
    meta = SnapshotMeta(3, 1, Configuration(voters=frozenset({1, 2, 3})))
    storage = RocksStorage(tmp_path / "raft")
    storage.identify(Identity("cluster", "id", 7))
    storage.write(Write(entries=entries(1, 9), hard_state=HardState(4, 2, 5)))
    storage.save_snapshot(Snapshot(meta, b"state"))
    storage.compact(2)
    left = RocksStorage(after_a_crash(tmp_path / "raft"))
    storage.close()
    assert left.identity() == Identity("cluster", "id", 7)
    assert left.hard_state() == HardState(4, 2, 5)
    assert list(left.entries(3, 10, 1 << 20)) == entries(3, 9)
    assert (left.first_index(), left.last_index(), left.term(2)) == (3, 9, 1)
    assert (left.snapshot().meta, left.snapshot().read(0, 9)) == (meta, b"state")
    left.close()


@pytest.mark.parametrize(("sync", "calls"), [(True, ["write", "flush_wal"]), (False, ["write"])])
def test_a_sync_is_a_call_of_its_own_which_does_not_stop_other_threads(tmp_path, sync, calls):
    """Of the two, only `flush_wal` lets go of the interpreter's lock."""
    storage = RocksStorage(tmp_path / "raft")
    seen: list[str] = []

    class Watched:
        def write(self, batch: WriteBatch) -> None:
            seen.append("write")
            database.write(batch)

        def flush_wal(self, sync: bool) -> None:
            assert sync
            seen.append("flush_wal")
            database.flush_wal(sync)

    database, storage._db = storage._db, Watched()
    storage.write(Write(entries=entries(1, 2), sync=sync))
    assert seen == calls
    database.close()


@pytest.mark.parametrize("cut", [1, 7, 20])
def test_a_torn_tail_costs_only_the_write_it_belongs_to(tmp_path, cut):
    storage = RocksStorage(tmp_path / "raft")
    storage.write(Write(entries=entries(1, 5), hard_state=HardState(1, 1, 0)))
    whole = journal(tmp_path / "raft").stat().st_size
    storage.write(Write(entries=entries(6, 6), hard_state=HardState(9, 9, 9)))
    folder = after_a_crash(tmp_path / "raft")
    storage.close()
    torn = journal(folder)
    torn.write_bytes(torn.read_bytes()[: max(whole + 1, torn.stat().st_size - cut)])
    left = RocksStorage(folder)
    assert left.last_index() == 5
    assert left.hard_state() == HardState(1, 1, 0)
    left.close()


def test_damage_before_the_tail_is_refused(tmp_path):
    storage = RocksStorage(tmp_path / "raft")
    for index in range(1, 200):
        storage.write(Write(entries=[Entry(index, 1, data=bytes(500))]))
    folder = after_a_crash(tmp_path / "raft")
    storage.close()
    damaged = journal(folder)
    content = bytearray(damaged.read_bytes())
    content[2000] ^= 0xFF
    damaged.write_bytes(content)
    with pytest.raises(StorageError) as refusal:
        RocksStorage(folder)
    assert "\n" not in str(refusal.value)
    assert str(folder) in str(refusal.value)


def test_a_hole_in_the_log_is_refused(tmp_path):
    storage = RocksStorage(tmp_path / "raft")
    storage.write(Write(entries=entries(1, 2)))
    storage.write(Write(entries=entries(4, 5)))
    storage.close()
    with pytest.raises(StorageError, match="is damaged: entry 3 of the log is missing"):
        RocksStorage(tmp_path / "raft")


def test_a_folder_has_one_user(tmp_path):
    storage = RocksStorage(tmp_path / "raft")
    with pytest.raises(StorageError, match=r"cannot be used: .*lock"):
        RocksStorage(tmp_path / "raft")
    storage.close()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "raft").write_text("something else")
    with pytest.raises(StorageError, match="cannot be used"):
        RocksStorage(tmp_path / "raft")
