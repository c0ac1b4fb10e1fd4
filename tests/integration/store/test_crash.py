"""kill -9 at random points under load: what was acknowledged is there, and nothing is half there."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import random
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from steersman.cluster.store import SqliteStore

pytestmark = pytest.mark.slow

KILLS = 220
WRITERS = 6
PROGRAM = Path(__file__).with_name("crash_writer.py")

_spec = importlib.util.spec_from_file_location("crash_writer", PROGRAM)
crash_writer = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(crash_writer)


class Nursery:
    """Forks writers and kills them."""

    def __enter__(self):
        self.control, theirs = socket.socketpair()
        arguments = [sys.executable, str(PROGRAM), str(theirs.fileno())]
        self.process = subprocess.Popen(arguments, pass_fds=[theirs.fileno()])
        theirs.close()
        return self

    def __exit__(self, *_):
        self.control.close()
        self.process.wait(10)

    def write_and_kill(self, folder, starts, started_s, after_first_s):
        """The acknowledgements of a writer that is killed so long after its start, or after its first."""
        reading, writing = os.pipe()
        socket.send_fds(self.control, [json.dumps([str(folder), starts]).encode()], [writing])
        os.close(writing)
        child = int(self.control.recv(32))
        data, deadline = b"", time.monotonic() + started_s
        while (left := deadline - time.monotonic()) > 0:
            if select.select([reading], [], [], left)[0]:
                chunk = os.read(reading, 65536)
                assert chunk, "the writer ended by itself"
                if not data:
                    deadline = time.monotonic() + after_first_s
                data += chunk
        os.kill(child, signal.SIGKILL)
        assert self.control.recv(4) == b"gone"
        while chunk := os.read(reading, 65536):
            data += chunk
        os.close(reading)
        return [tuple(map(int, line.split())) for line in data.splitlines()]


class Witness:
    """What must be there, from the acknowledgements alone."""

    def __init__(self):
        #: The first step of each writer that was not acknowledged: it may have been done all the same.
        self.next = [0] * WRITERS
        #: Key → (revision, value), for keys that exist.
        self.state = {}
        self.revision = self.reopened_at = 0
        self.acks = 0

    def acknowledged(self, acks):
        for writer, number, revision in acks:
            assert number == self.next[writer], "acknowledged out of order"
            self.next[writer] = number + 1
            key, value = crash_writer.step(writer, number)
            if value is None:
                self.state.pop(key, None)
            else:
                self.state[key] = (revision, crash_writer.stamp(value, revision))
            assert revision == 0 or revision > self.reopened_at, "a revision was used twice"
            self.revision = max(self.revision, revision)
            self.acks += 1

    def check(self, store):
        """Take over what the steps in flight did, and nothing else may differ."""
        assert store.revision >= self.revision
        found = {record.key: (record.revision, record.value) for record in store.range("").records}
        for writer, number in enumerate(self.next):
            key, value = crash_writer.step(writer, number)
            if found.get(key) != self.state.get(key):
                if value is None:
                    assert key not in found
                else:
                    revision, kept = found[key]
                    assert kept == crash_writer.stamp(value, revision)
                self.state.pop(key, None)
                self.state |= {key: found[key]} if key in found else {}
            self.next[writer] = number + 1
        assert found == self.state
        assert len({revision for revision, _ in found.values()}) == len(found)
        self.revision = self.reopened_at = store.revision


def check_history(store):
    """The events since the oldest revision kept lead from the state then to the state now."""
    oldest = store.range("", revision=store.compacted).records if store.compacted else []
    state = {record.key: record for record in oldest}
    events = []
    store.watch("", store.compacted, events.extend)
    assert [event.revision for event in events] == list(range(store.compacted + 1, store.revision + 1))
    for event in events:
        assert state.pop(event.key, None) == event.previous
        if not event.deleted:
            state[event.key] = store.range(event.key, revision=event.revision).records[0]
    assert list(store.range("").records) == [state[key] for key in sorted(state)]


def check_file(folder, records):
    """The index is what the file says, read by another writer."""
    database = sqlite3.connect(folder / "store.db")
    rows = database.execute("SELECT key, value, max(revision), created FROM log GROUP BY key ORDER BY key")
    assert [row for row in rows if row[1] is not None] == records
    database.close()


async def reopen(folder, witness, thorough):
    store = await SqliteStore.open(folder, stamp=crash_writer.stamp, history_bytes=200_000)
    witness.check(store)
    if thorough:
        check_history(store)
    await store.close()
    check_file(folder, [(r.key, r.value, r.revision, r.created) for r in store.range("").records])


def test_acknowledged_writes_survive_kill_9(tmp_path):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    witness = Witness()
    with Nursery() as nursery:
        for kill in range(KILLS):
            # One in five dies while opening, the others at work.
            started_s = chance.uniform(0, 0.02) if kill % 5 == 4 else 10
            acks = nursery.write_and_kill(tmp_path, witness.next, started_s, chance.uniform(0, 0.04))
            witness.acknowledged(acks)
            asyncio.run(reopen(tmp_path, witness, thorough=kill % 10 == 0))
    assert witness.acks > KILLS * 5, "too little load to show anything"
