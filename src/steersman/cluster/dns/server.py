"""The DNS server: answers queries over UDP and TCP from the zone, or forwards them.

Malformed messages never end the server; a message that is no query is not answered.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import struct
import time
from collections.abc import Callable
from typing import Any, Final

from steersman.aio import Scope
from steersman.cluster.dns.errors import MalformedMessage, NoResolverAnswered
from steersman.cluster.dns.forwarding import Forwarding
from steersman.cluster.dns.wire import DnsMessage, DnsQuestion, RecordType, ResponseCode, read, write
from steersman.cluster.dns.zone import Zone, ZoneAnswer

__all__ = ["DnsServer"]

_log = logging.getLogger(__name__)

_SMALL: Final = 512
_LARGE: Final = 4096
_IN: Final = 1
#: Names that lead to names that lead to …
_MOST_STEPS: Final = 8
_IDLE_S: Final = 10.0
_MOST_CONNECTIONS: Final = 256
_TRIES: Final = 20
_PREFIX: Final = struct.Struct("!H")


class DnsServer:
    """Serves DNS on UDP and TCP."""

    def __init__(self, zone: Zone, forwarding: Forwarding | None) -> None:
        """Without `forwarding` only the cluster's names are known."""
        self._zone = zone
        self._forwarding = forwarding
        self._scope = Scope(on_error=_report)
        self._transport: asyncio.DatagramTransport | None = None
        self._listener: asyncio.Server | None = None
        self._connections = 0
        self.port = 0

    async def start(self, address: str, port: int) -> None:
        """Listen; port 0 takes one that is free for both. Raises OSError."""
        for tries in range(_TRIES if not port else 1):
            try:
                await self._listen(address, port)
            except OSError as error:
                await self._stop_listening()
                if error.errno != errno.EADDRINUSE or tries == _TRIES - 1 or port:
                    raise
            else:
                return

    async def _listen(self, address: str, port: int) -> None:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(
            lambda: _Datagrams(self._on_datagram), local_addr=(address, port)
        )
        self.port = self._transport.get_extra_info("sockname")[1]
        self._listener = await asyncio.start_server(self._on_connection, address, self.port)

    async def close(self) -> None:
        await self._stop_listening()
        await self._scope.close()

    async def _stop_listening(self) -> None:
        transport, self._transport = self._transport, None
        listener, self._listener = self._listener, None
        if transport is not None:
            transport.close()
        if listener is not None:
            listener.close()

    # --- messages in and out

    def _on_datagram(self, data: bytes, sender: Any) -> None:
        answer = self._answer(data)
        if isinstance(answer, DnsMessage):
            self._send(write(answer, _room(answer)), sender)
        elif answer is not None:
            self._scope.start(self._send_later(answer, data, sender))

    async def _send_later(self, question: _Pending, data: bytes, sender: Any) -> None:
        answer = await self._ask_on(question, data, by_tcp=False)
        self._send(answer if isinstance(answer, bytes) else write(answer, _room(answer)), sender)

    def _send(self, data: bytes, sender: Any) -> None:
        if self._transport is not None:
            self._transport.sendto(data, sender)

    def _on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._connections >= _MOST_CONNECTIONS or self._scope.closed:
            writer.close()
        else:
            self._scope.start(self._serve(reader, writer))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            while True:
                async with asyncio.timeout(_IDLE_S):
                    (size,) = _PREFIX.unpack(await reader.readexactly(_PREFIX.size))
                    data = await reader.readexactly(size)
                answer = self._answer(data)
                if answer is None:
                    return
                whole = (
                    await self._ask_on(answer, data, by_tcp=True) if isinstance(answer, _Pending) else answer
                )
                encoded = whole if isinstance(whole, bytes) else write(whole)
                writer.write(_PREFIX.pack(len(encoded)) + encoded)
                async with asyncio.timeout(_IDLE_S):
                    await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            return
        finally:
            self._connections -= 1
            writer.close()

    # --- questions and answers

    def _answer(self, data: bytes) -> DnsMessage | _Pending | None:
        """The answer; what is to be asked first; or nothing for what is no question."""
        try:
            query = read(data)
        except MalformedMessage:
            return _malformed(data)
        if query.is_response:
            return None
        answer = DnsMessage(
            query.number,
            query.question,
            is_response=True,
            operation=query.operation,
            recursion_desired=query.recursion_desired,
            recursion_available=self._forwarding is not None,
            payload=query.payload,
        )
        question = query.question
        answer.code = _refusal(query)
        if answer.code or question is None:
            return answer
        if not self._zone.covers(question.name):
            if self._forwarding is not None:
                return _Pending(answer)
            answer.code = ResponseCode.REFUSED
            return answer
        answer.authoritative = True
        return self._fill(answer, question)

    def _fill(self, answer: DnsMessage, question: DnsQuestion) -> DnsMessage | _Pending:
        """Give an answer what the zone knows, following names to names."""
        serial = int(time.time())
        name = question.name
        for _ in range(_MOST_STEPS):
            found = self._zone.look_up(name, question.kind, serial)
            if found is None:
                answer.code = ResponseCode.NXDOMAIN
                break
            answer.answers += found.records
            answer.additional += found.additional
            if found.continues_at is None:
                break
            name = found.continues_at
            if not self._zone.covers(name):
                return answer if self._forwarding is None else _Pending(answer, found)
        if not answer.answers:
            answer.authority.append(self._zone.soa(question.name, serial))
        return answer

    async def _ask_on(self, pending: _Pending, data: bytes, *, by_tcp: bool) -> DnsMessage | bytes:
        answer, forwarding = pending.answer, self._forwarding
        assert forwarding is not None
        assert answer.question is not None
        try:
            if pending.found is None:
                return await forwarding.ask(data, by_tcp=by_tcp)
            assert pending.found.continues_at is not None
            onward = DnsQuestion(pending.found.continues_at, answer.question.kind)
            answer.answers += await forwarding.resolve(onward)
        except NoResolverAnswered:
            # A name that leads elsewhere is an answer all the same.
            answer.code = ResponseCode.NOERROR if answer.answers else ResponseCode.SERVFAIL
        return answer


