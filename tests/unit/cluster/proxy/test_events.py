"""The forwarder's loop."""

from __future__ import annotations

import os

from steersman.cluster.proxy.events import IN, EventLoop


def test_a_descriptor_that_takes_the_number_of_a_closed_one_gets_none_of_its_events() -> None:
    """Both pipes are readable in one round; whichever is handled first closes the other and opens a third, which
    gets its number."""
    events = EventLoop(tick_s=0.05)
    pipes = [os.pipe(), os.pipe()]
    handled: list[int] = []
    opened: list[tuple[int, int]] = []

    def reading(mine: int, other: int) -> None:
        handled.append(mine)
        events.remove(other)
        os.close(other)
        new = os.pipe()
        assert new[0] == other, "the system gives the lowest number that is free"
        opened.append(new)
        events.add(new[0], IN, lambda _: handled.append(-1))
        events.every_tick(lambda _: events.stop())
        events.remove(mine)

    (first, first_write), (second, second_write) = pipes
    events.add(first, IN, lambda _: reading(first, second))
    events.add(second, IN, lambda _: reading(second, first))
    os.write(first_write, b"x")
    os.write(second_write, b"x")
    events.run()
    events.close()
    assert len(handled) == 1
    assert handled[0] in (first, second)
    for fd in (handled[0], first_write, second_write, *opened[0]):
        os.close(fd)
