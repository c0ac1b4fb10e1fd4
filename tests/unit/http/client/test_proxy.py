"""What is said to a SOCKS proxy, and how its refusals are told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from steersman.http.client.proxy import Proxy, tunnel
from steersman.http.errors import ConnectFailed

#: A step: what the client says, what the proxy answers.
Step = tuple[bytes, bytes]

_GREETED = (b"\x05\x01\x00", b"\x05\x00")
_OPENED = b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50"
_WEB = (b"\x05\x01\x00\x03\x03web\x01\xbb", _OPENED)


async def _tunnel(steps: Sequence[Step], host: str = "web", user: str | None = None) -> None:
    """Open a tunnel through a proxy that holds exactly this conversation."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for expected, answer in steps:
            said.append(await reader.readexactly(len(expected)))
            writer.write(answer)
        writer.close()

    said: list[bytes] = []
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        protocol = _Through()
        await tunnel(Proxy("127.0.0.1", port, "socks5", user, "word"), host, 443, protocol, None, None)
        assert protocol.transport is not None
        protocol.transport.close()
    finally:
        server.close()
    assert said == [expected for expected, _ in steps]


class _Through(asyncio.Protocol):
    transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("10.0.0.1", b"\x01\x0a\x00\x00\x01"),
        ("::1", b"\x04" + bytes(15) + b"\x01"),
        ("api.example", b"\x03\x0bapi.example"),
        ("bücher.example", b"\x03\x15xn--bcher-kva.example"),
    ],
)
def test_addresses_and_names_as_the_proxy_reads_them(host: str, address: bytes) -> None:
    asked = b"\x05\x01\x00" + address + b"\x01\xbb"
    asyncio.run(_tunnel([_GREETED, (asked, _OPENED)], host))


@pytest.mark.parametrize(
    "opened",
    [b"\x05\x00\x00\x04" + bytes(18), b"\x05\x00\x00\x03\x05there\x00\x50", b"\x05\x00\x00\x03\x00\x00\x50"],
    ids=["IPv6", "name", "empty name"],
)
def test_its_own_address_is_of_any_kind(opened: bytes) -> None:
    asyncio.run(_tunnel([_GREETED, (_WEB[0], opened)]))


@pytest.mark.parametrize(
    ("steps", "user", "message"),
    [
        ([(_GREETED[0], b"HTTP/1.1 400")], None, "does not speak SOCKS 5"),
        ([(_GREETED[0], b"\x05\xff")], None, "wants another way of authentication"),
        ([(_GREETED[0], b"\x05\x02")], None, "wants another way of authentication"),
        (
            [(b"\x05\x02\x00\x02", b"\x05\x02"), (b"\x01\x02me\x04word", b"\x01\x01")],
            "me",
            "did not accept the user and password",
        ),
        (
            [_GREETED, (_WEB[0], b"\x05\x05" + bytes(8))],
            None,
            "refused to connect to web:443: connection refused",
        ),
        ([_GREETED, (_WEB[0], b"\x05\x63" + bytes(8))], None, "refused to connect to web:443: code 99"),
        ([_GREETED, (_WEB[0], b"\x05\x00\x00")], None, "closed the connection"),
    ],
    ids=["another protocol", "no way", "password wanted", "wrong password", "refused", "unknown", "cut off"],
)
def test_refusals_are_told(steps: list[Step], user: str | None, message: str) -> None:
    with pytest.raises(ConnectFailed, match=message) as caught:
        asyncio.run(_tunnel(steps, user=user))
    assert "word" not in str(caught.value).replace("password", "")


def test_too_long_for_socks() -> None:
    with pytest.raises(ValueError, match="at most 255 bytes"):
        Proxy.parse(f"socks5://user:{'x' * 256}@proxy")
