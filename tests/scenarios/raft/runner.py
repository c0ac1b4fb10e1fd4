"""Runs scenario files: commands, a line `----`, and what they print.

    # a comment belongs to the block below it
    propose 1 a b
    deliver
    ----
    1: leader term=2 …

A block ends with an empty line. Commands are the `_do_…` methods. `python -m tests.scenarios.raft.runner
FILE…` writes the outputs anew: read the difference before believing it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from steersman.raft.core import Change, ChangeKind, Configuration, EntryKind, Message, RaftError
from tests.scenarios.raft.lab import Lab

__all__ = ["Block", "Scenario", "blocks", "run_block"]


class Block:
    def __init__(self, text: str) -> None:
        head, _, self.expected = text.partition("\n----\n")
        self.head = head
        self.commands = [line for line in head.splitlines() if line and not line.startswith("#")]


def blocks(text: str) -> Iterator[Block]:
    for part in re.split(r"\n\n+", text.strip("\n")):
        yield Block(part)


def run_block(scenario: Scenario, block: Block) -> str:
    output: list[str] = []
    for command in block.commands:
        try:
            output += scenario.do(command)
        except RaftError as error:
            output.append(f"{type(error).__name__}: {error}")
    return "\n".join(output) or "ok"


class Scenario:
    def __init__(self) -> None:
        self.lab = Lab([1])

    def do(self, line: str) -> list[str]:
        name, *words = line.split()
        return getattr(self, "_do_" + name.replace("-", "_"))(*words) or []

    def _do_cluster(self, *words: str) -> None:
        """Founders, `+` and joiners, and settings as name=number."""
        settings = {name: float(value) if "." in value else int(value)
                    for name, value in (word.split("=") for word in words if "=" in word)}  # fmt: skip
        ids = [word for word in words if "=" not in word]
        plus = ids.index("+") if "+" in ids else len(ids)
        self.lab = Lab(map(int, ids[:plus]), map(int, ids[plus + 1 :]), **settings)

    def _do_wait(self, seconds: str) -> None:
        self.lab.wait(float(seconds))

    def _do_timeout(self, id_: str) -> None:
        self.lab.timeout(int(id_))

    def _do_elect(self, id_: str) -> None:
        self.lab.elect(int(id_))

    def _do_heartbeat(self, id_: str, count: str = "1") -> None:
        for _ in range(int(count)):
            self.lab.heartbeat(int(id_))

    def _do_propose(self, id_: str, *data: str) -> None:
        self.lab.propose(int(id_), *data)

    def _do_read(self, id_: str, context: str, *how: str) -> None:
        lab = self.lab
        lab.call(int(id_), lambda raft: raft.read_index(int(context), lab.now, lease="lease" in how))

    def _do_transfer(self, id_: str, to: str) -> None:
        self.lab.call(int(id_), lambda raft: raft.transfer(int(to), self.lab.now))

    def _do_change(self, id_: str, *words: str) -> None:
        """Changes as in `add-voter:4`; with `joint` by way of a joint configuration, with `stay` staying."""
        changes = [Change(ChangeKind(kind), int(member))
                   for kind, member in (word.split(":") for word in words if ":" in word)]  # fmt: skip
        self.lab.call(
            int(id_),
            lambda raft: raft.propose_change(
                changes, self.lab.now, joint="joint" in words, auto_leave="stay" not in words
            ),
        )

    def _do_compact(self, id_: str, index: str) -> None:
        self.lab.seats[int(id_)].compact(int(index))

    def _do_hold_disk(self, id_: str) -> None:
        self.lab.seats[int(id_)].holds_writes = True

    def _do_release_disk(self, id_: str) -> None:
        seat = self.lab.seats[int(id_)]
        seat.holds_writes = False
        seat.persist()
        seat.pump()

    def _do_crash(self, id_: str) -> None:
        self.lab.seats[int(id_)].crash()

    def _do_restart(self, id_: str) -> None:
        self.lab.seats[int(id_)].start()

    def _do_isolate(self, id_: str) -> None:
        self.lab.isolate(int(id_))

    def _do_cut(self, *links: str) -> None:
        for link in links:
            sender, to = link.split(">")
            self.lab.cut.add((int(sender), int(to)))

    def _do_heal(self) -> None:
        self.lab.cut.clear()

    def _do_deliver(self, *links: str) -> None:
        """Everything and what it leads to; or once, what is on the given links."""
        if not links:
            self.lab.settle()
            return
        pairs = {tuple(map(int, link.split(">"))) for link in links}
        self.lab.deliver(lambda message: (message.sender, message.to) in pairs)

    def _do_drop(self) -> None:
        """All that is on the wire is lost."""
        self.lab.wire.clear()

    def _do_wire(self) -> list[str]:
        return [_describe(message) for message in self.lab.wire] or ["nothing"]

    def _do_show(self, *ids: str) -> list[str]:
        return [self._show(int(id_)) for id_ in ids] or [self._show(id_) for id_ in self.lab.seats]

    def _do_members(self, id_: str) -> list[str]:
        return [_members(self.lab[int(id_)].configuration)]

    def _do_progress(self, id_: str) -> list[str]:
        return [
            f"{peer}: {status.state.value} match={status.match} next={status.next}"
            for peer, status in self.lab[int(id_)].status().peers.items()
        ]

    def _do_lease(self, id_: str) -> list[str]:
        raft = self.lab[int(id_)]
        if not raft.is_leader(self.lab.now):
            return ["no valid leadership"]
        return [f"valid for {raft.lease_until - self.lab.now:.3f} s in term {raft.term}"]

    def _do_reads(self, id_: str) -> list[str]:
        reads = self.lab.seats[int(id_)].reads
        return [f"read {read.context} at index {read.index}" for read in reads] or ["none"]

    def _show(self, id_: int) -> str:
        seat = self.lab.seats[id_]
        if seat.raft is None:
            return f"{id_}: down"
        status = seat.raft.status()
        log = " ".join(
            f"{entry.index}/{entry.term}{_content(entry.kind, entry.data)}" for entry in seat.log()
        )
        return (
            f"{id_}: {status.role.value} term={status.term} vote={status.vote} leader={status.leader}"
            f" commit={status.commit_index} log=[{log}]"
        )


def _content(kind: EntryKind, data: bytes) -> str:
    match kind:
        case EntryKind.DATA:
            return f":{data.decode()}"
        case EntryKind.CHANGE:
            return f":({_members(Configuration.decode(data))})"
        case _:
            return ""


def _members(configuration: Configuration) -> str:
    sets = {
        "voters": configuration.voters,
        "outgoing": configuration.outgoing,
        "learners": configuration.learners,
        "learners_next": configuration.learners_next,
    }
    return " ".join(f"{name}={','.join(map(str, sorted(ids)))}" for name, ids in sets.items() if ids)


def _describe(message: Message) -> str:
    left_out = {"to", "sender", "term", "entries", "meta", "round", "data"}
    fields = " ".join(
        f"{name}={getattr(message, name)}" for name in message.__struct_fields__ if name not in left_out
    )
    entries = getattr(message, "entries", ())
    body = f" entries={entries[0].index}..{entries[-1].index}" if entries else ""
    return (
        f"{message.sender}>{message.to} {type(message).__name__} term={message.term} {fields}{body}".rstrip()
    )


def _rewrite(path: Path) -> None:
    scenario = Scenario()
    parts = [
        f"{block.head}\n----\n{run_block(scenario, block)}"
        for block in blocks(path.read_text(encoding="utf-8"))
    ]
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        _rewrite(Path(argument))
