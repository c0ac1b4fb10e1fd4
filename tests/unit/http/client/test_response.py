"""Reading a streamed answer line by line."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.http.body import Body
from steersman.http.client.response import Lines
from steersman.http.errors import ProtocolError


def lines_of(chunks: list[bytes], limit: int = 1000) -> list[bytes]:
    async def main() -> list[bytes]:
        body = Body()
        for chunk in chunks:
            body.feed(chunk)
        body.finish()
        return [line async for line in Lines(body, limit)]

    return asyncio.run(main())


@given(st.lists(st.text("ab\n", max_size=12).map(str.encode), max_size=8))
def test_lines_do_not_depend_on_the_chunks(chunks: list[bytes]) -> None:
    expected = b"".join(chunks).split(b"\n")
    if not expected[-1]:
        expected.pop()
    assert lines_of(chunks) == expected


def test_endless_line_is_an_error() -> None:
    with pytest.raises(ProtocolError, match="longer than 10 bytes"):
        lines_of([b"12345678"] * 2, limit=10)
