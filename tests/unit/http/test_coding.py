"""gzip: negotiation and safe decompression."""

from __future__ import annotations

import asyncio
import gzip
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


@pytest.mark.parametrize(
    "chunks",
    [(b"no gzip",), (gzip.compress(b"abc")[:-1],), (gzip.compress(b"abc"), b"more")],
    ids=["no gzip", "truncated", "trailing data"],
)
def test_bad_streams_raise_the_readers_error(chunks: tuple[bytes, ...]) -> None:
    async def main() -> None:
        async for _ in Inflated(body_of(*chunks), ProtocolError):
            pass

    with pytest.raises(ProtocolError):
        asyncio.run(main())
