"""gzip: negotiation and safe decompression."""

from __future__ import annotations

import asyncio
import gzip
import random
import zlib
from collections.abc import AsyncIterator

import pytest

from steersman.http import Headers
from steersman.http.body import Body
from steersman.http.coding import CodingError, Inflated, OutputTooLarge, accepts_gzip, inflate
from steersman.http.errors import ProtocolError


@pytest.mark.parametrize(
    "value,accepted",
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("gzip;q=nonsense", False),
        ("*", True),
        ("*;q=0", False),
        ("*;q=0, gzip", True),
        ("gzip;q=0, *", False),
        ("identity", False),
        ("", False),
    ],
)
def test_accept_encoding_decides(value: str, accepted: bool) -> None:
    assert accepts_gzip(Headers([(b"accept-encoding", value.encode())])) is accepted


def test_no_accept_encoding_means_no() -> None:
    assert not accepts_gzip(Headers([]))


@pytest.mark.parametrize(
    "data",
    [b"plain", gzip.compress(b"abc")[:-3], gzip.compress(b"abc") + b"more"],
    ids=["no gzip", "truncated", "trailing data"],
)
def test_bad_gzip_is_an_error(data: bytes) -> None:
    with pytest.raises(CodingError):
        inflate(data, 100)


def test_bombs_are_stopped_at_the_limit() -> None:
    with pytest.raises(OutputTooLarge):
        inflate(gzip.compress(bytes(10_000_000)), 1000)
    assert inflate(gzip.compress(b"x" * 1000), 1000) == b"x" * 1000


def body_of(*chunks: bytes) -> AsyncIterator[bytes]:
    body = Body()
    for chunk in chunks:
        body.feed(chunk)
    body.finish()
    return body


def test_streams_are_inflated_in_bounded_steps() -> None:
    async def main() -> list[int]:
        packed = gzip.compress(bytes(2_000_000))
        return [len(part) async for part in Inflated(body_of(packed[:50], packed[50:]), ProtocolError)]

    sizes = asyncio.run(main())
    assert sum(sizes) == 2_000_000
    assert max(sizes) <= 256 << 10


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


async def plain_of(*chunks: bytes) -> bytes:
    return b"".join([part async for part in Inflated(body_of(*chunks), ProtocolError)])


EMPTY = gzip.compress(b"")


@pytest.mark.parametrize("size", [1, 7, 1000, 10_000_000], ids=lambda size: f"pieces of {size}")
@pytest.mark.parametrize(
    "members",
    [
        pytest.param([b"one\n", b"two\n", b"three\n"], id="a member for each flush"),
        pytest.param([b'{"type":"ADD', b'ED"}\n{"type"', b':"DELETED"}\n'], id="flushed within lines"),
        pytest.param([b"", b"", b"one\n", b"", b"two\n", b""], id="empty ones between"),
        pytest.param([b"", b""], id="only empty ones"),
        pytest.param([random.Random(1).randbytes(70_000), bytes(600_000), b"end"], id="large ones"),
        pytest.param([], id="nothing at all"),
    ],
)
def test_members_that_follow_each_other_are_one_stream(members: list[bytes], size: int) -> None:
    packed = b"".join(map(gzip.compress, members))
    assert asyncio.run(plain_of(*cut(packed, size))) == b"".join(members)
    assert inflate(packed, 1_000_000) == b"".join(members)


def test_contents_are_there_as_soon_as_their_bytes_are() -> None:
    """A watch may be silent for minutes after an event."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    # As much as one step gives, and a repetition that zlib holds back the end of.
    first = packer.compress(bytes(256 << 10) + b"end") + packer.flush(zlib.Z_SYNC_FLUSH)
    second = gzip.compress(b"event\n")

    async def main() -> None:
        body = Body()
        parts = Inflated(body, ProtocolError)
        body.feed(first)
        seen = b""
        while not seen.endswith(b"end"):
            seen += await asyncio.wait_for(anext(parts), 5)
        body.feed(packer.flush() + second)
        assert await asyncio.wait_for(anext(parts), 5) == b"event\n"

    asyncio.run(main())


def test_members_that_cost_more_than_they_say_are_refused() -> None:
    with pytest.raises(CodingError, match="too many members"):
        inflate(gzip.compress(b"a") * 2000, 1_000_000)
    with pytest.raises(ProtocolError, match="without contents"):
        asyncio.run(plain_of(EMPTY * 2000))
    assert asyncio.run(plain_of((EMPTY * 900 + gzip.compress(b"a")) * 3)) == b"aaa"


@pytest.mark.parametrize(
    "chunks",
    [
        (b"no gzip",),
        (gzip.compress(b"abc")[:-1],),
        (gzip.compress(b"abc"), b"more"),
        (gzip.compress(b"abc"), gzip.compress(b"def")[:-1]),
        (gzip.compress(b"abc"), gzip.compress(b"def")[:5]),
        (gzip.compress(b"abc"), bytes(8)),
    ],
    ids=["no gzip", "truncated", "trailing data", "truncated later", "a begun head", "padding"],
)
def test_bad_streams_raise_the_readers_error(chunks: tuple[bytes, ...]) -> None:
    with pytest.raises(ProtocolError):
        asyncio.run(plain_of(*chunks))
