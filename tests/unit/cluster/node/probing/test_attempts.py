"""One attempt of a probe, against real servers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from steersman.aio import SystemClock
from steersman.cluster.node.probing.attempts import attempt
from steersman.cluster.node.probing.outcome import ProbeErrored, ProbeOutcome, ProbeTarget
from steersman.cluster.schema.version import KUBERNETES_MINOR

from .engine import AnsweringRuntime, exits, fails

Seen = list[str]


def answer(status: str, *lines: str, body: str = "") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, f"Content-Length: {len(body)}", "", body]).encode()


#: path → what is answered.
ANSWERS = {
    "/ok": answer("200 OK", body="fine"),
    "/bad": answer("500 Oh no", body="a secret"),
    "/moved": answer("302 Found", "Location: /ok?x=1"),
    "/away": answer("302 Found", "Location: http://192.0.2.1/", body="gone"),
    "/around": answer("302 Found", "Location: /around"),
    "/ok?x=1": answer("200 OK"),
    "/large": b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (1 << 20),
    "/a%20b": answer("200 OK"),
    "/nothing": b"",
}


async def serve(connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], seen: Seen) -> None:
    reader, writer = connection
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    seen.append(head)
    path = head.split(" ")[1]
    if path != "/slow":
        writer.write(ANSWERS.get(path, answer("404 Not Found")))
        writer.close()


def with_server(test: Callable[[int, Seen], Awaitable[None]]) -> None:
    async def run() -> None:
        seen: Seen = []
        writers = []

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writers.append(writer)
            await serve((reader, writer), seen)

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        try:
            await test(server.sockets[0].getsockname()[1], seen)
        finally:
            server.close()
            for writer in writers:
                writer.close()
            await server.wait_closed()

    asyncio.run(run())


async def probe(
    handler: dict[str, Any], runtime: AnsweringRuntime | None = None, timeout_s: int = 20, **container: Any
) -> ProbeOutcome:
    pod = {"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": {"containers": []}}
    target = ProbeTarget(pod, {"name": "main", **container}, "c1", "127.0.0.1")
    runtime = runtime or AnsweringRuntime(SystemClock())
    return await attempt(runtime, target, {"timeoutSeconds": timeout_s, **handler})


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        ("/ok", ProbeOutcome("success", "fine")),
        ("/bad", ProbeOutcome("failure", "HTTP probe failed with statuscode: 500")),
        ("/none", ProbeOutcome("failure", "HTTP probe failed with statuscode: 404")),
        ("/moved", ProbeOutcome("success", "")),
        ("/away", ProbeOutcome("warning", "Probe terminated redirects, Response body: gone")),
        ("/large", ProbeOutcome("success", "x" * 10240)),
        ("/a b", ProbeOutcome("success", "")),
        ("ok", ProbeOutcome("success", "fine")),
    ],
)
def test_http_answers(path: str, outcome: ProbeOutcome) -> None:
    async def test(port: int, seen: Seen) -> None:
        assert await probe({"httpGet": {"path": path, "port": port}}) == outcome

    with_server(test)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/nothing", "EOF"),
        ("/around", "stopped after 10 redirects"),
        ("/slow", "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"),
    ],
)
def test_no_http_answer_is_a_failure(path: str, problem: str) -> None:
    async def test(port: int, seen: Seen) -> None:
        outcome = await probe(
            {"httpGet": {"path": path, "port": port}}, timeout_s=1 if path == "/slow" else 20
        )
        assert outcome == ProbeOutcome("failure", f'Get "http://127.0.0.1:{port}{path}": {problem}')

    with_server(test)


def test_http_headers_are_the_probes_own_and_the_kubelets() -> None:
    async def test(port: int, seen: Seen) -> None:
        headers = [{"name": "Host", "value": "example.com"}, {"name": "X-A", "value": "1"}]
        await probe({"httpGet": {"path": "/ok", "port": "web", "httpHeaders": headers}}, ports=[
            {"name": "web", "containerPort": port}])  # fmt: skip
        await probe(
            {"httpGet": {"path": "/ok", "port": port, "httpHeaders": [{"name": "Accept", "value": ""}]}}
        )
        first, second = (set(head.split("\r\n")) for head in seen)
        assert {
            "Host: example.com",
            "X-A: 1",
            f"User-Agent: kube-probe/{KUBERNETES_MINOR}",
            "Accept: */*",
        } <= first
        assert not any(line.startswith("Host: 127") for line in first)
        assert not any(line.startswith("Accept:") for line in second)

    with_server(test)


def test_https_to_a_server_that_has_none_is_told() -> None:
    async def test(port: int, seen: Seen) -> None:
        outcome = await probe({"httpGet": {"scheme": "HTTPS", "path": "/ok", "port": port}})
        assert outcome.result == "failure"
        assert outcome.output.startswith(f'Get "https://127.0.0.1:{port}/ok": ')

    async def run() -> None:
        # Answers whatever comes, as a server that expects plain HTTP does.
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(10)
            writer.write(answer("400 Bad Request"))
            writer.close()

        async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
            await test(server.sockets[0].getsockname()[1], [])

    asyncio.run(run())


def test_tcp_connects_or_says_why_not() -> None:
    async def test(port: int, seen: Seen) -> None:
        assert await probe({"tcpSocket": {"port": port}}) == ProbeOutcome("success", "")
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            closed = unused.getsockname()[1]
            refused = f"dial tcp 127.0.0.1:{closed}: connect: connection refused"
            assert await probe({"tcpSocket": {"port": closed}}) == ProbeOutcome("failure", refused)
            outcome = await probe({"httpGet": {"path": "/", "port": closed}})
            assert outcome == ProbeOutcome("failure", f'Get "http://127.0.0.1:{closed}/": {refused}')

    async def run() -> None:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
            await test(server.sockets[0].getsockname()[1], [])

    asyncio.run(run())


@pytest.mark.parametrize(
    ("handler", "problem"),
    [
        ({"tcpSocket": {"port": "web"}}, 'port "web" not found'),
        ({"httpGet": {"port": 70000}}, "invalid port number: 70000"),
        ({}, "missing probe handler for p_ns(u):main"),
    ],
)
def test_probes_that_cannot_be_made(handler: dict[str, Any], problem: str) -> None:
    with pytest.raises(ProbeErrored) as raised:
        asyncio.run(probe(handler))
    assert str(raised.value) == problem


def test_a_command_says_by_its_code_how_it_went() -> None:
    async def run() -> None:
        runtime = AnsweringRuntime(SystemClock())
        handler = {"exec": {"command": ["check", "$(WHAT)"]}}
        variables = [{"name": "WHAT", "value": "health"}]
        runtime.answer = exits(0, b"ok", b"!")
        assert await probe(handler, runtime, env=variables) == ProbeOutcome("success", "ok!")
        assert runtime.asked[0][1:] == ("c1", ("check", "health"))
        runtime.answer = exits(1, b"", b"x" * 20000)
        assert await probe(handler, runtime) == ProbeOutcome("failure", "x" * 10240)
        runtime.answer = fails('command timed out: "check" timed out after 1s')
        assert await probe(handler, runtime) == ProbeOutcome(
            "failure", 'command timed out: "check" timed out after 1s'
        )
        runtime.answer = fails("no such container")
        with pytest.raises(ProbeErrored, match="no such container"):
            await probe(handler, runtime)

    asyncio.run(run())


def test_grpc_health_is_asked_for() -> None:
    grpc = pytest.importorskip("grpc")
    statuses = {b"": b"\x08\x01", b"\x0a\x03sad": b"\x08\x02"}

    class Health(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, details: Any) -> Any:
            if details.method != "/grpc.health.v1.Health/Check":
                return None

            async def check(request: bytes, context: Any) -> bytes:
                if request not in statuses:
                    await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
                return statuses[request]

            return grpc.unary_unary_rpc_method_handler(check)

    async def run() -> None:
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((Health(),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        try:
            assert await probe({"grpc": {"port": port}}) == ProbeOutcome("success", "service healthy")
            unhealthy = ProbeOutcome("failure", 'service unhealthy (responded with "NOT_SERVING")')
            assert await probe({"grpc": {"port": port, "service": "sad"}}) == unhealthy
            missing = "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service"
            assert await probe({"grpc": {"port": port, "service": "x" * 200}}) == ProbeOutcome(
                "failure", missing
            )
        finally:
            await server.stop(None)
        outcome = await probe({"grpc": {"port": port}}, timeout_s=1)
        assert outcome.output == (
            f'timeout: failed to connect service "127.0.0.1:{port}" within 1s: context deadline exceeded'
        )

    asyncio.run(run())
