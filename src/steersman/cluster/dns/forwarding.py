"""Forwarding of DNS queries for names outside the cluster to the machine's resolvers.

Each query has a socket of its own, so that its port is as hard to guess as its id. A resolver that is this
server itself is left out: asking it would never end.
"""

from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from steersman.cluster.dns.errors import MalformedMessage, NoResolverAnswered
from steersman.cluster.dns.wire import DnsMessage, DnsQuestion, DnsRecord, RecordType, read, write

__all__ = ["Forwarding", "machine_resolvers"]

_PORT: Final = 53
_TIMEOUT_S: Final = 2.0
#: Questions asked at the same time; more are not.
_MOST: Final = 512
#: What is passed on of a name that another name leads to.
_RESOLVED: Final = (RecordType.A, RecordType.AAAA, RecordType.CNAME, RecordType.SRV)
_PREFIX: Final = struct.Struct("!H")
_random = random.SystemRandom()


def machine_resolvers(file: Path = Path("/etc/resolv.conf")) -> list[tuple[str, int]]:
    """Whom this machine asks."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    words = (line.split() for line in lines)
    return [(line[1], _PORT) for line in words if len(line) > 1 and line[0] == "nameserver"]


class Forwarding:
    """Forwards queries."""

    def __init__(
        self,
        resolvers: Callable[[], Sequence[tuple[str, int]]] = machine_resolvers,
        *,
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        """`resolvers` is asked each time, since a machine's may change."""
        self._resolvers = resolvers
        self._timeout_s = timeout_s
        self._asked = 0
        #: Addresses that are this server's own.
        self.own: set[str] = set()

    async def ask(self, query: bytes, *, by_tcp: bool = False) -> bytes:
        """What the first resolver says to a query that answers it: passed on as it is, but for its number.

        Raises `NoResolverAnswered`.
        """
        if self._asked >= _MOST:
            raise NoResolverAnswered("too many questions at once")
        self._asked += 1
        try:
            for resolver in self._resolvers():
                if resolver[0] in self.own:
                    continue
                with suppress(OSError, TimeoutError, MalformedMessage, asyncio.IncompleteReadError):
                    async with asyncio.timeout(self._timeout_s):
                        answer = await _ask(resolver, _PREFIX.pack(_number()) + query[2:], by_tcp)
                    return query[:2] + answer[2:]
        finally:
            self._asked -= 1
        raise NoResolverAnswered("no resolver answered")

    async def resolve(self, question: DnsQuestion) -> list[DnsRecord]:
        """The addresses and CNAMEs of a name. Raises `NoResolverAnswered`."""
        query = write(DnsMessage(_number(), question, recursion_desired=True))
        return [each for each in read(await self.ask(query)).answers if each.kind in _RESOLVED]


def _number() -> int:
    return _random.getrandbits(16)


async def _ask(resolver: tuple[str, int], query: bytes, by_tcp: bool) -> bytes:
    if by_tcp:
        return await _ask_by_tcp(resolver, query)
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[bytes] = loop.create_future()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: _Waiting(query, answered), remote_addr=resolver
    )
    try:
        transport.sendto(query)
        return await answered
    finally:
        transport.close()


async def _ask_by_tcp(resolver: tuple[str, int], query: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*resolver)
    try:
        writer.write(_PREFIX.pack(len(query)) + query)
        (size,) = _PREFIX.unpack(await reader.readexactly(_PREFIX.size))
        answer = await reader.readexactly(size)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    if not _answers(answer, query):
        raise MalformedMessage("an answer to something else")
    return answer


class _Waiting(asyncio.DatagramProtocol):
    """The socket of a forwarded query, waiting for its answer."""

    def __init__(self, query: bytes, answered: asyncio.Future[bytes]) -> None:
        self._query = query
        self._answered = answered

    def datagram_received(self, data: bytes, addr: object) -> None:
        if not self._answered.done() and _answers(data, self._query):
            self._answered.set_result(data)

    def error_received(self, exc: Exception) -> None:
        if not self._answered.done():
            self._answered.set_exception(exc)


def _answers(data: bytes, query: bytes) -> bool:
    """Whether this is an answer to that, and not somebody's guess."""
    try:
        answer, asked = read(data), read(query)
    except MalformedMessage:
        return False
    if not answer.is_response or answer.number != asked.number:
        return False
    if answer.question is None or asked.question is None or answer.question.kind != asked.question.kind:
        return False
    return [label.lower() for label in answer.question.name] == [
        label.lower() for label in asked.question.name
    ]
