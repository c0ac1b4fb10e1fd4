"""Every way to say who one is, against a real API server."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import orjson
import pytest
import uvloop
import yaml

from steersman.aio import SystemClock
from steersman.client import Client, ConfigError, CredentialsError, Unauthorized, Unreachable
from steersman.client.connecting import connect, find_settings
from steersman.client.in_cluster import in_cluster
from steersman.cluster.auth.pki import KeyPair, StoredAuthority
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.http import server_tls
from tests.integration.client.conftest import DEADLINE_S

ADMINS = ("system:masters",)


class Kit:
    """A cluster and kubeconfigs for it."""

    def __init__(self, cluster: LocalCluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder

    def file(self, name: str, content: bytes | str) -> str:
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    def kubeconfig(self, user: dict[str, Any], cluster: dict[str, Any] | None = None) -> Path:
        trusted = {"certificate-authority": self.file("ca.crt", self.cluster.authority.pem)}
        content = {
            "current-context": "x",
            "clusters": [{"name": "x", "cluster": {"server": self.cluster.url, **(cluster or trusted)}}],
            "users": [{"name": "x", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        }
        return self.folder / self.file("config", yaml.safe_dump(content))

    def certificate(self, name: str, authority: StoredAuthority | None = None) -> KeyPair:
        return (authority or self.cluster.authority).issue(name, organizations=ADMINS)

    def plugin(self, **status: str) -> dict[str, Any]:
        version = "client.authentication.k8s.io/v1"
        answer = json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": status})
        self.file("answer", answer)
        program = (
            f"import pathlib, sys; sys.stdout.write(pathlib.Path({str(self.folder)!r}, 'answer').read_text())"
        )
        return {
            "exec": {
                "apiVersion": version,
                "command": sys.executable,
                "args": ["-c", program],
                "interactiveMode": "Never",
            }
        }


async def whoami(client: Client) -> str:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await client.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=body)
    name: str = orjson.loads(answer)["status"]["userInfo"]["username"]
    return name


@contextlib.asynccontextmanager
async def kit(folder: Path) -> AsyncIterator[Kit]:
    async with asyncio.timeout(DEADLINE_S), LocalCluster(ClusterConfig()) as cluster:
        yield Kit(cluster, folder)


def with_kit(act: Callable[[Kit], Awaitable[None]], folder: Path) -> None:
    async def main() -> None:
        async with kit(folder) as made:
            await act(made)

    uvloop.run(main())


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def by_token(kit: Kit) -> dict[str, Any]:
    return {"token": kit.cluster.token}


def by_token_file(kit: Kit) -> dict[str, Any]:
    return {"tokenFile": kit.file("token", kit.cluster.token + "\n")}


def by_certificate_files(kit: Kit) -> dict[str, Any]:
    pair = kit.certificate("carol")
    return {
        "client-certificate": kit.file("c.crt", pair.certificate),
        "client-key": kit.file("c.key", pair.key),
    }


def by_certificate_data(kit: Kit) -> dict[str, Any]:
    pair = kit.certificate("carol")
    return {"client-certificate-data": encoded(pair.certificate), "client-key-data": encoded(pair.key)}


def by_plugin_token(kit: Kit) -> dict[str, Any]:
    return kit.plugin(token=kit.cluster.token)


def by_plugin_certificate(kit: Kit) -> dict[str, Any]:
    pair = kit.certificate("carol")
    return kit.plugin(clientCertificateData=pair.certificate.decode(), clientKeyData=pair.key.decode())


def by_impersonation(kit: Kit) -> dict[str, Any]:
    return {"token": kit.cluster.token, "as": "dave", "as-groups": ["system:masters"]}


@pytest.mark.parametrize(
    ("user", "name"),
    [
        (by_token, "admin"),
        (by_token_file, "admin"),
        (by_certificate_files, "carol"),
        (by_certificate_data, "carol"),
        (by_plugin_token, "admin"),
        (by_plugin_certificate, "carol"),
        (by_impersonation, "dave"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_api_knows_who_it_is(user: Callable[[Kit], dict[str, Any]], name: str, tmp_path: Path) -> None:
    async def act(kit: Kit) -> None:
        async with Client.load(kubeconfig=kit.kubeconfig(user(kit))) as client:
            assert await whoami(client) == name

    with_kit(act, tmp_path)


def test_a_pod_is_its_service_account(tmp_path: Path) -> None:
    async def act(kit: Kit) -> None:
        kit.file("token", kit.cluster.token)
        kit.file("ca.crt", kit.cluster.authority.pem)
        kit.file("namespace", "kube-system")
        pod = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(kit.cluster.port)}
        settings = in_cluster(pod, tmp_path)
        assert settings is not None
        made = connect(settings, None, SystemClock())
        async with Client(made.transport, credentials=made.credentials) as client:
            assert await whoami(client) == "admin"

    with_kit(act, tmp_path)


def test_a_rotated_token_is_picked_up_when_the_old_one_is_refused(tmp_path: Path) -> None:
    async def act(kit: Kit) -> None:
        kit.file("token", "old")
        async with Client.load(kubeconfig=kit.kubeconfig({"tokenFile": "token"})) as client:
            with pytest.raises(Unauthorized):
                await whoami(client)
            kit.file("token", kit.cluster.token)
            assert await whoami(client) == "admin"

    with_kit(act, tmp_path)


def test_a_plugin_is_asked_again_when_its_token_is_refused(tmp_path: Path) -> None:
    async def act(kit: Kit) -> None:
        user = kit.plugin(token="old")
        async with Client.load(kubeconfig=kit.kubeconfig(user)) as client:
            with pytest.raises(Unauthorized):
                await whoami(client)
            kit.plugin(token=kit.cluster.token)
            assert await whoami(client) == "admin"

    with_kit(act, tmp_path)


class Hours:
    """A clock that can be set forward."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.now

    async def sleep(self, delay_s: float) -> None:
        self.now += delay_s


