"""The interface for exec, attach and port-forward of a container runtime (CRI's streaming calls).

A simulated runtime does not implement it. Errors are `RuntimeFailed`, or `NotHere` for an unknown container
or sandbox.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

__all__ = ["Channel", "OutputChunk", "Session", "StreamingService"]


class Channel(Enum):
    """Standard output or error."""

    STDOUT = "stdout"
    STDERR = "stderr"


class OutputChunk(NamedTuple):
    """A piece of a process's output."""

    channel: Channel
    data: bytes


class Session(Protocol):
    """A running process with input and output. With a terminal all output is STDOUT."""

    async def read(self) -> OutputChunk | None:
        """The next piece; None when nothing more will come. Reading slowly slows the process down."""
        ...

    async def write(self, data: bytes) -> None:
        """Give it input. Returns when the process has room for more; input to one that has ended is lost."""
        ...

    async def end_input(self) -> None: ...

    def resize(self, columns: int, rows: int) -> None: ...

    async def wait(self) -> int:
        """The exit code, 128 + N when signal N ended it."""
        ...

    async def close(self) -> None:
        """The client went away: a process made for it is killed, a container goes on."""
        ...


@runtime_checkable
class StreamingService(Protocol):
    """Exec, attach and port-forward for the containers of one node."""

    async def exec(
        self, container_id: str, command: Sequence[str], *, stdin: bool = False, tty: bool = False
    ) -> Session:
        """Run a command beside a container's process."""
        ...

    async def attach(self, container_id: str, *, stdin: bool = False) -> Session:
        """Listen and talk to a container's own process, from now on."""
        ...

    async def port_forward(
        self, sandbox_id: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to a port of a pod."""
        ...

    def log_path(self, container_id: str) -> Path:
        """Where the container's output is kept, in CRI's format; rotated files are beside it, named with a
        suffix that sorts by age."""
        ...
