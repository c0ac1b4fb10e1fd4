"""One Raft node in a process of its own: `member.py JSON`. Says what it does; is told on stdin what to do.

    up PID                     it listens
    leads TERM TIME            elected
    ack TERM WRITER N TIME     while it leads: this write is acknowledged
    answer JSON                to a request
    done ID JSON               an operation has ended: a value, or why there is none

TIME is the machine's monotonic clock, the same for all processes. Requests are lines of stdin: `values`,
`status`, `scale N`, `transfer`, `bench IN_FLIGHT SECONDS` (puts from the program's own loop), `spans` (when
this node was seen to lead, by term, if it is `watched`); operations, which do not wait for each other: `op ID put KEY VALUE`,
`op ID get KEY`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import time
from typing import Any

import uvloop

from steersman.raft.config import NodeConfig
from steersman.raft.core import Refused
from steersman.raft.errors import NodeError
from steersman.raft.manager import RaftNodeManager


def say(*words: object) -> None:
    print(*words, flush=True)


def config(told: dict[str, Any]) -> NodeConfig:
    node = NodeConfig("e2e").node_id(told["node"]).peers({int(n): peer for n, peer in told["peers"].items()})
    if told.get("folder"):
        node = node.storage("rocksdb", told["folder"])
    if told.get("tls"):
        node = node.tls(told["tls"])
    if told.get("bootstrap"):
        node = node.bootstrap()
    if told.get("patient"):
        node = node.timing(heartbeat_s=0.2, election_min_s=0.5, election_max_s=0.7)
    return node


async def write(manager: RaftNodeManager, writer: int, pause_s: float) -> None:
    """Count up for as long as this node leads, in each term anew."""
    async for lease in manager.watch():
        if not manager.is_leader:
            continue
        if writer == 0:
            say("leads", lease.term, time.monotonic())
        with contextlib.suppress(Refused, NodeError):
            number = 0
            while manager.term == lease.term:
                number += 1
                await manager.put(f"{lease.term}/{writer}", str(number).encode())
                say("ack", lease.term, writer, number, time.monotonic())
                await asyncio.sleep(pause_s)


async def bench(manager: RaftNodeManager, in_flight: int, seconds: float) -> dict[str, float]:
    """Writes a second, and how long one takes, in milliseconds."""
    took_s: list[float] = []
    end = time.perf_counter() + seconds

    async def put(writer: int) -> None:
        while (started := time.perf_counter()) < end:
            await manager.put(f"bench/{writer}", b"x" * 64)
            took_s.append(time.perf_counter() - started)

    await asyncio.gather(*map(put, range(in_flight)))
    took_s.sort()
    return {
        "rate": len(took_s) / seconds,
        "median_ms": took_s[len(took_s) // 2] * 1000,
        "p99_ms": took_s[len(took_s) * 99 // 100] * 1000,
    }


async def watch_validity(manager: RaftNodeManager, spans: dict[int, list[float]]) -> None:
    """Note the first and the last moment at which this node was sure to lead."""
    while True:
        lease, now = manager.lease, time.monotonic()
        if now < lease.until:
            spans.setdefault(lease.term, [now, now])[1] = now
        await asyncio.sleep(0.005)


async def operate(manager: RaftNodeManager, number: str, word: str, key: str, value: str = "") -> None:
    try:
        if word == "put":
            await manager.put(key, value.encode())
            found = value
        else:
            read = await manager.get(key)
            found = read.data.decode() if read is not None else ""
    except Refused as error:
        say("done", number, json.dumps({"refused": str(error)}))
    except NodeError as error:
        say("done", number, json.dumps({"unknown": str(error)}))
    else:
        say("done", number, json.dumps({"value": found}))


async def answer(manager: RaftNodeManager, request: str) -> object:
    word, *arguments = request.split()
    if word == "values":
        await manager.get("nothing")
        return {key: value.data.decode() for key, value in manager._machine.values.items()}
    if word == "bench":
        return await bench(manager, int(arguments[0]), float(arguments[1]))
    if word == "scale":
        await manager.scale(int(arguments[0]))
    elif word == "transfer":
        await manager.transfer()
    status = await manager.status()
    return {
        "leads": manager.is_leader,
        "term": manager.term,
        "leader": manager.leader,
        "voters": await manager.voters(),
        "votes": status.id in status.configuration.voters,
        "applied": status.applied_index,
        "first": status.first_index,
    }


async def main(told: dict[str, Any]) -> None:
    manager = RaftNodeManager(config(told))
    await manager.start()
    say("up", os.getpid())
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    spans: dict[int, list[float]] = {}

    async def obey() -> None:
        async for line in reader:
            word, *arguments = line.decode().split()
            if word == "op":
                running.append(tasks.create_task(operate(manager, *arguments)))
                continue
            if word == "spans":
                say("answer", json.dumps(spans))
                continue
            try:
                say("answer", json.dumps(await answer(manager, line.decode())))
            except (Refused, NodeError) as error:
                say("answer", json.dumps({"error": str(error)}))
        stop.set()

    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(obey())]
        if told.get("watched"):
            running.append(tasks.create_task(watch_validity(manager, spans)))
        for writer in range(told.get("writers", 0)):
            running.append(tasks.create_task(write(manager, writer, told.get("pause_s", 0.002))))
        await stop.wait()
        for task in running:
            task.cancel()
    await manager.stop()


if __name__ == "__main__":
    logging.basicConfig(level=os.environ.get("RAFT_LOG", "ERROR"))
    uvloop.run(main(json.loads(sys.argv[1])))
