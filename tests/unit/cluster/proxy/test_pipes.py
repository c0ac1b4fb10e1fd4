"""Pipes are wide while there are few, and never more than a user may have."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fcntl import F_GETPIPE_SZ, fcntl

import pytest

from steersman.cluster.proxy.relay import Pipe, Pipes


@pytest.fixture
def pipes() -> Iterator[Pipes]:
    pipes = Pipes()
    yield pipes
    pipes.close()


def _room(pipe: Pipe) -> int:
    return fcntl(pipe.writer, F_GETPIPE_SZ)


def _is_open(pipe: Pipe) -> bool:
    try:
        os.fstat(pipe.reader)
    except OSError:
        return False
    return True


def test_one_that_was_given_back_is_taken_again(pipes: Pipes) -> None:
    pipe = pipes.take()
    pipes.give(pipe)

    assert pipes.take() == pipe

    pipes.discard(pipe)


def test_only_so_many_are_wide_and_only_so_many_are_kept(pipes: Pipes) -> None:
    taken = [pipes.take() for _ in range(70)]

    rooms = [_room(pipe) for pipe in taken]
    assert min(rooms[:64]) > max(rooms[64:])

    for pipe in taken:
        pipes.give(pipe)
    assert [_is_open(pipe) for pipe in taken] == [True] * 64 + [False] * 6


def test_pipes_that_ended_with_bytes_in_them_make_room_for_others(pipes: Pipes) -> None:
    for _ in range(100):
        pipe = pipes.take()
        os.write(pipe.writer, b"left over")
        pipes.discard(pipe)

    wide = pipes.take()
    assert _room(wide) == 1 << 18
    pipes.discard(wide)
