"""The keeper's loop."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from steersman.cluster.node.process.keeper.loop import Loop


@pytest.fixture
def loop() -> Iterator[Loop]:
    before = signal.getsignal(signal.SIGUSR2)
    loop = Loop()
    yield loop
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGUSR2, before)
    loop.close()


def test_timers_are_called_in_their_order(loop: Loop) -> None:
    called: list[str] = []

    def end() -> None:
        called.append("end")
        loop.running = False

    loop.after(0.02, end)
    loop.after(0.0, lambda: called.append("first"))
    loop.after(0.01, lambda: called.append("second"))
    loop.run()
    assert called == ["first", "second", "end"]


def test_signals_and_descriptors_are_heard(loop: Loop) -> None:
    read, write = os.pipe()
    heard: list[str] = []

    def readable() -> None:
        heard.append(os.read(read, 10).decode())
        loop.running = False

    def signalled() -> None:
        heard.append("signal")
        os.write(write, b"data")

    loop.on_readable(read, readable)
    loop.on_signal(signal.SIGUSR2, signalled)
    loop.after(0.0, lambda: os.kill(os.getpid(), signal.SIGUSR2))
    loop.run()
    assert heard == ["signal", "data"]
    os.close(read)
    os.close(write)


def test_what_fails_is_told_and_does_not_end_the_loop(loop: Loop, capsys: pytest.CaptureFixture[str]) -> None:
    read, write = os.pipe()
    os.close(write)
    calls: list[str] = []

    def fail() -> None:
        calls.append("failed")
        raise ValueError("on purpose")

    def end() -> None:
        loop.running = False

    loop.on_readable(read, fail)
    loop.after(0.0, fail)
    loop.after(0.05, end)
    loop.run()
    assert calls == ["failed", "failed"]
    assert capsys.readouterr().err.count("ValueError: on purpose") == 2
    os.close(read)
