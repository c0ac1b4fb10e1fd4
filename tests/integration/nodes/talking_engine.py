"""A simulated engine that can be talked with: it keeps logs in files, and echoes what it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from steersman.cluster.node.simulated.engine import SimulatedRuntime
from steersman.cluster.node.streaming import Channel, OutputChunk, Session


class Echo:
    """A session with something that says what it was told, and first what it is."""

    def __init__(self, name: str) -> None:
        self._said: asyncio.Queue[OutputChunk | None] = asyncio.Queue()
        self._said.put_nowait(OutputChunk(Channel.STDOUT, name.encode()))

    async def read(self) -> OutputChunk | None:
        return await self._said.get()

    async def write(self, data: bytes) -> None:
        self._said.put_nowait(OutputChunk(Channel.STDOUT, data))

    async def end_input(self) -> None:
        self._said.put_nowait(None)

    def resize(self, columns: int, rows: int) -> None:
        self._said.put_nowait(OutputChunk(Channel.STDERR, f"{columns}x{rows}".encode()))

    async def wait(self) -> int:
        return 0

    async def close(self) -> None:
        self._said.put_nowait(None)


class TalkingRuntime(SimulatedRuntime):
    """Tests set `folder` before they make nodes of it."""

    folder: Path

    async def exec(
        self, container_id: str, command: Sequence[str], *, stdin: bool = False, tty: bool = False
    ) -> Session:
        return Echo(" ".join(command))

    async def attach(self, container_id: str, *, stdin: bool = False) -> Session:
        return Echo(container_id)

    async def port_forward(
        self, sandbox_id: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", port)

    def log_path(self, container_id: str) -> Path:
        return self.folder / f"{container_id}.log"
