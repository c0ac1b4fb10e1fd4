"""What the HTTP tests share: both event loops, servers that end with the test, a raw peer, a PKI."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from steersman.http import Handler, Server
from tests.support.waiting import until

DEADLINE_S = 30


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Runs a coroutine to its end, on each event loop."""
    runner = asyncio.run if request.param == "asyncio" else uvloop.run

    async def bounded(coroutine: Coroutine[Any, Any, Any]) -> Any:
        async with asyncio.timeout(DEADLINE_S):
            return await coroutine

    return lambda coroutine: runner(bounded(coroutine))


class Peer:
    """A client that sends exactly the bytes it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def response(self, *, head_only: bool = False) -> tuple[int, dict[str, str], bytes]:
        """Read one response: status, headers, body."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status_line, *lines = head[:-4].split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        if head_only:
            return int(status_line.split()[1]), headers, b""
        if headers.get("transfer-encoding") == "chunked":
            body = b"".join([chunk async for chunk in self.chunks()])
        else:
            body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return int(status_line.split()[1]), headers, body

    async def chunks(self) -> AsyncIterator[bytes]:
        while size := int(await self.reader.readline(), 16):
            yield (await self.reader.readexactly(size + 2))[:-2]
        assert await self.reader.readline() == b"\r\n"

    async def rest(self) -> bytes:
        """Everything until the server closes, whether properly or by a reset."""
        data = b""
        try:
            while part := await self.reader.read(1 << 16):
                data += part
        except ConnectionResetError:
            pass
        return data

    async def close(self) -> None:
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()


@dataclass
class Served:
    """A running server and the way to it."""

    server: Server
    client_ssl: ssl.SSLContext | None = None

    @property
    def port(self) -> int:
        return self.server.port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @asynccontextmanager
    async def peer(self, ssl: ssl.SSLContext | None = None) -> AsyncIterator[Peer]:
        peer = Peer(*await asyncio.open_connection("127.0.0.1", self.port, ssl=ssl))
        try:
            yield peer
        finally:
            await peer.close()


@pytest.fixture
def serve() -> Callable[..., Any]:
    """`async with serve(handler, limits=…) as served`: a server for the time of the block."""

    @asynccontextmanager
    async def serving(
        handler: Handler, *, tls: ssl.SSLContext | None = None, **options: Any
    ) -> AsyncIterator[Served]:
        server = Server(handler, **options)
        await server.start("127.0.0.1", 0, tls)
        try:
            yield Served(server)
        finally:
            await server.close()

    return serving


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], Coroutine[Any, Any, None]]:
    """Waits for a condition that has no event of its own; the run's deadline bounds it."""

    async def wait(condition: Callable[[], bool]) -> None:
        await until(condition, 60, every_s=0.005)

    return wait


class Authority:
    """A certificate authority for the test."""

    def __init__(self, name: str) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.cert = self._build(self.name, self.key, ca=True)

    @property
    def pem(self) -> bytes:
        return self.cert.public_bytes(serialization.Encoding.PEM)

    def issue(self, name: str, *, server: bool = False) -> tuple[bytes, bytes]:
        """A certificate and its key, as PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        cert = self._build(subject, key, ca=False, server=server)
        return cert.public_bytes(serialization.Encoding.PEM), key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def _build(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, ca: bool, server: bool = False
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        usage = ExtendedKeyUsageOID.SERVER_AUTH if server else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        )
        if not ca:
            names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
            builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        return builder.sign(self.key, hashes.SHA256())


@pytest.fixture(scope="session")
def authority() -> Callable[[str], Authority]:
    return Authority
