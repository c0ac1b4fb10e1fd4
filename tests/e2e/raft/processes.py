"""A cluster of `member.py` processes with mutual TLS and RocksDB, on loopback or on machines of their own."""

from __future__ import annotations

import itertools
import json
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.e2e.raft.certificates import TestAuthority
from tests.support.namespaces import Namespaces
from tests.support.ports import free_ports
from tests.support.waiting import soon

__all__ = ["Cluster", "Member", "until"]

PROGRAM = Path(__file__).parent / "member.py"
PATIENCE_S = 20.0


def until(condition: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
    """What `condition` says as soon as it is true."""
    return soon(condition, patience_s, every_s=0.01)


class Member:
    """One process, and what it has said."""

    def __init__(self, told: dict[str, Any], command: Sequence[str] = ()) -> None:
        """`command` runs a program somewhere."""
        self._process = subprocess.Popen(
            [*command, sys.executable, str(PROGRAM), json.dumps(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.pid = self._process.pid
        #: Number and time of the last acknowledged write, by term and writer.
        self.acks: dict[tuple[int, int], int] = {}
        #: When writes were acknowledged.
        self.ack_times: list[float] = []
        #: By term: when the first write was acknowledged.
        self.first_ack: dict[int, float] = {}
        #: By term: when it was elected.
        self.led: dict[int, float] = {}
        self.up = False
        self._answers: queue.Queue[Any] = queue.Queue()
        #: By their ids: where to put how they ended.
        self._operations: dict[str, queue.Queue[dict[str, str]]] = {}
        self._ids = itertools.count()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if not line.endswith("\n"):
                continue  # it was killed in the middle of a word
            word, *rest = line.split(maxsplit=1)
            if word == "answer":
                self._answers.put(json.loads(rest[0]))
                continue
            numbers = rest[0].split() if rest else []
            if word == "up":
                self.up = True
            elif word == "leads":
                self.led[int(numbers[0])] = float(numbers[1])
            elif word == "ack":
                term, writer, number = map(int, numbers[:3])
                self.acks[term, writer] = number
                self.first_ack.setdefault(term, float(numbers[3]))
                self.ack_times.append(float(numbers[3]))
            elif word == "done":
                number, outcome = rest[0].split(maxsplit=1)
                self._operations.pop(number).put(json.loads(outcome))

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: str) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(request + "\n")
        return self._answers.get(timeout=PATIENCE_S)

    def operate(self, request: str, patience_s: float = PATIENCE_S) -> dict[str, str]:
        """How an operation ended, from any thread; it is `unknown` if that is not said."""
        number, outcome = str(next(self._ids)), queue.Queue[dict[str, str]](1)
        self._operations[number] = outcome
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(f"op {number} {request}\n")
            return outcome.get(timeout=patience_s)
        except (queue.Empty, OSError, ValueError) as error:
            return {"unknown": type(error).__name__}

    def kill(self) -> float:
        """SIGKILL; when that was."""
        at = time.monotonic()
        self._process.kill()
        self.wait()
        return at

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def terminate(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self.wait()

    def wait(self) -> None:
        self._process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):  # a client has asked it something meanwhile
                pipe.close()


class Cluster:
    def __init__(
        self, folder: Path, size: int, *, writers: int = 2, tls: bool = True, memory: bool = False,
        places: int | None = None, machines: Namespaces | None = None, watched: bool = False,
        patient: bool = False,
    ) -> None:  # fmt: skip
        """`places` are the nodes there may be at most; `watched` nodes note when they lead; `patient` ones
        are slower than usual to believe that a leader is gone, for tests that are about something else."""
        self.folder = folder
        self.size = size
        self._writers = writers
        self._memory = memory
        self._tls = tls
        self.authority = TestAuthority() if tls else None
        self._machines = machines
        self._told = {"watched": watched, "patient": patient}
        self._peers = {
            node: f"node-{node}={machines.address(node) if machines else '127.0.0.1'}:{port}"
            for node, port in enumerate(free_ports(places or size))
        }
        self.members: dict[int, Member] = {}
        #: Every process there ever was.
        self.all: list[Member] = []
        if self.authority is not None:
            for node in self._peers:
                self.authority.write(self.tls_folder(node), f"node-{node}")

    @property
    def addresses(self) -> list[str]:
        """Of all nodes there may be, as clients are told them."""
        return list(self._peers.values())

    def tls_folder(self, node: int) -> Path:
        return self.folder / f"tls-{node}"

    def start(self, node: int) -> Member:
        told = {
            "node": node,
            "peers": self._peers,
            "folder": None if self._memory else str(self.folder / f"node-{node}"),
            "tls": str(self.tls_folder(node)) if self._tls else None,
            "writers": self._writers,
            "bootstrap": len(self._peers) > self.size,
            **self._told,
        }
        command = self._machines.command(node) if self._machines is not None else ()
        member = self.members[node] = Member(told, command)
        self.all.append(member)
        return member

    def __enter__(self) -> Self:
        for node in range(self.size):
            self.start(node)
        until(lambda: all(member.up for member in self.members.values()))
        until(lambda: self.voters() == list(range(self.size)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for member in self.all:
            if member.alive:
                member.kill()

    def leader(self, above: int = 0) -> tuple[int, Member, int] | None:
        """Node, process and term of the one that acknowledged a write in the highest term above `above`."""
        acked = [
            (max(member.first_ack), node, member)
            for node, member in self.members.items()
            if member.alive and member.first_ack and max(member.first_ack) > above
        ]
        if not acked:
            return None
        term, node, member = max(acked, key=lambda found: found[0])
        return node, member, term

    def wait_leader(self, above: int = 0) -> tuple[int, Member, int]:
        found: tuple[int, Member, int] = until(lambda: self.leader(above))
        return found

    def voters(self) -> list[int]:
        """Who votes, if all of them know it: a change that only the leader knows of is forgotten with it."""
        told = {node: member.ask("status") for node, member in self.members.items()}
        voters: list[int] = next((status["voters"] for status in told.values() if status.get("leads")), [])
        return voters if all(told[node].get("voters") == voters for node in voters) else []

    def silence_s(self) -> float:
        """The longest time between two acknowledged writes, whoever wrote."""
        times = sorted(time for member in self.all for time in tuple(member.ack_times))
        return max(later - earlier for earlier, later in pairwise(times))

    def lost(self) -> dict[str, tuple[int, int]]:
        """Acknowledged writes that the cluster does not have: (acknowledged, there)."""
        _, leader, _ = self.wait_leader()
        # Whoever writes goes on; what was acknowledged before the question must be in the answer.
        acked: dict[str, int] = {}
        for member in self.all:
            for (term, writer), number in tuple(member.acks.items()):
                acked[f"{term}/{writer}"] = max(number, acked.get(f"{term}/{writer}", 0))
        values = leader.ask("values")
        return {
            key: (number, int(values.get(key, 0)))
            for key, number in acked.items()
            if int(values.get(key, 0)) < number
        }
