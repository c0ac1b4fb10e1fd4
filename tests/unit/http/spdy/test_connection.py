"""SPDY on asyncio: both ends joined in memory, or one end against frames of a peer that keeps no windows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from steersman.http.spdy import SpdyClosed, SpdyConnection, SpdyStream, StreamReset
from steersman.http.spdy.frames import Data, Frame, FrameDecoder, FrameEncoder, GoAway, SynReply, SynStream
from steersman.http.spdy.session import STREAM_WINDOW_BYTES

DEADLINE_S = 20


class Pipe:
    """One end of a connection in memory; what is written waits until the other end has read it."""

    def __init__(self) -> None:
        self.other: Pipe = self
        self._arrived: asyncio.Queue[bytes] = asyncio.Queue()
        self._unread = 0
        self._closed = False
        self._taken = asyncio.Event()

    async def read(self) -> bytes:
        data = await self._arrived.get()
        self.other._unread -= len(data)
        self.other._taken.set()
        return data

    def write(self, data: bytes) -> None:
        if not self._closed:
            self._unread += len(data)
            self.other._arrived.put_nowait(data)

    async def drain(self) -> None:
        while self._unread > 64 << 10:
            self._taken.clear()
            await self._taken.wait()

    @property
    def unread(self) -> int:
        return self._unread

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.other._arrived.put_nowait(b"")
            self._arrived.put_nowait(b"")


def pipes() -> tuple[Pipe, Pipe]:
    one, other = Pipe(), Pipe()
    one.other, other.other = other, one
    return one, other


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE_S):
            await test()

    asyncio.run(bounded())


async def accept(connection: SpdyConnection) -> SpdyStream:
    stream = await connection.accept()
    assert stream is not None
    stream.accept()
    return stream


async def opened(client: SpdyConnection, server: SpdyConnection) -> tuple[SpdyStream, SpdyStream]:
    return tuple(await asyncio.gather(client.open({"streamType": "data"}), accept(server)))  # type: ignore[return-value]


def both(test: Callable[[SpdyConnection, SpdyConnection], Awaitable[None]]) -> None:
    async def main() -> None:
        one, other = pipes()
        async with SpdyConnection(one, server=False) as client, SpdyConnection(other, server=True) as server:
            try:
                await test(client, server)
            finally:
                # The client hangs up first, as servers expect.
                one.close()

    run(main)


def test_data_passes_both_ways_and_each_way_ends_by_itself() -> None:
    async def test(client: SpdyConnection, server: SpdyConnection) -> None:
        here, there = await opened(client, server)
        assert there.headers == {"streamtype": "data"}
        await here.write(b"question")
        here.end()
        assert await there.read() == b"question"
        assert await there.read() == b""
        await there.write(b"answer")
        there.end()
        assert await here.read() == b"answer"
        assert await here.read() == b""

    both(test)


def test_megabytes_pass_both_ways_at_once_on_several_streams() -> None:
    size = 3 << 20

    async def echo(stream: SpdyStream) -> None:
        while data := await stream.read():
            await stream.write(data)
        stream.end()

    async def exchange(stream: SpdyStream, byte: bytes) -> bytes:
        async def send() -> None:
            await stream.write(byte * size)
            stream.end()

        sending = asyncio.ensure_future(send())
        parts = []
        while data := await stream.read():
            parts.append(data)
        await sending
        return b"".join(parts)

    async def test(client: SpdyConnection, server: SpdyConnection) -> None:
        pairs = [await opened(client, server) for _ in range(3)]
        echoing = [asyncio.ensure_future(echo(there)) for _, there in pairs]
        got = await asyncio.gather(*(exchange(here, b"%d" % index) for index, (here, _) in enumerate(pairs)))
        await asyncio.gather(*echoing)
        assert [data == b"%d" % index * size for index, data in enumerate(got)] == [True] * 3

    both(test)


def test_a_stream_that_is_not_read_stops_its_writer_but_not_the_others() -> None:
    async def test(client: SpdyConnection, server: SpdyConnection) -> None:
        stuck, unread = await opened(client, server)
        writing = asyncio.ensure_future(stuck.write(bytes(4 << 20)))
        here, there = await opened(client, server)
        for _ in range(50):
            await here.write(b"x" * 1000)
            assert await there.read() == b"x" * 1000
        assert not writing.done()
        assert unread.buffered <= STREAM_WINDOW_BYTES
        stuck.reset()
        with pytest.raises(StreamReset):
            await writing

    both(test)


def test_a_refused_stream_is_an_error() -> None:
    async def test(client: SpdyConnection, server: SpdyConnection) -> None:
        asking = asyncio.ensure_future(client.open({}))
        stream = await server.accept()
        assert stream is not None
        stream.reset()
        with pytest.raises(StreamReset):
            await asking

    both(test)


def test_a_lost_connection_ends_everything() -> None:
    async def main() -> None:
        one, other = pipes()
        async with SpdyConnection(one, server=False) as client, SpdyConnection(other, server=True) as server:
            here, there = await opened(client, server)
            await here.write(b"last words")
            while there.buffered == 0:
                await asyncio.sleep(0)
            one.close()
            assert await server.accept() is None
            # What came before is not lost.
            assert await there.read() == b"last words"
            for stream in (here, there):
                with pytest.raises(SpdyClosed):
                    await stream.read()
                with pytest.raises(SpdyClosed):
                    await stream.write(b"x")
            with pytest.raises(SpdyClosed):
                await client.open({})

    run(main)


class Raw:
    """A peer without flow control, as Kubernetes' own implementation is."""

    def __init__(self, pipe: Pipe) -> None:
        self.pipe = pipe
        self._encoder = FrameEncoder()
        self._decoder = FrameDecoder()
        self._frames: list[Frame] = []

    def say(self, *frames: Frame) -> None:
        for frame in frames:
            self.pipe.write(self._encoder.encode(frame))

    async def hear(self, kind: type[Frame]) -> Frame:
        while True:
            for index, frame in enumerate(self._frames):
                if isinstance(frame, kind):
                    del self._frames[: index + 1]
                    return frame
            self._frames = list(self._decoder.feed(await self.pipe.read()))