def replace(kit: Kit, name: str, content: bytes) -> None:
    """As kubelets and certificate managers do it: a new file in the place of the old."""
    kit.file(f"{name}.new", content)
    os.replace(kit.folder / f"{name}.new", kit.folder / name)


def test_a_renewed_client_certificate_is_shown_on_the_next_request(tmp_path: Path) -> None:
    async def act(kit: Kit) -> None:
        clock = Hours()
        path = kit.kubeconfig(by_certificate_files(kit))
        async with Client.load(kubeconfig=path, clock=clock) as client:
            assert await whoami(client) == "carol"
            renewed = kit.certificate("erin")
            # Half of the pair is there: the old one stays in use.
            replace(kit, "c.crt", renewed.certificate)
            clock.now += 60
            assert await whoami(client) == "carol"
            replace(kit, "c.key", renewed.key)
            clock.now += 60
            assert await whoami(client) == "erin"

    with_kit(act, tmp_path)


def test_a_new_certificate_of_a_plugin_is_shown_on_the_next_request(tmp_path: Path) -> None:
    async def act(kit: Kit) -> None:
        stranger = kit.certificate("mallory", StoredAuthority.make())
        user = kit.plugin(
            clientCertificateData=stranger.certificate.decode(), clientKeyData=stranger.key.decode()
        )
        async with Client.load(kubeconfig=kit.kubeconfig(user)) as client:
            with pytest.raises(Unauthorized):
                await whoami(client)
            by_plugin_certificate(kit)
            assert await whoami(client) == "carol"

    with_kit(act, tmp_path)


def test_a_renewed_authority_is_trusted_and_the_old_one_no_longer(tmp_path: Path) -> None:
    async def act(kit: Kit) -> None:
        clock = Hours()
        path = kit.kubeconfig(by_token(kit))
        async with Client.load(kubeconfig=path, clock=clock) as client:
            assert await whoami(client) == "admin"
            replace(kit, "ca.crt", StoredAuthority.make().pem)
            clock.now += 60
            with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED") as caught:
                await whoami(client)
            assert caught.value.maybe_done is False
            replace(kit, "ca.crt", kit.cluster.authority.pem)
            clock.now += 60
            assert await whoami(client) == "admin"

    with_kit(act, tmp_path)


def test_a_stream_outlives_the_change_of_a_certificate(tmp_path: Path) -> None:
    async def act(kit: Kit) -> None:
        clock = Hours()
        path = kit.kubeconfig(by_certificate_files(kit))
        async with Client.load(kubeconfig=path, clock=clock) as client:
            pods = await client.resource_type("v1", "ConfigMap")
            async with client.watch(pods, "default") as events:
                renewed = kit.certificate("erin")
                replace(kit, "c.crt", renewed.certificate)
                replace(kit, "c.key", renewed.key)
                clock.now += 60
                await client.create({"metadata": {"name": "a"}}, kind=pods)
                async for event in events:
                    if event.type == "ADDED" and event.decode()["metadata"]["name"] == "a":
                        break

    with_kit(act, tmp_path)


