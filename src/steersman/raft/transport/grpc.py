"""Members over gRPC: to every peer one long-lived stream, on which this member's messages go out.

Answers come on the stream that the peer opens in turn. Messages are msgpack (msgspec) in gRPC's frames: the
core's own values go out and come in without a second set of classes, and without generated code. Whatever
gathers while a frame is being written leaves in the next one.

With certificates both ends are verified, and their names are compared with the member list. When the files
change, streams are opened anew.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence, Set
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, TypeVar
from urllib.parse import unquote

import grpc  # type: ignore[import-untyped]
import msgspec

from steersman.aio import Backoff, Scope
from steersman.raft.core import (
    AppendRequest,
    AppendResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    Message,
    ReadRequest,
    ReadResponse,
    SnapshotChunk,
    SnapshotResponse,
    TimeoutNow,
    VoteRequest,
    VoteResponse,
)
from steersman.raft.errors import PeerUnavailable, SettingsError
from steersman.raft.state_machine import Located
from steersman.raft.transport.channels import OPTIONS, SERVICE, ask, open_channel, reason
from steersman.raft.transport.clients import METHOD, attend
from steersman.raft.transport.interface import (
    Administer,
    Hello,
    JoinReply,
    JoinRequest,
    Order,
    OrderReply,
    ProbeReply,
    ProbeRequest,
    Receiver,
)
from steersman.raft.transport.requests import Service
from steersman.raft.transport.tls import TlsFiles, names_match

__all__ = ["RaftNetwork"]

_log = logging.getLogger(__name__)

T = TypeVar("T")

_TLS_LOOK_S = 2.0
_IDLE_S = 5.0
_STOP_S = 1.0
#: Messages that wait for one peer. More means that it does not keep up, or is gone: the core sends again.
_QUEUE_LENGTH = 1024
_BACKOFF = Backoff(first_s=0.02, ceiling_s=0.5)

_SERVER_OPTIONS = [*OPTIONS, ("grpc.so_reuseport", 0)]

_Messages = list[
    AppendRequest | AppendResponse | HeartbeatRequest | HeartbeatResponse | ReadRequest | ReadResponse
    | SnapshotChunk | SnapshotResponse | TimeoutNow | VoteRequest | VoteResponse
]  # fmt: skip
#: An election does not wait for the next attempt to connect.
_URGENT = (VoteRequest, VoteResponse, TimeoutNow)
_encode = msgspec.msgpack.Encoder().encode
_decode_messages = msgspec.msgpack.Decoder(_Messages).decode
_decode_hello = msgspec.msgpack.Decoder(Hello).decode


class RaftNetwork:
    """One member's end of the network."""

    def __init__(
        self,
        listen: str,
        hello: Callable[[int], Hello],
        locate: Callable[[int], Located | None],
        tls: TlsFiles | None = None,
        administer: Administer | None = None,
        service: Service | None = None,
    ) -> None:
        """Listens on `listen` (HOST:PORT). `hello` introduces this member to another; `locate` tells where
        a member is; `administer` takes orders, `service` the requests of clients. Without `tls` everything is
        in the clear: the settings decide where that may be, and orders and requests are taken from this
        machine only."""
        self._listen = listen
        self._hello = hello
        self._locate = locate
        self._tls = tls
        self._administer = administer
        self._service = service
        self._server: Any = None
        self._receiver: Receiver
        self._scope = Scope(on_error=lambda error: _log.error("raft network: %s", error, exc_info=error))
        self._peers: dict[int, _Peer] = {}
        #: Streams that others have opened, by the tasks that read them.
        self._inbound: set[asyncio.Task[Any]] = set()
        self._closing = False
        self.port = 0

    async def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        server = self._server = grpc.aio.server(options=_SERVER_OPTIONS)
        handlers = {
            "Stream": grpc.stream_stream_rpc_method_handler(self._stream),
            "Probe": grpc.unary_unary_rpc_method_handler(self._probed),
            "Join": grpc.unary_unary_rpc_method_handler(self._joining),
            "Order": grpc.unary_unary_rpc_method_handler(self._ordered),
            METHOD: grpc.stream_stream_rpc_method_handler(self._requested),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        try:
            if self._tls is None:
                self.port = server.add_insecure_port(self._listen)
            else:
                self.port = server.add_secure_port(self._listen, _server_credentials(self._tls))
        except RuntimeError as error:
            raise SettingsError(f"cannot listen on {self._listen}") from error
        await server.start()
        if self._tls is not None:
            self._scope.start(self._watch_files(self._tls), name="raft certificates")

    async def stop(self) -> None:
        await self._scope.close()
        # Streams that the server would have to cut off itself are reported by gRPC as errors.
        self._closing = True
        for task in self._inbound:
            task.cancel()
        if self._inbound:
            await asyncio.wait(tuple(self._inbound), timeout=_STOP_S)
        if self._server is not None:
            await self._server.stop(0)

    # Out

    def send(self, messages: Sequence[Message]) -> None:
        for message in messages:
            peer = self._peer(message.to)
            if peer is not None:
                peer.put(message)

    def _peer(self, member: int) -> _Peer | None:
        peer = self._peers.get(member)
        if peer is None and not self._scope.closed and self._locate(member) is not None:
            peer = self._peers[member] = _Peer(self, member)
            self._scope.start(peer.run(), name=f"raft to {member}")
        return peer

    def keep(self, members: Set[int]) -> None:
        """Have streams to these ready, and end those to others that nothing is sent on any more."""
        for member in members:
            self._peer(member)
        for member in self._peers.keys() - members:
            if self._peers[member].idle_s > _IDLE_S:
                self._peers.pop(member).end()

    async def probe(self, at: Located, request: ProbeRequest) -> ProbeReply:
        return await ask(at, self._tls, "Probe", request, ProbeReply)

    async def join(self, at: Located, request: JoinRequest) -> JoinReply:
        return await ask(at, self._tls, "Join", request, JoinReply)

    async def connect(self, member: int) -> tuple[Any, Any]:
        """A channel to a member, and a stream on it that begins with who this is."""
        located = self._locate(member)
        if located is None:
            raise PeerUnavailable(f"no address is known of member {member} is")
        channel = open_channel(located, self._tls)
        try:
            stream = channel.stream_stream(f"/{SERVICE}/Stream")()
            await stream.write(_encode(self._hello(member)))
        except BaseException:
            await channel.close()
            raise
        return channel, stream

    async def _watch_files(self, tls: TlsFiles) -> None:
        stamp = tls.stamp()
        while True:
            await asyncio.sleep(_TLS_LOOK_S)
            if (now := tls.stamp()) != stamp:
                stamp = now
                _log.info("raft: the certificates have changed")
                for peer in self._peers.values():
                    peer.renew()

    # In

    async def _stream(self, frames: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        try:
            hello = _decode_hello(await anext(frames))
            refusal = self._doubt(context, hello.located) or self._receiver.admit(hello)
        except (StopAsyncIteration, msgspec.MsgspecError):
            refusal = "no greeting"
        if refusal:
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, refusal)
        peer = self._peers.get(hello.sender)
        if peer is not None:
            peer.hurry()
        await self._until_closing(self._take(frames, hello.sender, context))
        return
        yield b""

    async def _until_closing(self, reading: Awaitable[None]) -> None:
        """A stream that others have opened, until it ends or is ended here."""
        task = asyncio.current_task()
        assert task is not None
        self._inbound.add(task)
        try:
            await reading
        except asyncio.CancelledError:
            if not self._closing:
                raise
        finally:
            self._inbound.discard(task)

    async def _take(self, frames: AsyncIterator[bytes], sender: int, context: Any) -> None:
        async for frame in frames:
            try:
                messages = _decode_messages(frame)
            except msgspec.MsgspecError as error:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            if any(message.sender != sender for message in messages):
                await context.abort(grpc.StatusCode.PERMISSION_DENIED, "a message in another member's name")
            self._receiver.receive(messages)

    def _doubt(self, context: Any, located: Located) -> str:
        """Empty, or why the peer's certificate does not show who it says it is."""
        if self._tls is None:
            return ""
        names = _shown(context)
        if names_match(names, located.name):
            return ""
        return f"the certificate is for {', '.join(names) or 'no name'}, not for {located.name}"

    async def _probed(self, request: bytes, context: Any) -> bytes:
        return _encode(self._receiver.probed(await _decoded(request, ProbeRequest, context)))

    async def _joining(self, request: bytes, context: Any) -> bytes:
        join = await _decoded(request, JoinRequest, context)
        refusal = self._doubt(context, join.located)
        return _encode(JoinReply(refusal) if refusal else await self._receiver.joining(join))

    async def _ordered(self, request: bytes, context: Any) -> bytes:
        if self._administer is None:
            return _encode(OrderReply("this node accepts no commands"))
        if self._tls is None and not _is_here(context.peer()):
            return _encode(
                OrderReply("without certificates, commands are accepted from the node's machine only")
            )
        order = await _decoded(request, Order, context)
        return _encode(await self._administer(order, None if self._tls is None else _shown(context)))

    async def _requested(self, frames: AsyncIterator[bytes], context: Any) -> None:
        service = self._service
        if service is None:
            refusal = "this node accepts no requests"
        elif self._tls is None and not _is_here(context.peer()):
            refusal = "without certificates, requests are accepted from the node's machine only"
        else:
            refusal = service.refuse(None if self._tls is None else _shown(context))
        if service is None or refusal:
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, refusal)
            return
        await self._until_closing(attend(service, frames, context))


