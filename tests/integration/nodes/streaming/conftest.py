"""The streaming side of a node's API by itself: a server, and processes of this machine behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from steersman.http import Client
from tests.support.local_processes import LocalProcesses
from tests.support.streaming_node import StreamingNode

DEADLINE_S = 60

Test = Callable[[Client, StreamingNode], Awaitable[None]]


@pytest.fixture
def with_node(tmp_path: Path) -> Callable[[Test], None]:
    def run(test: Test) -> None:
        async def main() -> None:
            node = StreamingNode(LocalProcesses(tmp_path))
            await node.server.start("127.0.0.1", 0)
            try:
                async with (
                    asyncio.timeout(DEADLINE_S),
                    Client(f"http://127.0.0.1:{node.server.port}") as client,
                ):
                    await test(client, node)
            finally:
                await node.close()

        asyncio.run(main())

    return run
