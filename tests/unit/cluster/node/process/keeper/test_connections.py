"""What an agent asked for before it left is done, whether or not it hears of it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any, cast

from steersman.cluster.node.process.keeper.protocol import FrameWriter
from steersman.cluster.node.process.keeper.server import Keeper, _Connection

#: So that not all is read at once.
LARGE = "x" * (1 << 15)


class Loop:
    """Calls when it is told to."""

    def __init__(self) -> None:
        self.calls: dict[int, Callable[[], None]] = {}

    def on_readable(self, fd: int, call: Callable[[], None]) -> None:
        self.calls[fd] = call

    def watch(self, fd: int, call: Callable[[], None], *, write: bool) -> None:
        self.calls[fd] = call

    def forget(self, fd: int) -> None:
        self.calls.pop(fd, None)


class Answering:
    """A keeper that answers everything."""

    def __init__(self) -> None:
        self.loop = Loop()
        self.asked: list[int] = []
        self.left = 0

    def handle(self, connection: _Connection, message: dict[str, Any], fds: list[int]) -> None:
        self.asked.append(message["seq"])
        connection.send({"seq": message["seq"]})

    def disconnected(self, connection: _Connection) -> None:
        self.left += 1


def connected(asked: int) -> tuple[Answering, _Connection]:
    """A connection of an agent that has asked so often, and left."""
    ours, theirs = socket.socketpair()
    keeper = Answering()
    connection = _Connection(cast(Keeper, keeper), ours)
    with theirs:
        outgoing = FrameWriter(theirs)
        for seq in range(asked):
            outgoing.add({"op": "start", "seq": seq, "text": LARGE})
        assert outgoing.flush()
    return keeper, connection


def test_all_that_was_asked_is_done_though_nobody_hears_the_answers() -> None:
    keeper, connection = connected(4)
    while connection.open:
        for call in list(keeper.loop.calls.values()):
            call()
    assert keeper.asked == [0, 1, 2, 3]
    assert keeper.left == 1


def test_all_is_done_at_once_when_the_next_agent_asks() -> None:
    keeper, connection = connected(4)
    connection.drain()
    assert keeper.asked == [0, 1, 2, 3]
    assert not connection.open
