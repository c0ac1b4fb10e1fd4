"""Commands in containers over a WebSocket: exec and attach.

Every message begins with its channel:

    0 stdin    1 stdout    2 stderr    3 how it ended (a Status)    4 terminal size    255 end of a channel

v5.channel.k8s.io is v4 plus channel 255, without which the end of standard input cannot be signalled.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self, TypedDict

import orjson

from steersman.aio import Scope
from steersman.client.errors import CommandFailed
from steersman.client.targets import Query
from steersman.http import WebSocket
from steersman.http.errors import WebSocketClosed

__all__ = ["PROTOCOLS", "Completed", "Output", "Process", "StreamOptions", "collect", "stream_query"]

_V5 = "v5.channel.k8s.io"
PROTOCOLS = (_V5, "v4.channel.k8s.io")

_STDIN, _STDOUT, _STDERR, _STATUS, _RESIZE, _END = 0, 1, 2, 3, 4, 255
_NAMES: Mapping[int, Literal["stdout", "stderr"]] = {_STDOUT: "stdout", _STDERR: "stderr"}
#: Larger input is sent in parts; servers read messages into buffers of this size.
_PART_BYTES = 32 << 10


class StreamOptions(TypedDict, total=False):
    """How to be connected to a command."""

    container: str
    """Needed if the pod has several."""
    stdin: bool
    tty: bool
    """With a terminal, which has no stderr of its own."""


class Output(NamedTuple):
    """Something that the command has written."""

    stream: Literal["stdout", "stderr"]
    data: bytes


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that has run."""

    exit_code: int
    stdout: bytes
    stderr: bytes


def stream_query(options: StreamOptions, command: Sequence[str] | None = None) -> Query:
    tty = options.get("tty", False)
    return {
        "container": options.get("container"),
        "stdin": options.get("stdin", False),
        "stdout": True,
        "stderr": not tty,
        "tty": tty,
        "command": command,
    }


class Process:
    """A running command. Iterate over what it writes; `wait` for its exit code. Leaving hangs up."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self.exit_code: int | None = None
        """Known once all output is read."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._socket.close()

    async def write(self, data: bytes) -> None:
        """Send to its stdin; waits while it does not read. Raises `CommandFailed` if it is gone."""
        for start in range(0, len(data), _PART_BYTES):
            await self._send(_STDIN, data[start : start + _PART_BYTES])

    async def write_eof(self) -> None:
        """Tell it that there is no more input."""
        if self._socket.subprotocol != _V5:
            raise CommandFailed("this server cannot signal the end of standard input to a command")
        await self._send(_END, bytes([_STDIN]))

    async def resize(self, columns: int, rows: int) -> None:
        """Tell its terminal how large it is."""
        await self._send(_RESIZE, orjson.dumps({"Width": columns, "Height": rows}))

    def __aiter__(self) -> AsyncIterator[Output]:
        return self

    async def __anext__(self) -> Output:
        while True:
            try:
                message = await self._socket.receive()
            except WebSocketClosed as error:
                if self.exit_code is None:
                    raise CommandFailed(f"how the command ended is not known: {error}") from error
                raise StopAsyncIteration from None
            if not isinstance(message, bytes) or len(message) < 2:
                # Servers open each channel with an empty message.
                continue
            channel, data = message[0], message[1:]
            if name := _NAMES.get(channel):
                return Output(name, data)
            if channel == _STATUS:
                self.exit_code = _exit_code(data)

    async def wait(self) -> int:
        """Let it run to its end, dropping what it still writes; its exit code."""
        async for _ in self:
            pass
        assert self.exit_code is not None
        return self.exit_code

    async def _send(self, channel: int, data: bytes) -> None:
        try:
            await self._socket.send(bytes([channel]) + data)
        except WebSocketClosed as error:
            raise CommandFailed(f"the command takes no more input: {error}") from error


async def collect(process: Process, stdin: bytes | None) -> Completed:
    """Feed a command and keep all that it writes, both at once: either may wait for the other."""
    parts: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
    async with process, Scope(on_error=_ignore_closed) as scope:
        if stdin is not None:
            scope.start(_feed(process, stdin), name="stdin of a command")
        async for output in process:
            parts[output.stream].append(output.data)
    assert process.exit_code is not None
    return Completed(process.exit_code, b"".join(parts["stdout"]), b"".join(parts["stderr"]))


async def _feed(process: Process, data: bytes) -> None:
    await process.write(data)
    await process.write_eof()


def _ignore_closed(error: BaseException) -> None:
    """A command may end before it has read everything; what it returns says whether that is bad."""


def _exit_code(content: bytes) -> int:
    try:
        status: Any = orjson.loads(content)
        if status.get("status") == "Success":
            return 0
        if status.get("reason") == "NonZeroExitCode":
            causes = status["details"]["causes"]
            return next(int(cause["message"]) for cause in causes if cause.get("reason") == "ExitCode")
        message = status.get("message") or status.get("reason")
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError, ValueError, StopIteration):
        message = content.decode(errors="replace")
    raise CommandFailed(f"the command did not run: {message}")
