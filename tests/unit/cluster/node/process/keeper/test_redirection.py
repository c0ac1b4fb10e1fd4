"""Containers that connect without end share the keeper's time."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from steersman.cluster.node.process.keeper import redirection
from steersman.cluster.node.process.keeper.loop import Loop
from steersman.cluster.node.process.keeper.system_calls import CONNECT

PROGRAM = """
import socket, sys
from steersman.cluster.node.process.keeper.redirection import hand_over_connects
hand_over_connects(int(sys.argv[1]))
while True:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(('127.0.0.1', 9))
"""
MANY = 12
PATIENCE_S = 60.0


@pytest.fixture
def channels() -> Iterator[list[socket.socket]]:
    """Of programs that do nothing but connect."""
    with ExitStack() as stack:
        found = []
        for _ in range(MANY):
            ours, theirs = socket.socketpair()
            command = [sys.executable, "-c", PROGRAM, str(theirs.fileno())]
            process = stack.enter_context(subprocess.Popen(command, pass_fds=[theirs.fileno()]))
            stack.callback(process.kill)
            theirs.close()
            found.append(ours)
        yield found


@pytest.mark.skipif(CONNECT is None, reason="no filters for this kind of machine")
def test_who_connects_without_end_has_a_turn_and_no_more(channels: list[socket.socket]) -> None:
    loop = Loop()
    turns = Counter[int]()
    answered, most = 0, 0

    class Counted(redirection.Redirection):
        def _on_notice(self, listener: int) -> None:
            nonlocal answered
            super()._on_notice(listener)
            turns[listener] += 1
            answered += 1
            if len(turns) == MANY and min(turns.values()) >= 20:
                loop.running = False

    def other() -> None:
        """What else the keeper does, once in each of its rounds."""
        nonlocal answered, most
        most, answered = max(most, answered), 0
        loop.after(0, other)

    keeper = Counted(loop)
    for channel in channels:
        keeper.adopt(channel, "/nowhere")
    loop.after(0, other)
    loop.after(PATIENCE_S, lambda: setattr(loop, "running", False))
    loop.run()
    signal.set_wakeup_fd(-1)
    loop.close()
    for listener in turns:
        os.close(listener)
    assert min(turns.values()) >= 20
    assert 0 < most <= redirection._AT_ONCE