def test_a_peer_without_windows_is_slowed_down_by_not_reading() -> None:
    async def main() -> None:
        ours, theirs = pipes()
        raw = Raw(theirs)
        async with SpdyConnection(ours, server=True) as server:
            raw.say(SynStream(1))
            stream = await accept(server)
            assert await raw.hear(SynReply) == SynReply(1)
            for _ in range(100):
                raw.say(Data(1, bytes(32 << 10)))
            while stream.buffered <= STREAM_WINDOW_BYTES:
                await asyncio.sleep(0)
            for _ in range(100):
                await asyncio.sleep(0)
            assert stream.buffered < STREAM_WINDOW_BYTES + (64 << 10)
            assert theirs.unread > 2 << 20
            received = 0
            while received < 100 * (32 << 10):
                received += len(await stream.read())
            theirs.close()

    run(main)


def test_a_server_says_goodbye_and_lets_the_client_hang_up() -> None:
    async def main() -> None:
        ours, theirs = pipes()
        raw = Raw(theirs)
        connection = SpdyConnection(ours, server=True)
        connection.start()
        raw.say(SynStream(1))
        stream = await accept(connection)
        await stream.write(b"done")
        stream.end()
        closing = asyncio.ensure_future(connection.close())
        assert await raw.hear(Data) == Data(1, b"done")
        assert await raw.hear(Data) == Data(1, b"", fin=True)
        assert await raw.hear(GoAway) == GoAway(1)
        # What still comes is read and dropped.
        raw.say(*(Data(1, bytes(32 << 10)) for _ in range(50)))
        while theirs.unread:
            await asyncio.sleep(0)
        assert not closing.done()
        theirs.close()
        await closing

    run(main)


def test_a_violation_ends_the_connection() -> None:
    async def main() -> None:
        ours, theirs = pipes()
        async with SpdyConnection(ours, server=True) as server:
            theirs.write(b"GET / HTTP/1.1\r\n\r\n")
            assert await server.accept() is None

    run(main)
