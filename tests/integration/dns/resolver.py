"""Asks a DNS server, as a resolver would: by UDP or TCP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from ipaddress import IPv4Address
from typing import Any

from steersman.cluster.dns.wire import DnsMessage, DnsQuestion, RecordType, name_of, read, write

PATIENCE_S = 20.0


async def ask_bytes(address: str, port: int, data: bytes) -> bytes:
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[bytes] = loop.create_future()

    class Waiting(asyncio.DatagramProtocol):
        def datagram_received(self, data: bytes, addr: Any) -> None:
            if not answered.done():
                answered.set_result(data)

    transport, _ = await loop.create_datagram_endpoint(Waiting, remote_addr=(address, port))
    try:
        transport.sendto(data)
        async with asyncio.timeout(PATIENCE_S):
            return await answered
    finally:
        transport.close()


async def ask_by_tcp(address: str, port: int, data: bytes) -> bytes:
    async with asyncio.timeout(PATIENCE_S):
        reader, writer = await asyncio.open_connection(address, port)
        try:
            writer.write(len(data).to_bytes(2, "big") + data)
            size = int.from_bytes(await reader.readexactly(2), "big")
            return await reader.readexactly(size)
        finally:
            writer.close()
            await writer.wait_closed()


async def ask(
    address: str,
    port: int,
    name: str,
    kind: int = RecordType.A,
    *,
    payload: int | None = None,
    by_tcp: bool = False,
) -> DnsMessage:
    query = write(DnsMessage(4711, DnsQuestion(name_of(name), kind), recursion_desired=True, payload=payload))
    answer = read(await (ask_by_tcp if by_tcp else ask_bytes)(address, port, query))
    assert answer.is_response
    assert answer.number == 4711
    return answer


def addresses(answer: DnsMessage) -> list[str]:
    return sorted(str(IPv4Address(record.data)) for record in answer.answers if record.kind == RecordType.A)


class PlayedResolver(asyncio.DatagramProtocol):
    """A resolver of another network, answering with what `answer` makes of a query."""

    def __init__(self, answer: Callable[[DnsMessage], DnsMessage | None]) -> None:
        self._answer = answer
        self.asked: list[str] = []

    async def start(self, address: str) -> tuple[str, int]:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=(address, 0))
        found: tuple[str, int] = self._transport.get_extra_info("sockname")
        return found

    def datagram_received(self, data: bytes, addr: Any) -> None:
        query = read(data)
        assert query.question is not None
        self.asked.append(".".join(label.decode() for label in query.question.name))
        if (answer := self._answer(query)) is not None:
            self._transport.sendto(write(answer), addr)

    def close(self) -> None:
        self._transport.close()