async def _decoded(request: bytes, kind: type[T], context: Any) -> T:
    try:
        return msgspec.msgpack.decode(request, type=kind)
    except msgspec.MsgspecError as error:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        raise  # abort has raised


class _Peer:
    """The stream to one member, and what waits to go out on it."""

    def __init__(self, network: RaftNetwork, member: int) -> None:
        self._network = network
        self._member = member
        self._queue: deque[Message] = deque(maxlen=_QUEUE_LENGTH)
        self._wake = asyncio.Event()
        #: Ends the pause between two attempts to connect.
        self._hurry = asyncio.Event()
        self._put_at = time.monotonic()
        self._ended = False
        self._renew = False

    @property
    def idle_s(self) -> float:
        return time.monotonic() - self._put_at

    def put(self, message: Message) -> None:
        self._put_at = time.monotonic()
        self._queue.append(message)
        self._wake.set()
        if isinstance(message, _URGENT):
            self._hurry.set()

    def hurry(self) -> None:
        """There is reason to believe that it can be reached."""
        self._hurry.set()

    def end(self) -> None:
        self._ended = True
        self._wake.set()
        self._hurry.set()

    def renew(self) -> None:
        self._renew = True
        self._wake.set()

    async def run(self) -> None:
        failures = 0
        while not self._ended:
            try:
                channel, stream = await self._network.connect(self._member)
            except (PeerUnavailable, SettingsError, grpc.aio.AioRpcError, asyncio.InvalidStateError) as error:
                failures += 1
                _log.debug("raft to %d: %s", self._member, reason(error))
            else:
                try:
                    failures = failures + 1 if not await self._pass_on(stream) else 0
                finally:
                    await channel.close()
            if failures:
                # What waited is old by the time somebody listens.
                self._queue.clear()
                self._hurry.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_BACKOFF.wait_s(failures)):
                        await self._hurry.wait()

    async def _pass_on(self, stream: Any) -> bool:
        """Write until the stream breaks (False), or is not wanted any more."""
        stream.add_done_callback(lambda _: self._wake.set())
        try:
            while True:
                while not self._queue:
                    self._wake.clear()
                    if self._ended or self._renew or stream.done():
                        break
                    await self._wake.wait()
                if self._ended or self._renew:
                    self._renew = False
                    return True
                if stream.done():
                    with suppress(grpc.aio.AioRpcError):
                        _log.debug("raft to %d: %s", self._member, await stream.details())
                    return False
                frame = _encode(list(self._queue))
                self._queue.clear()
                await stream.write(frame)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError) as error:
            _log.debug("raft to %d: %s", self._member, reason(error))
            return False
        finally:
            stream.cancel()