class _Pending:
    """A query to be forwarded: as a whole, or from a CNAME on."""

    __slots__ = ("answer", "found")

    def __init__(self, answer: DnsMessage, found: ZoneAnswer | None = None) -> None:
        self.answer = answer
        self.found = found


class _Datagrams(asyncio.DatagramProtocol):
    """The UDP endpoint."""

    def __init__(self, on_datagram: Callable[[bytes, Any], None]) -> None:
        self._on_datagram = on_datagram

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self._on_datagram(data, addr)


def _refusal(query: DnsMessage) -> int:
    """The code for what is not answered whatever the name."""
    question = query.question
    if query.operation:
        return ResponseCode.NOTIMP
    if question is None:
        return ResponseCode.FORMERR
    if query.payload is not None and query.edns_version:
        return ResponseCode.BADVERS
    if question.class_ != _IN or question.kind == RecordType.AXFR:
        return ResponseCode.REFUSED
    return ResponseCode.NOERROR


def _malformed(data: bytes) -> DnsMessage | None:
    """What can be said to who sent something that looks like a question at most."""
    if len(data) < 12 or data[2] & 0x80:
        return None
    return DnsMessage(int.from_bytes(data[:2], "big"), is_response=True, code=ResponseCode.FORMERR)


def _room(answer: DnsMessage) -> int:
    """How much the asker takes in one datagram."""
    return _SMALL if answer.payload is None else min(max(answer.payload, _SMALL), _LARGE)


def _report(error: BaseException) -> None:
    _log.error("a question was not answered", exc_info=error)
