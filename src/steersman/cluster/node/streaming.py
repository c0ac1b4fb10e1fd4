"""What the node's own API needs of an engine besides CRI's other calls: to talk with what runs in containers.

An engine that runs nothing real does not have it. Failures are `RuntimeFailed`, or `NotHere` for a container
or sandbox the engine does not know.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

__all__ = ["Channel", "Output", "Session", "StreamingService"]


class Channel(Enum):
    STDOUT = "stdout"
    STDERR = "stderr"


class Output(NamedTuple):
    """A piece of what a process said."""

    channel: Channel
    data: bytes


class Session(Protocol):
    """A process that is talked with. With a terminal everything comes as STDOUT."""

    async def read(self) -> Output | None:
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