def _worth_logging(record: logging.LogRecord) -> bool:
    """gRPC reports as an error that a stream was cancelled, which is how every server ends."""
    return not (record.exc_info and record.exc_info[0] is asyncio.CancelledError)


logging.getLogger("grpc._cython.cygrpc").addFilter(_worth_logging)


def _shown(context: Any) -> list[str]:
    """The names of the peer's certificate."""
    shown = context.auth_context()
    kinds = ("x509_subject_alternative_name", "x509_common_name")
    names = (name.decode(errors="replace") for kind in kinds for name in shown.get(kind, ()))
    return list(dict.fromkeys(names))


def _is_here(peer: str) -> bool:
    """Whether gRPC's name of a peer, `ipv4:127.0.0.1:5` or `ipv6:%5B::1%5D:5`, is one of this machine."""
    family, _, address = unquote(peer).partition(":")
    if family == "unix":
        return True
    try:
        return ip_address(address.rpartition(":")[0].strip("[]")).is_loopback
    except ValueError:
        return False


def _server_credentials(tls: TlsFiles) -> Any:
    """Credentials that follow the files: gRPC asks before every handshake."""

    def configuration() -> Any:
        pems = tls.read()
        return grpc.ssl_server_certificate_configuration([(pems.key, pems.cert)], pems.ca)

    stamp = tls.stamp()

    def fetch() -> Any:
        nonlocal stamp
        now = tls.stamp()
        if now == stamp:
            return None
        try:
            fresh = configuration()
        except (SettingsError, ValueError) as error:
            _log.error("raft: keeping the old certificate: %s", error)
            return None
        stamp = now
        return fresh

    return grpc.dynamic_ssl_server_credentials(configuration(), fetch, require_client_authentication=True)
