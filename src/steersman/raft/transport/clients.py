"""The two ends of a client's stream over gRPC: `connect` opens it, `attend` serves it.

Frames are msgpack as the members' are, and as there whatever gathers while one is being written leaves in the
next: with many requests in flight a frame costs little more than with one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc  # type: ignore[import-untyped]
import msgspec

from steersman.aio import Scope
from steersman.raft.errors import NotAllowed, PeerUnavailable
from steersman.raft.state_machine import Located
from steersman.raft.transport.channels import SERVICE, open_channel, reason
from steersman.raft.transport.requests import (
    Conversation,
    Found,
    Read,
    Reply,
    Request,
    Service,
    Welcome,
    Write,
    decode_replies,
    decode_requests,
    decode_welcome,
    encode,
    next_frame,
)
from steersman.raft.transport.tls import TlsFiles

__all__ = ["METHOD", "attend", "connect"]

METHOD = "Requests"
#: Of one client: as long as more are under way, no more are read.
_MAX_UNANSWERED = 4096


# The client's end


async def connect(at: Located, tls: TlsFiles | None) -> Conversation:
    """When the node has taken the stream: nothing was asked before. Raises PeerUnavailable, NotAllowed."""
    channel = open_channel(at, tls)
    stream = channel.stream_stream(f"/{SERVICE}/{METHOD}")()
    try:
        welcome = decode_welcome(await _frame(stream, at))
    except msgspec.MsgspecError as error:
        await channel.close()
        raise PeerUnavailable(f"{at.name} at {at.address}: {error}") from error
    except BaseException:
        await channel.close()
        raise
    return _Stream(channel, stream, at, welcome)


class _Stream:
    def __init__(self, channel: Any, stream: Any, at: Located, welcome: Welcome) -> None:
        self._channel = channel
        self._stream = stream
        self._at = at
        self.welcome = welcome

    async def send(self, requests: Sequence[Request]) -> None:
        try:
            await self._stream.write(encode(requests))
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError) as error:
            raise PeerUnavailable(f"{self._at.name} at {self._at.address}: {reason(error)}") from error

    async def receive(self) -> Sequence[Reply]:
        frame = await _frame(self._stream, self._at)
        try:
            return decode_replies(frame)
        except msgspec.MsgspecError as error:
            raise PeerUnavailable(f"{self._at.name} at {self._at.address}: {error}") from error

    async def close(self) -> None:
        self._stream.cancel()
        await self._channel.close()


async def _frame(stream: Any, at: Located) -> bytes:
    try:
        frame = await stream.read()
    except grpc.aio.AioRpcError as error:
        why = f"{at.name} at {at.address}: {reason(error)}"
        if error.code() is grpc.StatusCode.PERMISSION_DENIED:
            raise NotAllowed(why) from error
        raise PeerUnavailable(why) from error
    if frame is grpc.aio.EOF:
        raise PeerUnavailable(f"{at.name} at {at.address}: the node has ended the stream")
    taken: bytes = frame
    return taken


# The node's end


async def attend(service: Service, frames: AsyncIterator[bytes], context: Any) -> None:
    """Until the client has no more to ask, or is gone."""
    await context.write(encode(service.welcome()))
    replies = _Replies(context)
    async with Scope() as scope:
        scope.start(replies.run(), name="raft replies")
        async for frame in frames:
            try:
                requests = decode_requests(frame)
            except msgspec.MsgspecError as error:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            replies.expect(len(requests))
            reads = [request for request in requests if isinstance(request, Read)]
            if reads:
                scope.start(_read(service, reads, replies), name="raft reads")
            writes = [request for request in requests if isinstance(request, Write)]
            if writes:
                service.write(writes, replies.put)
            await replies.room()


async def _read(service: Service, reads: Sequence[Read], replies: _Replies) -> None:
    for reply in await service.read(reads):
        replies.put(reply)


class _Replies:
    """What one client is answered, on its way out."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._queue: deque[Reply] = deque()
        self._wake = asyncio.Event()
        #: Requests whose replies have not left.
        self._unanswered = 0
        self._less = asyncio.Event()

    def expect(self, count: int) -> None:
        self._unanswered += count

    def put(self, reply: Reply) -> None:
        self._queue.append(reply)
        self._wake.set()

    async def room(self) -> None:
        """Return when more may be asked."""
        while self._unanswered > _MAX_UNANSWERED:
            self._less.clear()
            await self._less.wait()

    async def run(self) -> None:
        while True:
            self._wake.clear()
            while self._queue:
                frame = next_frame(self._queue, _size)
                try:
                    await self._context.write(encode(frame))
                except grpc.aio.BaseError:
                    return  # the client is gone; whoever reads from it is told
                self._unanswered -= len(frame)
                self._less.set()
            await self._wake.wait()


def _size(reply: Reply) -> int:
    return len(reply.value.data) if isinstance(reply, Found) and reply.value is not None else 0
