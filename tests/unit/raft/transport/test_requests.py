"""What clients may say, and how much of it at once."""

from __future__ import annotations

from collections import deque

import msgspec
import pytest

from steersman.raft.state_machine import Delete, Forget, Introduce, Located, Put, Value
from steersman.raft.transport.requests import (
    Declined,
    Forbidden,
    Found,
    Read,
    Unclear,
    Write,
    Written,
    decode_replies,
    decode_requests,
    encode,
    next_frame,
    too_large,
)

MIB = 1 << 20


def test_what_is_sent_arrives():
    requests = [Write(1, Put("k", b"\xff", 7)), Write(2, Delete("k")), Read(3, "k")]
    assert decode_requests(encode(requests)) == requests
    replies = [
        Written(1, True),
        Found(2, Value(b"\xff", 7)),
        Found(3, None),
        Declined(4, "why", Located("n", "host:1")),
        Forbidden(5, "why"),
        Unclear(6, "why"),
    ]
    assert decode_replies(encode(replies)) == replies


@pytest.mark.parametrize("command", [Introduce(1, Located("n", "host:1")), Forget(1)], ids=["new", "old"])
def test_clients_do_not_give_the_members_commands(command):
    with pytest.raises(msgspec.ValidationError):
        decode_requests(encode([["write", 1, command]]))


@pytest.mark.parametrize(
    ("sizes", "frames"),
    [
        ([0] * 5, [5]),
        ([MIB // 2] * 5, [2, 2, 1]),
        ([MIB, 0, 1], [2, 1]),
        ([3 * MIB, 0, 0], [1, 2]),
        ([0, 3 * MIB, 0], [1, 1, 1]),
    ],
    ids=["small ones", "halves", "a full one", "one that is too large", "one that is too large in between"],
)
def test_a_frame_takes_what_fits_and_at_least_one(sizes, frames):
    queue = deque(sizes)
    taken = []
    while queue:
        taken.append(next_frame(queue, int))
    assert [len(frame) for frame in taken] == frames
    assert [size for frame in taken for size in frame] == sizes


def test_what_is_too_large_to_write():
    assert too_large(Put("k", bytes(MIB - 1))) == ""
    assert "1048577 bytes" in too_large(Put("k", bytes(MIB)))
    assert too_large(Delete("k")) == ""
