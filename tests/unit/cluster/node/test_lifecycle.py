"""Hooks of containers that run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.aio import SystemClock
from steersman.cluster.node.downward import DownwardNodeFacts
from steersman.cluster.node.errors import RuntimeFailed
from steersman.cluster.node.events import NodeEvents
from steersman.cluster.node.lifecycle import LifecycleHooks
from steersman.cluster.schema.version import KUBERNETES_MINOR
from steersman.testing import VirtualClock, run_virtual

from .probing.engine import AnsweringRuntime, exits, fails

POD: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "ns", "uid": "u"},
    "spec": {"hostNetwork": True, "containers": []},
}


class Told(NodeEvents):
    def __init__(self) -> None:
        self.notes: list[tuple[str, str]] = []

    def warning(self, about: Any, reason: str, note: str) -> None:
        self.notes.append((reason, note))


class Fixture:
    def __init__(self) -> None:
        self.runtime = AnsweringRuntime(SystemClock())
        self.told = Told()
        self.hooks = LifecycleHooks(
            self.runtime, self.told, SystemClock(), DownwardNodeFacts("n", ("127.0.0.1",))
        )

    async def run(self, **handler: Any) -> None:
        await self.hooks.run(POD, {"name": "main"}, "c1", handler)


def test_a_command_runs_in_the_container() -> None:
    fixture = Fixture()
    asyncio.run(fixture.run(exec={"command": ["sh", "-c", "x"]}))
    assert fixture.runtime.asked[0][1:] == ("c1", ("sh", "-c", "x"))


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (exits(3, b"out", b"err"), "command 'a b' exited with 3: err, message: \"outerr\""),
        (fails("no exec"), 'no exec, message: ""'),
    ],
    ids=["code", "failed"],
)
def test_a_command_that_fails_is_told_in_the_kubelets_words(answer: Any, problem: str) -> None:
    fixture = Fixture()
    fixture.runtime.answer = answer
    with pytest.raises(RuntimeFailed) as raised:
        asyncio.run(fixture.run(exec={"command": ["a", "b"]}))
    where = 'for Container "main" in Pod "p_ns(u)"'
    assert str(raised.value) == f"Exec lifecycle hook ([a b]) {where} failed - error: {problem}"


@pytest.mark.parametrize("scheme", ["HTTP", "HTTPS"])
def test_a_server_is_asked_and_any_answer_is_good(scheme: str) -> None:
    seen: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.read(4096)
        if head.startswith(b"GET "):
            seen.append(head)
        writer.write(b"HTTP/1.1 500 Oh no\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async def run() -> int:
        async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
            port: int = server.sockets[0].getsockname()[1]
            headers = [{"name": "Authorization", "value": "x"}]
            await fixture.run(httpGet={"scheme": scheme, "path": "/a", "port": port, "httpHeaders": headers})
            return port

    fixture = Fixture()
    port = asyncio.run(run())
    assert seen[0].startswith(b"GET /a HTTP/1.1\r\n")
    assert f"User-Agent: kube-lifecycle/{KUBERNETES_MINOR}\r\n".encode() in seen[0]
    if scheme == "HTTP":
        assert b"Authorization: x\r\n" in seen[0]
        assert fixture.told.notes == []
    else:
        assert b"Authorization" not in seen[0]
        assert fixture.told.notes == [
            (
                "LifecycleHTTPFallback",
                f"request to HTTPS lifecycle hook 127.0.0.1:{port} got HTTP response, "
                "retry with HTTP succeeded",
            )
        ]


def test_a_server_that_is_not_there_is_told() -> None:
    with pytest.raises(RuntimeFailed) as raised:
        asyncio.run(Fixture().run(httpGet={"path": "/a", "port": "web"}))
    where = 'for Container "main" in Pod "p_ns(u)"'
    assert str(raised.value) == f'HTTP lifecycle hook (/a) {where} failed - error: port "web" not found'


def test_hooks_may_just_sleep() -> None:
    async def run() -> float:
        clock = VirtualClock()
        hooks = LifecycleHooks(AnsweringRuntime(clock), Told(), clock, DownwardNodeFacts("n", ()))
        began = clock.monotonic()
        await hooks.run(POD, {"name": "main"}, "c1", {"sleep": {"seconds": 7}})
        return clock.monotonic() - began

    assert run_virtual(run()) == 7


def test_a_handler_that_does_nothing_is_refused() -> None:
    with pytest.raises(RuntimeFailed, match="Cannot run handler"):
        asyncio.run(Fixture().run())
