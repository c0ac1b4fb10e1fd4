"""SPDY frames: what is written can be read however it is cut, what is wrong is refused."""

from __future__ import annotations

import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.http.spdy.errors import SpdyViolation
from steersman.http.spdy.frames import (
    Data,
    Frame,
    FrameDecoder,
    FrameEncoder,
    GoAway,
    MoreHeaders,
    Ping,
    RstStream,
    Settings,
    SynReply,
    SynStream,
    WindowUpdate,
)

streams = st.integers(1, 0x7FFF_FFFF)
numbers = st.integers(0, 0x7FFF_FFFF)
headers = st.dictionaries(st.sampled_from(["port", "streamtype", "requestid"]), st.text("abc123", max_size=9))
frames = st.one_of(
    st.builds(SynStream, streams, headers, st.booleans()),
    st.builds(SynReply, streams, headers, st.booleans()),
    st.builds(MoreHeaders, streams, headers, st.booleans()),
    st.builds(RstStream, streams, st.integers(1, 11)),
    st.builds(Settings, st.dictionaries(st.integers(1, 8), numbers, max_size=4)),
    st.builds(Ping, st.integers(1, 0xFFFF_FFFF)),
    st.builds(GoAway, numbers, st.integers(0, 2)),
    st.builds(WindowUpdate, numbers, numbers),
    st.builds(Data, streams, st.binary(max_size=300), st.booleans()),
)


@given(st.lists(frames, max_size=8), st.lists(st.integers(0, 1000)))
def test_frames_survive_in_any_pieces(sent: list[Frame], places: list[int]) -> None:
    encoder, decoder = FrameEncoder(), FrameDecoder()
    data = b"".join(encoder.encode(frame) for frame in sent)
    bounds = sorted({min(place, len(data)) for place in places} | {0, len(data)})
    seen = [frame for a, b in itertools.pairwise(bounds) for frame in decoder.feed(data[a:b])]
    assert seen == sent


def control(kind: int, payload: bytes, *, version: int = 3, flags: int = 0) -> bytes:
    return struct.pack("!HHI", 0x8000 | version, kind, flags << 24 | len(payload)) + payload


def test_the_bytes_are_those_of_the_specification() -> None:
    encoder = FrameEncoder()
    assert encoder.encode(Data(3, b"hi", fin=True)) == b"\0\0\0\3\1\0\0\2hi"
    assert encoder.encode(Ping(5)) == b"\x80\3\0\6\0\0\0\4\0\0\0\5"
    assert encoder.encode(RstStream(7, 5)) == b"\x80\3\0\3\0\0\0\x08\0\0\0\7\0\0\0\5"
    assert encoder.encode(WindowUpdate(0, 9)) == b"\x80\3\0\x09\0\0\0\x08\0\0\0\0\0\0\0\x09"
    assert encoder.encode(GoAway(1)) == b"\x80\3\0\7\0\0\0\x08\0\0\0\1\0\0\0\0"
    assert encoder.encode(Settings({7: 1})) == b"\x80\3\0\4\0\0\0\x0c\0\0\0\1\0\0\0\7\0\0\0\1"


def test_kinds_nobody_knows_are_read_past() -> None:
    data = control(77, b"whatever") + FrameEncoder().encode(Ping(1))
    assert list(FrameDecoder().feed(data)) == [Ping(1)]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (control(6, b"\0\0\0\1", version=2), "version 2"),
        (control(6, b"\0"), "cut off"),
        (control(4, b"\0\0\0\2" + bytes(8)), "wrong length"),
        (control(3, bytes(8)), "no stream 0"),
        (struct.pack("!II", 0, 1) + b"x", "no stream 0"),
        (struct.pack("!II", 1, 2 << 20), "too large"),
        (struct.pack("!HHI", 0x8003, 1, 1 << 20), "too large"),
    ],
    ids=["version", "short", "settings", "reset of 0", "data of 0", "large data", "large control"],
)
def test_what_is_no_spdy_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(SpdyViolation, match=problem):
        list(FrameDecoder().feed(data))