def test_a_server_is_verified_under_the_name_given(tmp_path: Path) -> None:
    async def act(kit: Kit) -> None:
        trusted = {"certificate-authority-data": encoded(kit.cluster.authority.pem)}
        for name, good in (("kubernetes.default.svc", True), ("elsewhere.example.com", False)):
            path = kit.kubeconfig(by_token(kit), {**trusted, "tls-server-name": name})
            async with Client.load(kubeconfig=path) as client:
                with contextlib.nullcontext() if good else pytest.raises(Unreachable, match="not valid for"):
                    await whoami(client)

    with_kit(act, tmp_path)


def test_an_unknown_server_is_refused_unless_told_otherwise(tmp_path: Path) -> None:
    async def act(kit: Kit) -> None:
        stranger = {"certificate-authority-data": encoded(StoredAuthority.make().pem)}
        async with Client.load(kubeconfig=kit.kubeconfig(by_token(kit), stranger)) as client:
            with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
                await whoami(client)
        insecure = {"insecure-skip-tls-verify": True}
        async with Client.load(kubeconfig=kit.kubeconfig(by_token(kit), insecure)) as client:
            assert await whoami(client) == "admin"

    with_kit(act, tmp_path)


@pytest.mark.parametrize(
    ("cluster", "user", "problem"),
    [
        ({"certificate-authority": "none"}, {}, "certificate-authority: there is no file"),
        ({"certificate-authority-data": encoded(b"x")}, {}, "certificate-authority: is not a certificate"),
        ({}, {"client-certificate": "none", "client-key": "none"}, "client-certificate: there is no file"),
        (
            {},
            {"client-certificate-data": encoded(b"x"), "client-key-data": encoded(b"s3cr3t")},
            "client-certificate, client-key: are not a certificate and its",
        ),
    ],
    ids=["no CA file", "no CA", "no certificate file", "no certificate"],
)
def test_certificates_that_cannot_be_used_are_named_at_once(
    cluster: dict[str, Any], user: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    content = {
        "current-context": "x",
        "clusters": [{"name": "x", "cluster": {"server": "https://localhost:1", **cluster}}],
        "users": [{"name": "x", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
    }
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigError, match=problem) as caught:
        Client.load(kubeconfig=file)
    assert str(file) in str(caught.value)
    assert "s3cr3t" not in str(caught.value)


def test_a_key_of_another_certificate_is_named(tmp_path: Path) -> None:
    authority = StoredAuthority.make()
    one, other = authority.issue("a"), authority.issue("b")
    user = {"client-certificate-data": encoded(one.certificate), "client-key-data": encoded(other.key)}
    content = {
        "current-context": "x",
        "clusters": [{"name": "x", "cluster": {"server": "https://localhost:1"}}],
        "users": [{"name": "x", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
    }
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigError, match="client-key: is not the key of the client certificate"):
        Client.load(kubeconfig=file)


def test_a_plugin_that_fails_is_no_request(tmp_path: Path) -> None:
    async def act(kit: Kit) -> None:
        user = kit.plugin(token="t")
        kit.file("answer", "nonsense")
        async with Client.load(kubeconfig=kit.kubeconfig(user)) as client:
            with pytest.raises(CredentialsError, match="printed no JSON"):
                await whoami(client)

    with_kit(act, tmp_path)


@contextlib.asynccontextmanager
async def proxy(tls: ssl.SSLContext | None = None) -> AsyncIterator[tuple[int, list[bytes]]]:
    """A proxy for CONNECT: its port, and the heads of the requests that it got."""
    heads: list[bytes] = []
    carrying: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        carrying.add(task)
        head = await reader.readuntil(b"\r\n\r\n")
        heads.append(head)
        host, port = head.split()[1].decode().rsplit(":", 1)
        there, back = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        async with asyncio.TaskGroup() as group:
            group.create_task(_pump(reader, back))
            group.create_task(_pump(there, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1], heads
    finally:
        server.close()
        if carrying:
            await asyncio.wait(carrying)


LOOPS = pytest.mark.parametrize("runner", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])


@LOOPS
def test_everything_goes_through_the_proxy(
    runner: Callable[[Coroutine[Any, Any, None]], None], tmp_path: Path
) -> None:
    """The proxy sees one CONNECT and then only what it cannot read."""

    async def main() -> None:
        async with kit(tmp_path) as made, proxy() as (port, heads):
            trusted = {"certificate-authority-data": encoded(made.cluster.authority.pem)}
            through = {"proxy-url": f"http://user:pa%3Ass@127.0.0.1:{port}"}
            path = made.kubeconfig(by_token(made), {**trusted, **through})
            async with Client.load(kubeconfig=path) as client:
                assert await whoami(client) == "admin"
                assert await whoami(client) == "admin"
            (head,) = heads
            where = f"127.0.0.1:{made.cluster.port}"
            pair = base64.b64encode(b"user:pa:ss").decode()
            assert head.decode() == (
                f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\nProxy-Authorization: Basic {pair}\r\n\r\n"
            )

    runner(main())


@LOOPS
def test_the_proxy_itself_may_speak_tls(
    runner: Callable[[Coroutine[Any, Any, None]], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = StoredAuthority.make()
    (tmp_path / "proxy-ca").write_bytes(authority.pem)
    # Proxies are verified against the machine's authorities; this is how OpenSSL is told of others.
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "proxy-ca"))
    pair = authority.issue("proxy", names=["localhost"], server=True)

    async def main() -> None:
        tls = server_tls(pair.certificate, pair.key)
        async with kit(tmp_path) as made, proxy(tls) as (port, heads):
            trusted = {"certificate-authority-data": encoded(made.cluster.authority.pem)}
            through = {"proxy-url": f"https://localhost:{port}"}
            path = made.kubeconfig(by_token(made), {**trusted, **through})
            async with Client.load(kubeconfig=path) as client:
                assert await whoami(client) == "admin"
            assert len(heads) == 1

    runner(main())


@contextlib.asynccontextmanager
async def socks_proxy() -> AsyncIterator[tuple[int, list[bytes]]]:
    """A proxy that speaks SOCKS 5 with a user and a password: its port, and what it was told."""
    told: list[bytes] = []
    carrying: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        carrying.add(task)
        version, methods = await reader.readexactly(2)
        assert (version, 2 in await reader.readexactly(methods)) == (5, True)
        writer.write(b"\x05\x02")
        for _ in range(2):
            (length,) = (await reader.readexactly(1 if told else 2))[-1:]
            told.append(await reader.readexactly(length))
        writer.write(b"\x01\x00")
        head = await reader.readexactly(4)
        host = socket.inet_ntoa(await reader.readexactly(4))
        port = int.from_bytes(await reader.readexactly(2), "big")
        told.append(head + f"{host}:{port}".encode())
        there, back = await asyncio.open_connection(host, port)
        # In pieces, as a slow network has it.
        for piece in (b"\x05\x00", b"\x00\x03\x04", b"here", b"\x00\x50"):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        async with asyncio.TaskGroup() as group:
            group.create_task(_pump(reader, back))
            group.create_task(_pump(there, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], told
    finally:
        server.close()
        if carrying:
            await asyncio.wait(carrying)


@LOOPS
def test_everything_goes_through_a_socks_proxy(
    runner: Callable[[Coroutine[Any, Any, None]], None], tmp_path: Path
) -> None:
    async def main() -> None:
        async with kit(tmp_path) as made, socks_proxy() as (port, told):
            trusted = {"certificate-authority-data": encoded(made.cluster.authority.pem)}
            through = {"proxy-url": f"socks5://user:pa%3Ass@127.0.0.1:{port}"}
            path = made.kubeconfig(by_token(made), {**trusted, **through})
            async with Client.load(kubeconfig=path) as client:
                assert await whoami(client) == "admin"
                assert await whoami(client) == "admin"
            where = f"127.0.0.1:{made.cluster.port}".encode()
            assert told == [b"user", b"pa:ss", b"\x05\x01\x00\x01" + where]

    runner(main())


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


def test_a_proxy_that_refuses_is_named(tmp_path: Path) -> None:
    async def act(kit: Kit) -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 407 Who are you?\r\nContent-Length: 0\r\n\r\n")
            writer.close()

        proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = proxy.sockets[0].getsockname()[1]
        path = kit.kubeconfig(by_token(kit), {"proxy-url": f"http://u:s3cr3t@127.0.0.1:{port}"})
        async with Client.load(kubeconfig=path) as client:
            with pytest.raises(Unreachable, match=r"refused to connect to .*407 Who are you\?") as caught:
                await whoami(client)
        assert "s3cr3t" not in str(caught.value)
        proxy.close()

    with_kit(act, tmp_path)


def test_nothing_that_is_loaded_shows_its_secrets(tmp_path: Path) -> None:
    async def act(kit: Kit) -> None:
        path = kit.kubeconfig(by_token(kit))
        settings = find_settings(path)
        made = connect(settings, None, Hours())
        for thing in (settings, made, made.credentials, made.transport):
            assert kit.cluster.token not in repr(thing)

    with_kit(act, tmp_path)
