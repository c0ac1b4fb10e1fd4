"""TLS: client certificates are asked for and never refused, and the rest is as strict as it should be."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from steersman.http import Client, Limits, Request, Response, client_tls, server_tls
from steersman.http.errors import ConnectFailed


def common_name(request: Request) -> Response:
    der = request.connection.peer_certificate
    if der is None:
        return Response(401, b"no certificate")
    assert request.connection.secure
    assert request.connection.peer_certificate is der
    certificate = x509.load_der_x509_certificate(der)
    (name,) = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return Response(200, str(name.value).encode())


@pytest.fixture(scope="module")
def pki(authority: Any) -> Any:
    class Pki:
        ours = authority("ours")
        theirs = authority("theirs")
        server = ours.issue("localhost", server=True)

        def context(self, client_cas: bool = True) -> ssl.SSLContext:
            return server_tls(*self.server, self.ours.pem if client_cas else None)

    return Pki()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
@pytest.mark.parametrize("who", ["known CA", "unknown CA", "nobody"])
def test_handler_sees_any_certificate(
    run: Any, serve: Any, pki: Any, version: ssl.TLSVersion, who: str
) -> None:
    async def main() -> None:
        cert = key = None
        if who != "nobody":
            cert, key = (pki.ours if who == "known CA" else pki.theirs).issue("ada")
        context = client_tls(ca=pki.ours.pem, cert=cert, key=key)
        context.minimum_version = context.maximum_version = version
        async with (
            serve(common_name, tls=pki.context()) as served,
            Client(f"https://127.0.0.1:{served.port}", ssl=context) as client,
        ):
            for _ in range(3):
                response = await client.request("GET", "/")
                expected = (401, b"no certificate") if who == "nobody" else (200, b"ada")
                assert (response.status, response.content) == expected

    run(main())


def test_clients_are_told_the_acceptable_authorities(pki: Any) -> None:
    """Go clients send a certificate only if its issuer's name is among those in the server's request."""
    server_in, server_out = ssl.MemoryBIO(), ssl.MemoryBIO()
    client_in, client_out = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = client_tls(ca=pki.ours.pem)
    # In TLS 1.2 the request is sent in the clear, so its names can be seen in the bytes.
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    server = pki.context().wrap_bio(server_in, server_out, server_side=True)
    client = context.wrap_bio(client_in, client_out, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    server_in.write(client_out.read())
    with pytest.raises(ssl.SSLWantReadError):
        server.do_handshake()
    flight = server_out.read()
    assert pki.ours.cert.subject.public_bytes() in flight.rpartition(b"\x0d\x00")[2]


def test_without_client_authorities_no_certificate_is_asked_for(run: Any, serve: Any, pki: Any) -> None:
    async def main() -> None:
        cert, key = pki.ours.issue("ada")
        context = client_tls(ca=pki.ours.pem, cert=cert, key=key)
        async with (
            serve(common_name, tls=pki.context(client_cas=False)) as served,
            Client(f"https://127.0.0.1:{served.port}", ssl=context) as client,
        ):
            assert (await client.request("GET", "/")).status == 401

    run(main())


def test_resumed_sessions_keep_the_certificate(run: Any, serve: Any, pki: Any) -> None:
    def ask(port: int, context: ssl.SSLContext, session: ssl.SSLSession | None) -> tuple[Any, bool, bytes]:
        import socket

        with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname="localhost", session=session) as secure:
                secure.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                data = b""
                while part := secure.recv(4096):
                    data += part
                return secure.session, bool(secure.session_reused), data

    async def main() -> None:
        cert, key = pki.theirs.issue("ada")
        context = client_tls(ca=pki.ours.pem, cert=cert, key=key)
        async with serve(common_name, tls=pki.context()) as served:
            session, reused, data = await asyncio.to_thread(ask, served.port, context, None)
            assert (reused, data.endswith(b"ada")) == (False, True)
            _, reused, data = await asyncio.to_thread(ask, served.port, context, session)
            assert (reused, data.endswith(b"ada")) == (True, True)

    run(main())


@pytest.mark.parametrize(
    "options",
    [{}, {"server_name": "elsewhere"}],
    ids=["unknown authority", "wrong name"],
)
def test_client_checks_the_server(run: Any, serve: Any, pki: Any, options: dict[str, Any]) -> None:
    async def main() -> None:
        ca = pki.ours.pem if options else pki.theirs.pem
        async with (
            serve(common_name, tls=pki.context()) as served,
            Client(f"https://127.0.0.1:{served.port}", ssl=client_tls(ca=ca, **options)) as client,
        ):
            with pytest.raises(ConnectFailed, match="certificate"):
                await client.request("GET", "/")

    run(main())


def test_insecure_client_and_files_work(run: Any, serve: Any, pki: Any, tmp_path: Path) -> None:
    cert, key = pki.ours.issue("ada")
    for name, content in {"cert": cert, "key": key, "ca": pki.ours.pem, "both": cert + key}.items():
        (tmp_path / name).write_bytes(content)

    async def main() -> None:
        async with serve(common_name, tls=pki.context()) as served:
            for context in (
                client_tls(ca=tmp_path / "ca", cert=tmp_path / "cert", key=str(tmp_path / "key")),
                client_tls(insecure=True, cert=tmp_path / "both"),
                client_tls(ca=pki.ours.pem, cert=cert, key=key, server_name="localhost"),
            ):
                async with Client(f"https://127.0.0.1:{served.port}", ssl=context) as client:
                    assert (await client.request("GET", "/")).content == b"ada"

    run(main())


def test_only_http11_and_modern_tls_are_spoken(run: Any, serve: Any, pki: Any) -> None:
    async def main() -> None:
        async with serve(common_name, tls=pki.context()) as served:
            context = ssl.create_default_context(cadata=pki.ours.pem.decode())
            context.set_alpn_protocols(["h2", "http/1.1"])
            async with served.peer(context) as peer:
                secure = peer.writer.get_extra_info("ssl_object")
                assert secure.selected_alpn_protocol() == "http/1.1"
            assert pki.context().minimum_version == ssl.TLSVersion.TLSv1_2

    run(main())


def test_handshake_that_stalls_is_dropped(run: Any, serve: Any, pki: Any) -> None:
    async def main() -> None:
        limits = Limits(handshake_timeout_s=0.1)
        async with serve(common_name, tls=pki.context(), limits=limits) as served, served.peer() as peer:
            assert await peer.rest() == b""

    run(main())


def test_large_bodies_flow_both_ways(run: Any, serve: Any, pki: Any) -> None:
    async def main() -> None:
        size = 10_000_000
        async with (
            serve(
                lambda request: Response(200, request.content),
                tls=pki.context(),
                limits=Limits(body_bytes=size),
            ) as served,
            Client(f"https://127.0.0.1:{served.port}", ssl=client_tls(ca=pki.ours.pem)) as client,
        ):
            content = bytes(range(250)) * (size // 250)
            response = await client.request("POST", "/", content=content)
            assert response.content == content

    run(main())


def test_encrypted_keys_are_an_error_not_a_prompt(pki: Any) -> None:
    from cryptography.hazmat.primitives import serialization

    key = pki.ours.key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    with pytest.raises(ValueError, match="encrypted"):
        server_tls(pki.ours.pem, key)
