"""An engine's streaming side for tests: commands are processes of this machine, ports are its own."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import signal
import struct
import termios
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from steersman.aio import Scope
from steersman.cluster.node.errors import NotHere, RuntimeFailed
from steersman.cluster.node.streaming import Channel, OutputChunk

__all__ = ["LocalProcesses", "LocalSession"]

_PART_BYTES = 32 << 10


class LocalSession:
    """A process with pipes, or with a terminal."""

    def __init__(self, process: asyncio.subprocess.Process, terminal: int | None, keeps: bool) -> None:
        self._process = process
        self._terminal = terminal
        self._keeps = keeps
        self._said: asyncio.Queue[OutputChunk | None] = asyncio.Queue(4)
        self._scope = Scope()
        self._scope.start(self._listen())
        self.closed = False

    async def _listen(self) -> None:
        async with Scope() as scope:
            if self._terminal is not None:
                scope.start(self._listen_to_terminal(self._terminal))
            for channel, reader in (
                (Channel.STDOUT, self._process.stdout),
                (Channel.STDERR, self._process.stderr),
            ):
                if reader is not None:
                    scope.start(self._pump(channel, reader))
            await scope.join()
        await self._said.put(None)

    async def _pump(self, channel: Channel, reader: asyncio.StreamReader) -> None:
        while data := await reader.read(_PART_BYTES):
            await self._said.put(OutputChunk(channel, data))

    async def _listen_to_terminal(self, terminal: int) -> None:
        loop = asyncio.get_running_loop()
        while True:
            ready = loop.create_future()
            loop.add_reader(terminal, lambda done=ready: done.done() or done.set_result(None))
            try:
                await ready
            finally:
                loop.remove_reader(terminal)
            try:
                data = os.read(terminal, _PART_BYTES)
            except OSError:
                return
            if not data:
                return
            await self._said.put(OutputChunk(Channel.STDOUT, data))

    async def read(self) -> OutputChunk | None:
        return await self._said.get()

    async def write(self, data: bytes) -> None:
        if self._terminal is not None:
            os.write(self._terminal, data)
            return
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(data)
            await stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            return

    async def end_input(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()

    def resize(self, columns: int, rows: int) -> None:
        if self._terminal is not None:
            fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    async def wait(self) -> int:
        code = await self._process.wait()
        return code if code >= 0 else 128 - code

    async def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        if not self._keeps:
            _kill(self._process)
        await self._scope.close()
        if self._terminal is not None:
            os.close(self._terminal)


def _kill(process: asyncio.subprocess.Process) -> None:
    """Also when its end is only not known yet."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


class LocalProcesses:
    """A `StreamingService`. Containers are the processes started with `run`, by any name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._containers: dict[str, asyncio.subprocess.Process] = {}
        self._processes: list[asyncio.subprocess.Process] = []
        self.sessions: list[LocalSession] = []

    async def run(self, container_id: str, *command: str) -> None:
        self._containers[container_id] = await self._start(command, stdin=True, terminal=None)

    async def exec(
        self, container_id: str, command: Sequence[str], *, stdin: bool = False, tty: bool = False
    ) -> LocalSession:
        terminal = inner = None
        if tty:
            terminal, inner = pty.openpty()
        try:
            process = await self._start(command, stdin=stdin, terminal=inner)
        except OSError as error:
            if terminal is not None:
                os.close(terminal)
            raise RuntimeFailed(f"{command[0]}: {error.strerror}") from error
        finally:
            if inner is not None:
                os.close(inner)
        session = LocalSession(process, terminal, keeps=False)
        self.sessions.append(session)
        return session

    async def attach(self, container_id: str, *, stdin: bool = False) -> LocalSession:
        if container_id not in self._containers:
            raise NotHere(f"there is no container {container_id}")
        session = LocalSession(self._containers[container_id], None, keeps=True)
        self.sessions.append(session)
        return session

    async def port_forward(
        self, sandbox_id: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            return await asyncio.open_connection("127.0.0.1", port)
        except OSError as error:
            why = os.strerror(error.errno or 0)
            raise RuntimeFailed(f"connect to 127.0.0.1:{port}: {why}") from error

    def log_path(self, container_id: str) -> Path:
        return self._folder / f"{container_id}.log"

    async def close(self) -> None:
        for session in self.sessions:
            await session.close()
        for process in self._processes:
            _kill(process)
            # Its end is not noticed while something that it wrote is unread.
            process._transport.close()  # type: ignore[attr-defined]
            await process.wait()

    async def _start(
        self, command: Sequence[str], *, stdin: bool, terminal: int | None
    ) -> asyncio.subprocess.Process:
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        output = pipe if terminal is None else terminal
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=terminal if terminal is not None else pipe if stdin else nothing,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        self._processes.append(process)
        return process
