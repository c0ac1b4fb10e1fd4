"""A process that forks writers to be killed. Started by test_crash.py with one end of a socket.

For each message (a JSON task, and the descriptor to acknowledge to) it forks a child that opens the
store and writes without end, tells the child's process id, and tells when the child is gone. Forking
spares the interpreter's start, so hundreds of kills take seconds.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys

from steersman.cluster.store import SqliteStore, committer

KEYS_PER_WRITER = 5


def stamp(value: bytes, revision: int) -> bytes:
    return value.rpartition(b"@")[0] + b"@%d" % revision


def step(writer: int, number: int) -> tuple[str, bytes | None]:
    """What a writer does at its n-th step: the key, and the value (None: delete)."""
    key = f"/crash/writer{writer}/{number % KEYS_PER_WRITER}"
    if number % 11 == 10:
        return key, None
    return key, b"%d:%d:%s@" % (writer, number, b"x" * (number * 397 % 3000))


async def write(store: SqliteStore, writer: int, number: int, acks: int) -> None:
    while True:
        key, value = step(writer, number)
        if value is not None:
            revision = (await store.put(key, value)).revision
        elif store.get(key) is not None:
            revision = (await store.delete(key)).revision
        else:
            revision = 0
        os.write(acks, b"%d %d %d\n" % (writer, number, revision))
        number += 1


async def main(folder: str, starts: list[int], acks: int) -> None:
    # A short history, removed a few rows at a time, so that forgetting is under fire as well.
    committer.REMOVED_AT_ONCE = 3
    store = await SqliteStore.open(folder, stamp=stamp, history_bytes=200_000)
    await asyncio.gather(*(write(store, writer, number, acks) for writer, number in enumerate(starts)))


def serve(control: socket.socket) -> None:
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 65536, 1)
        if not message:
            return
        child = os.fork()
        if child == 0:
            control.close()
            asyncio.run(main(*json.loads(message), descriptors[0]))
        os.close(descriptors[0])
        control.send(b"%d" % child)
        os.waitpid(child, 0)
        control.send(b"gone")


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
