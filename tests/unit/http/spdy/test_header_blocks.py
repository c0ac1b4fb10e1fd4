"""Header blocks: what is written can be read, in order, and hostile ones end in a clear error."""

from __future__ import annotations

import hashlib
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.http.spdy.errors import SpdyViolation
from steersman.http.spdy.header_blocks import DICTIONARY, BlockDecoder, BlockEncoder

names = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20).map(str.lower)
values = st.text(st.characters(max_codepoint=255), max_size=50)


def compressed(block: bytes) -> bytes:
    compressor = zlib.compressobj(zdict=DICTIONARY)
    return compressor.compress(block) + compressor.flush(zlib.Z_SYNC_FLUSH)


def texts(*parts: bytes) -> bytes:
    return b"".join(struct.pack("!I", len(part)) + part for part in parts)


def test_the_dictionary_is_that_of_the_specification() -> None:
    assert len(DICTIONARY) == 1423
    # As RFC 1950 has it: the checksum that the first block of every connection names.
    assert zlib.adler32(DICTIONARY) == 0xE3C6A7C2
    assert hashlib.sha256(DICTIONARY).hexdigest()[:8] == "51d27341"


@given(st.lists(st.dictionaries(names, values, max_size=6), max_size=5))
def test_blocks_survive_one_after_the_other(blocks: list[dict[str, str]]) -> None:
    encoder, decoder = BlockEncoder(), BlockDecoder()
    assert [decoder.decode(encoder.encode(block)) for block in blocks] == blocks


def test_names_go_out_in_lower_case() -> None:
    assert BlockDecoder().decode(BlockEncoder().encode({"streamType": "Data"})) == {"streamtype": "Data"}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"not deflate at all", "cannot be decompressed"),
        (compressed(b"\0\0"), "cut off"),
        (compressed(struct.pack("!I", 1) + struct.pack("!I", 1000) + b"x"), "cut off"),
        (compressed(struct.pack("!I", 1) + texts(b"name")), "cut off"),
        (compressed(struct.pack("!I", 2) + texts(b"a", b"1", b"a", b"2")), "comes twice"),
        (compressed(struct.pack("!I", 0) + b"more"), "longer than its headers"),
        (compressed(b"\0" * (1 << 20)), "larger than"),
    ],
    ids=["garbage", "no count", "no name", "no value", "repeated", "trailing", "bomb"],
)
def test_broken_blocks_are_refused(data: bytes, problem: str) -> None:
    with pytest.raises(SpdyViolation, match=problem):
        BlockDecoder().decode(data)
