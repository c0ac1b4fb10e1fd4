"""Frames and descriptors between agent and keeper."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from steersman.cluster.node.process.keeper.protocol import FrameReader, FrameWriter, receive


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    left, right = socket.socketpair()
    left.setblocking(False)
    right.setblocking(False)
    with left, right:
        yield left, right


def test_frames_are_put_together_from_any_pieces(pair: tuple[socket.socket, socket.socket]) -> None:
    left, right = pair
    outgoing = FrameWriter(left)
    messages = [{"op": "a"}, {"text": "ü" * 100, "seq": 2}, {}]
    for message in messages:
        outgoing.add(message)
    assert outgoing.flush()
    data = right.recv(1 << 16)
    frames = FrameReader()
    found = [one for byte in data for one in frames.feed(bytes([byte]), [])]
    assert found == [(message, []) for message in messages]


def test_descriptors_arrive_with_their_message(pair: tuple[socket.socket, socket.socket]) -> None:
    left, right = pair
    read, write = os.pipe()
    outgoing = FrameWriter(left)
    outgoing.add({"n": 1})
    outgoing.add({"n": 2}, [write])
    outgoing.add({"n": 3})
    assert outgoing.flush()
    with pytest.raises(OSError):
        os.fstat(write)
    frames = FrameReader()
    found = []
    while len(found) < 3:
        found += frames.feed(*receive(right))
    assert [(message["n"], len(fds)) for message, fds in found] == [(1, 0), (2, 1), (3, 0)]
    (fd,) = found[1][1]
    assert not os.get_inheritable(fd)
    os.write(fd, b"x")
    assert os.read(read, 1) == b"x"
    os.close(fd)
    os.close(read)


def test_what_does_not_fit_is_sent_later(pair: tuple[socket.socket, socket.socket]) -> None:
    left, right = pair
    outgoing = FrameWriter(left)
    message = {"text": "x" * (4 << 20)}
    outgoing.add(message)
    assert not outgoing.flush()
    frames = FrameReader()
    found: list[object] = []
    while not found:
        outgoing.flush()
        try:
            found += frames.feed(*receive(right))
        except BlockingIOError:
            continue
    assert found == [(message, [])]
    assert not outgoing


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="a frame of"):
        FrameReader().feed(b"GET / HTTP/1.1\r\n", [])


def test_descriptors_without_a_message_are_closed() -> None:
    read, write = os.pipe()
    frames = FrameReader()
    frames.feed(b"", [read, write])
    frames.close()
    for fd in (read, write):
        with pytest.raises(OSError):
            os.fstat(fd)
