"""WebSocket frames: what is written can be read, what is wrong is refused with the right code."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.http.errors import FrameError
from steersman.http.websocket.frames import (
    Close,
    Frames,
    Message,
    Opcode,
    check_close_code,
    encode,
    encode_close,
    mask,
)


def frames(max_bytes: int = 1 << 20, *, wants_mask: bool = False) -> Frames:
    return Frames(wants_mask=wants_mask, max_message_bytes=max_bytes)


@given(st.binary(max_size=300), st.binary(min_size=4, max_size=4))
def test_masking_is_xor_with_the_repeated_key(payload: bytes, key: bytes) -> None:
    assert mask(payload, key) == bytes(byte ^ key[index % 4] for index, byte in enumerate(payload))


@pytest.mark.parametrize("size", [8191, 8192, 8193, 8194, 8195])
def test_large_payloads_are_masked_alike(size: int) -> None:
    payload, key = random.Random(size).randbytes(size), b"\x00\x7f\x80\xff"
    assert mask(payload, key) == bytes(byte ^ key[index % 4] for index, byte in enumerate(payload))


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536, 100_000])
@pytest.mark.parametrize("masked", [False, True], ids=["server", "client"])
def test_frames_of_every_size_survive(size: int, masked: bool) -> None:
    payload = bytes(range(256)) * (size // 256 + 1)
    payload = payload[:size]
    data = encode(Opcode.BINARY, payload, masked=masked)
    assert list(frames(wants_mask=masked).feed(data)) == [Message(Opcode.BINARY, payload)]


@given(
    st.lists(st.tuples(st.sampled_from([Opcode.TEXT, Opcode.BINARY, Opcode.PING]), st.binary(max_size=120))),
    st.lists(st.integers(0, 500)),
)
def test_pieces_do_not_matter(messages: list[tuple[Opcode, bytes]], places: list[int]) -> None:
    data = b"".join(encode(opcode, payload, masked=True) for opcode, payload in messages)
    bounds = sorted({min(place, len(data)) for place in places} | {0, len(data)})
    subject = frames(wants_mask=True)
    seen = [m for a, b in itertools.pairwise(bounds) for m in subject.feed(data[a:b])]
    assert seen == [Message(opcode, payload) for opcode, payload in messages]


def test_fragments_are_joined_around_control_frames() -> None:
    data = b"\x01\x02ab" + encode(Opcode.PING, b"!", masked=False) + b"\x00\x01c" + b"\x80\x01d"
    assert list(frames().feed(data)) == [Message(Opcode.PING, b"!"), Message(Opcode.TEXT, b"abcd")]


@pytest.mark.parametrize(
    "data,code",
    [
        (b"\xc1\x00", 1002),
        (b"\x83\x00", 1002),
        (b"\x8b\x00", 1002),
        (b"\x81\x80abcd", 1002),
        (b"\x09\x00", 1002),
        (b"\x89\x7e\x00\x80", 1002),
        (b"\x80\x00", 1002),
        (b"\x01\x00\x81\x00", 1002),
        (b"\x81\x7e\x00\x05", 1002),
        (b"\x81\x7f" + bytes(7) + b"\x05", 1002),
        (b"\x82\x65", 1009),
        (b"\x82\x7f" + b"\xff" * 8, 1002),
        (b"\x02\x40" + bytes(64) + b"\x80\x40", 1009),
    ],
    ids=[
        "reserved bit",
        "unknown data opcode",
        "unknown control opcode",
        "masked by the server",
        "fragmented ping",
        "long ping",
        "continuation of nothing",
        "new message inside a message",
        "length not minimal",
        "64-bit length not minimal",
        "too big",
        "length with the top bit",
        "too big in fragments",
    ],
)
def test_violations_name_their_close_code(data: bytes, code: int) -> None:
    with pytest.raises(FrameError) as caught:
        list(frames(max_bytes=100).feed(data))
    assert caught.value.code == code


def test_unmasked_frame_of_a_client_is_refused() -> None:
    with pytest.raises(FrameError):
        list(frames(wants_mask=True).feed(encode(Opcode.TEXT, b"x", masked=False)))


@pytest.mark.parametrize(
    "code,valid",
    [
        (999, False),
        (1000, True),
        (1004, False),
        (1005, False),
        (1006, False),
        (1011, True),
        (1015, False),
        (2999, False),
        (3000, True),
        (4999, True),
        (5000, False),
    ],
)
def test_close_codes_on_the_wire(code: int, valid: bool) -> None:
    assert check_close_code(code) is valid


def test_close_frames_carry_code_and_shortened_reason() -> None:
    (message,) = frames().feed(encode_close(Close.NORMAL, "é" * 100, masked=False))
    assert message.payload[:2] == b"\x03\xe8"
    assert message.payload[2:].decode() == "é" * 61
