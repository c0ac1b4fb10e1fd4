"""Disks that fill up, break, or lie: real ones where the machine lets us have them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from steersman.cluster.store import DiskFull, SqliteStore
from steersman.cluster.store.sqlite import EXIT_SYNC_FAILED

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("disk_program.py")
CANNOT = 42


def program(*arguments):
    return subprocess.run(
        [sys.executable, str(PROGRAM), *map(str, arguments)], capture_output=True, text=True, timeout=60
    )


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a small disk needs root")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


async def write_without_end(store):
    while True:
        await store.put(f"/a/b/{store.revision}", b"v" * 10_000)


def test_a_full_disk_refuses_writes_until_there_is_space(small_disk):
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 1_500_000)
    folder = small_disk / "data"

    async def fill():
        store = await SqliteStore.open(folder)
        events = []
        store.watch("", 0, events.extend)
        with pytest.raises(DiskFull, match="no space left on the disk of"):
            await write_without_end(store)
        full = store.revision
        assert full > 50
        outcomes = await asyncio.gather(
            *(store.put(f"/more/{n}/x", b"v" * 5000) for n in range(100)), return_exceptions=True
        )
        assert any(isinstance(outcome, DiskFull) for outcome in outcomes)
        done = [outcome for outcome in outcomes if not isinstance(outcome, Exception)]
        assert store.revision == full + len(done) == len(events) == store.count("")
        await store.close()
        return store

    async def reopen(before):
        store = await SqliteStore.open(folder)
        assert store.range("") == before.range("")
        with pytest.raises(DiskFull):
            await write_without_end(store)
        ballast.unlink()
        await store.put("/space/again/x", b"v")
        await store.close()
        return store

    async def look(before):
        store = await SqliteStore.open(folder)
        assert store.range("") == before.range("")
        await store.close()

    asyncio.run(look(asyncio.run(reopen(asyncio.run(fill())))))


def test_a_write_the_disk_refuses_is_refused_and_the_store_goes_on(tmp_path):
    done = program("size", tmp_path / "data")
    assert done.returncode == 0, done.stderr
    written, _, refused = done.stdout.partition(" ")
    assert "could not be written: disk I/O error" in refused

    async def look():
        store = await SqliteStore.open(tmp_path / "data")
        assert store.count("/a/b/") == store.revision == int(written)
        await store.close()

    asyncio.run(look())


def test_a_failed_fsync_ends_the_process_with_one_line(tmp_path):
    done = program("sync", tmp_path / "data")
    if done.returncode == CANNOT:
        pytest.skip("this machine lets nobody filter system calls")
    assert done.returncode == EXIT_SYNC_FAILED, done.stderr
    assert done.stdout == "acknowledged 1\n"
    assert done.stderr.count("\n") == 1
    assert "store.db could not be made durable: disk I/O error; stopping" in done.stderr

    async def look():
        store = await SqliteStore.open(tmp_path / "data")
        assert store.get("before").value == b"1"
        await store.close()

    asyncio.run(look())
