"""Bodies between network and reader."""

from __future__ import annotations

import asyncio

import pytest

from steersman.aio import Scope
from steersman.http.body import HIGH_WATER_BYTES, Body
from steersman.http.errors import ConnectionClosed


class Source:
    def __init__(self) -> None:
        self.calls: list[str] = []

    def body_wanted(self) -> None:
        self.calls.append("wanted")

    def body_drained(self) -> None:
        self.calls.append("drained")


def test_reader_gets_chunks_then_the_end() -> None:
    async def main() -> None:
        source = Source()
        body = Body(source)
        async with Scope() as scope:
            reading = scope.start(body.read())
            await asyncio.sleep(0)
            assert source.calls == ["wanted"]
            body.feed(b"ab")
            body.feed(b"cd")
            body.finish()
            assert await reading == b"abcd"

    asyncio.run(main())


def test_source_is_told_when_there_is_room_again() -> None:
    async def main() -> None:
        source = Source()
        body = Body(source)
        body.feed(b"x" * HIGH_WATER_BYTES)
        body.feed(b"y")
        await anext(body)
        assert source.calls == ["drained"]

    asyncio.run(main())


def test_failure_comes_after_what_was_received() -> None:
    async def main() -> None:
        body = Body()
        body.feed(b"ab")
        body.fail(ConnectionClosed("gone"))
        assert await anext(body) == b"ab"
        with pytest.raises(ConnectionClosed):
            await anext(body)

    asyncio.run(main())


def test_failure_after_the_end_is_ignored() -> None:
    async def main() -> None:
        body = Body()
        body.finish()
        body.fail(ConnectionClosed("gone"))
        assert await body.read() == b""

    asyncio.run(main())


def test_two_readers_are_an_error() -> None:
    async def main() -> None:
        body = Body()
        async with Scope() as scope:
            scope.start(body.read())
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="another task"):
                await anext(body)

    asyncio.run(main())
