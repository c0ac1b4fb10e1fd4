"""Members in processes of their own share 2,000 objects; some are killed, some stopped, others come.

`STEERSMAN_SHARDING_S` says for how long.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

import pytest

from steersman.client import Client
from steersman.objects.builders import ConfigMap
from tests.support.steer import Steer
from tests.support.waiting import pass_time_blocking

from .operators import OperatorProcess, running, until

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("sharded_member.py")
OBJECTS = 2000
#: Every object is worked on again after this.
EVERY_S = 4.0
LASTS_S = float(os.environ.get("STEERSMAN_SHARDING_S", "40"))
TROUBLE_EVERY_S = 12.0
#: An object may have nobody for this long; where other tests run beside this one, that is not measured.
ALONE_S = 10.0 if "STEERSMAN_SHARDING_S" in os.environ else 30.0


class Member:
    def __init__(self, operator: OperatorProcess, diary: Path) -> None:
        self.operator = operator
        self.diary = diary
        self.killed_at = float("inf")

    def kill(self) -> None:
        self.killed_at = time.monotonic()
        self.operator.kill()

    def work(self) -> dict[str, list[tuple[float, float]]]:
        """From when to when it worked on each object; what a kill has ended, ended then."""
        times: dict[str, list[tuple[float, float]]] = defaultdict(list)
        started: dict[str, float] = {}
        for line in self.diary.read_text().splitlines():
            what, name, when = line.split()
            if what == "+":
                started[name] = float(when)
            else:
                times[name].append((started.pop(name), float(when)))
        for name, when in started.items():
            times[name].append((when, self.killed_at))
        return times


class Group:
    def __init__(self, server: Steer, namespace: str, folder: Path, stack: ExitStack) -> None:
        self._server = server
        self._namespace = namespace
        self._folder = folder
        self._stack = stack
        self._numbers = itertools.count(1)
        self.members: list[Member] = []
        self.all: list[Member] = []

    def add(self) -> None:
        number = next(self._numbers)
        diary = self._folder / f"diary-{number}"
        diary.touch()
        operator = self._stack.enter_context(
            running(
                PROGRAM,
                self._server.kubeconfig,
                self._folder / f"log-{number}",
                NAMESPACE=self._namespace,
                DIARY=str(diary),
                EVERY_S=str(EVERY_S),
            )
        )
        self.members.append(Member(operator, diary))
        self.all.append(self.members[-1])

    def trouble(self, choose: random.Random) -> None:
        victim = choose.choice(self.members)
        match choose.choice(("kill", "kill", "stop", "add")) if len(self.members) < 5 else "kill":
            case "add":
                pass
            case what:
                self.members.remove(victim)
                if what == "kill":
                    victim.kill()
                else:
                    assert victim.operator.stop() == 0
        self.add()


async def make_objects(server: Steer, namespace: str) -> None:
    turns = asyncio.Semaphore(32)

    async def make(client: Client, number: int) -> None:
        async with turns:
            await client.create(ConfigMap(f"object-{number}", namespace=namespace))

    async with Client.load(kubeconfig=server.kubeconfig) as client:
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        async with asyncio.TaskGroup() as group:
            for number in range(OBJECTS):
                group.create_task(make(client, number))


@pytest.mark.timeout(LASTS_S + 180)
def test_no_object_has_two_and_none_is_alone_for_long(server: Steer, tmp_path: Path) -> None:
    namespace = f"sharded-{os.getpid()}"
    asyncio.run(make_objects(server, namespace))
    choose = random.Random(1)
    with ExitStack() as stack:
        group = Group(server, namespace, tmp_path, stack)
        for _ in range(3):
            group.add()
        for member in group.members:
            member.operator.wait_ready()
        until(lambda: len(set().union(*(member.work() for member in group.all))) >= OBJECTS, "all objects")
        began = time.monotonic()
        while time.monotonic() < began + LASTS_S:
            group.trouble(choose)
            pass_time_blocking(TROUBLE_EVERY_S, "how long the load lasts")
        ended = time.monotonic()
        for member in group.members:
            member.kill()
    check(group.all, began, ended)


def check(members: list[Member], began: float, ended: float) -> None:
    work: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
    for number, member in enumerate(members):
        for name, times in member.work().items():
            work[name] += [(start, end, number) for start, end in times]
    names = {name for name in work if name.startswith("object-")}
    assert len(names) == OBJECTS
    longest_s, moves = 0.0, 0
    for name in names:
        turns = sorted(work[name])
        for (_, end, who), (start, _, other) in itertools.pairwise(turns):
            assert start >= end, f"{name}: {who} until {end}, {other} from {start}"
            moves += who != other
            if end > began:
                longest_s = max(longest_s, start - end - EVERY_S)
        longest_s = max(longest_s, ended - turns[-1][1] - EVERY_S)
    works = sum(map(len, work.values()))
    print(f"{len(members)} members, {works} works, {moves} moves, alone for {longest_s:.1f} s at most")
    assert moves > 0
    assert longest_s < ALONE_S
