"""The quorum and configuration cases of etcd's Raft, replayed; read from beside the repository when there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from steersman.raft.core import Change, ChangeKind, ChangeRefused, Configuration
from steersman.raft.core.membership import enter_joint, leave_joint, simple
from steersman.raft.core.progress import Progress
from steersman.raft.core.quorum import EVERYTHING, VoteResult, agreed, tally
from tests.originals.programs import NOT_INSTALLED, find_data

_DATA = find_data("raft-cases")
pytestmark = [
    pytest.mark.original,
    pytest.mark.skipif(_DATA is None, reason=NOT_INSTALLED),
]


def _cases(path: Path) -> Iterator[tuple[str, str]]:
    """Command and output, by turns: `----` ends a command, an empty line ends an output."""
    command: list[str] = []
    output: list[str] | None = None
    for line in [*path.read_text(encoding="utf-8").splitlines(), ""]:
        if output is not None:
            if line:
                output.append(line)
                continue
            yield "\n".join(command), "\n".join(output)
            command, output = [], None
        elif line == "----":
            output = []
        elif line and not line.startswith("#"):
            command.append(line)


def _files(folder: str) -> list[object]:
    files = sorted((_DATA / folder).glob("*.txt")) if _DATA is not None else []
    return [pytest.param(path, id=path.stem) for path in files]


# Quorum


def _arguments(command: str) -> dict[str, list[str]]:
    found = re.findall(r"(\w+)=(?:\(([^)]*)\)|(\w+))", command)
    return {name: [item.strip() for item in items.split(",") if item.strip()] for name, items, _ in found}


def _describe(voters: list[int], reached: dict[int, int]) -> str:
    """A bar for each voter, as long as the number of voters it is ahead of."""
    if not voters:
        return "<empty majority quorum>"
    width = len(voters)
    lines = [" " * width + "    idx"]
    for voter in voters:
        behind = sum(reached.get(other, -1) < reached[voter] for other in voters) if voter in reached else 0
        bar = "x" * behind + ">" + " " * (width - behind) if voter in reached else "?" + " " * width
        lines.append(f"{bar} {reached.get(voter, 0):5d}    (id={voter})")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", _files("quorum"))
def test_quorum(path: Path) -> None:
    replayed = 0
    for command, expected in _cases(path):
        arguments = _arguments(command)
        incoming = [int(item) for item in arguments.get("cfg", [])]
        outgoing = [int(item) for item in arguments.get("cfgj", [])]
        voters = list(dict.fromkeys([*incoming, *outgoing]))
        halves = (frozenset(incoming), frozenset(outgoing))
        if command.startswith("vote"):
            answers = dict(zip(voters, arguments.get("votes", []), strict=True))
            votes = {voter: answer == "y" for voter, answer in answers.items() if answer != "_"}
            assert "Vote" + tally(halves, votes).value.capitalize() == expected, command
            assert tally((halves[1], halves[0]), votes) is tally(halves, votes)
        else:
            answers = dict(zip(voters, arguments.get("idx", []), strict=True))
            reached = {voter: int(answer) for voter, answer in answers.items() if answer != "_"}
            index = agreed(halves, reached, 0)
            shown = "∞" if index == EVERYTHING else str(index)
            assert _describe(sorted(voters), reached) + shown == expected, command
            assert agreed((halves[1], halves[0]), reached, 0) == index
        replayed += 1
    assert replayed > 10


def test_all_outcomes_of_a_vote_have_a_name() -> None:
    assert {result.value for result in VoteResult} == {"won", "lost", "pending"}


# Configuration changes

_KINDS = {"v": ChangeKind.ADD_VOTER, "l": ChangeKind.ADD_LEARNER, "r": ChangeKind.REMOVE}


class _Changer:
    """etcd's test counts its commands and lets new members start there."""

    def __init__(self) -> None:
        self.configuration = Configuration()
        self.progress: dict[int, Progress] = {}
        self.count = 0

    def run(self, command: str) -> str:
        words = command.split()
        # `u` updates what is said about a member elsewhere, and changes nothing here.
        changes = [
            Change(_KINDS[word[0]], int(word[1:])) for word in words[1:] if re.fullmatch(r"[vlr]\d+", word)
        ]
        try:
            match words[0]:
                case "simple":
                    after = simple(self.configuration, changes)
                case "enter-joint":
                    auto_leave = "autoleave=true" in words
                    after = enter_joint(self.configuration, changes, auto_leave=auto_leave)
                case _:
                    after = leave_joint(self.configuration)
        except ChangeRefused as error:
            return str(error)
        finally:
            self.count += 1
        self.configuration = after
        next_index = max(self.count - 1, 1)
        self.progress = {
            member: self.progress.get(member) or Progress(next_index) for member in sorted(after.members)
        }
        return self._shown()

    def _shown(self) -> str:
        after = self.configuration
        head = f"voters=({_ids(after.voters)})"
        if after.joint:
            head += f"&&({_ids(after.outgoing)})"
        if after.learners:
            head += f" learners=({_ids(after.learners)})"
        if after.learners_next:
            head += f" learners_next=({_ids(after.learners_next)})"
        lines = [head + (" autoleave" if after.auto_leave else "")]
        for member, progress in self.progress.items():
            learner = " learner" if member in after.learners else ""
            state = f"State{progress.state.value.capitalize()}"
            lines.append(f"{member}: {state} match={progress.match} next={progress.next}{learner}")
        return "\n".join(lines)


def _ids(ids: frozenset[int]) -> str:
    return " ".join(map(str, sorted(ids)))


@pytest.mark.parametrize("path", _files("confchange"))
def test_configuration_change(path: Path) -> None:
    changer = _Changer()
    replayed = 0
    for command, expected in _cases(path):
        assert changer.run(command) == expected, command
        replayed += 1
    assert replayed > 0
