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


def test_a_descriptor_that_takes_the_number_of_a_closed_one_is_not_taken_for_it(loop: Loop) -> None:
    """Both pipes are readable in one round; whichever is called first closes the other and opens a third, which
    gets its number. Nothing is there to read from the third yet."""
    pipes = [os.pipe(), os.pipe()]
    called: list[int] = []
    opened: list[tuple[int, int]] = []

    def reading(mine: int, other: int) -> None:
        called.append(mine)
        loop.forget(other)
        os.close(other)
        new = os.pipe()
        assert new[0] == other, "the system gives the lowest number that is free"
        opened.append(new)
        loop.on_readable(new[0], lambda: called.append(-1))
        loop.after(0.0, lambda: setattr(loop, "running", False))

    (first, first_write), (second, second_write) = pipes
    loop.on_readable(first, lambda: reading(first, second))
    loop.on_readable(second, lambda: reading(second, first))
    os.write(first_write, b"x")
    os.write(second_write, b"x")
    loop.run()
    assert len(called) == 1
    assert called[0] in (first, second)
    for fd in (called[0], first_write, second_write, *opened[0]):
        loop.forget(fd)
        os.close(fd)
