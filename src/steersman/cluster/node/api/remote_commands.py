"""The endpoints `/exec` and `/attach`: a client's session with a process in a container, over WebSocket or
SPDY.

The kubelet API routes to `serve_remote_command`; the process is the runtime's `Session`. The session ends
with the process, with the client, or after four hours without data.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from steersman.aio import Scope
from steersman.cluster.node.api.command_channels import (
    SPDY_PROTOCOLS,
    WEBSOCKET_PROTOCOLS,
    Channels,
    ClientGone,
    SpdyChannels,
    StreamsWanted,
    WebSocketChannels,
)
from steersman.cluster.node.api.stream_upgrades import (
    IDLE_TIMEOUT_S,
    STREAMS_TIMEOUT_S,
    Idle,
    upgrade_to_spdy,
    wants_websocket,
)
from steersman.cluster.node.errors import NodeProblem
from steersman.cluster.node.streaming import Session
from steersman.http import Request
from steersman.http.errors import BadRequest
from steersman.http.spdy import SpdyConnection
from steersman.objects.status import internal_error

__all__ = ["CommandOptions", "serve_remote_command"]

_SUCCESS: Final[Mapping[str, Any]] = {"metadata": {}, "status": "Success"}


@dataclass(frozen=True, slots=True)
class CommandOptions:
    """The streams that the client wants to connect to."""

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False
    #: What to run; nothing to be attached to what runs already.
    command: tuple[str, ...] = ()

    @classmethod
    def parse(cls, query: Mapping[str, Sequence[str]]) -> CommandOptions:
        """Raises `BadRequest`."""

        def wants(name: str) -> bool:
            return list(query.get(name, ()))[:1] == ["1"]

        tty = wants("tty")
        # A terminal has one output.
        stdin, stdout, stderr = wants("input"), wants("output"), wants("error") and not tty
        if not (stdin or stdout or stderr):
            raise BadRequest("you must specify at least 1 of stdin, stdout, stderr")
        return cls(stdin, stdout, stderr, tty, tuple(query.get("command", ())))

    @property
    def streams(self) -> StreamsWanted:
        return StreamsWanted(self.stdin, self.stdout, self.stderr, self.tty)


SessionFactory = Callable[[], Awaitable[Session]]


async def serve_remote_command(
    request: Request,
    open_session: SessionFactory,
    options: CommandOptions,
    *,
    idle_timeout_s: float = IDLE_TIMEOUT_S,
) -> None:
    """Take over the connection until the command has ended or the client is gone.

    `open_session` is called once the client is connected; what it raises (`NodeProblem`) the client is told.
    Raises `RequestRefused` for a request that asks for no known protocol.
    """
    idle = Idle(idle_timeout_s)
    if wants_websocket(request):
        socket = await request.websocket(WEBSOCKET_PROTOCOLS)
        channels = WebSocketChannels(socket, options.streams, idle.touch)
        try:
            async with Scope() as scope:
                scope.start(channels.run(), name="messages of a client")
                await channels.start()
                await _converse(channels, open_session, options, idle)
        except ClientGone:
            pass
        finally:
            await socket.close()
        return
    protocol, upgraded = upgrade_to_spdy(request, SPDY_PROTOCOLS)
    async with SpdyConnection(upgraded, server=True) as connection:
        connection.on_activity = idle.touch
        streams = SpdyChannels(connection, protocol, options.streams)
        try:
            async with asyncio.timeout(STREAMS_TIMEOUT_S):
                await streams.open()
            await _converse(streams, open_session, options, idle)
        except (ClientGone, TimeoutError):
            return


async def _converse(
    channels: Channels, open_session: SessionFactory, options: CommandOptions, idle: Idle
) -> None:
    try:
        code = await _attend(channels, await open_session(), options, idle)
    except NodeProblem as error:
        doing = "executing command in" if options.command else "attaching to"
        await channels.finish(internal_error(f"error {doing} container: {error}").status())
        return
    if code is not None:
        await channels.finish(_outcome(code, options))


async def _attend(channels: Channels, session: Session, options: CommandOptions, idle: Idle) -> int | None:
    """Let both talk. The exit code; None when the client left, or nobody had anything to say for long."""
    try:
        async with Scope() as scope:
            if options.stdin:
                scope.start(_feed(channels, session), name="input of a command")
            if options.tty:
                scope.start(_resize(channels, session), name="size of a terminal")
            talking = scope.start(_copy_output(channels, session), name="output of a command")
            over = (
                scope.start(channels.wait_gone(), name="presence of a client"),
                scope.start(idle.expire(), name="idle connection"),
            )
            await asyncio.wait((talking, *over), return_when=asyncio.FIRST_COMPLETED)
            return talking.result() if talking.done() else None
    finally:
        await session.close()


async def _copy_output(channels: Channels, session: Session) -> int:
    """Pass on what the process says; its exit code."""
    while (output := await session.read()) is not None:
        await channels.send(output.channel, output.data)
    return await session.wait()


async def _feed(channels: Channels, session: Session) -> None:
    async for data in channels.stdin():
        await session.write(data)
    await session.end_input()


async def _resize(channels: Channels, session: Session) -> None:
    async for columns, rows in channels.sizes():
        session.resize(columns, rows)


def _outcome(code: int, options: CommandOptions) -> Mapping[str, Any]:
    if code == 0 or not options.command:
        # How a container ends is told by its pod's status, not to those who listen.
        return _SUCCESS
    ran = " ".join(options.command)
    return {
        "metadata": {},
        "status": "Failure",
        "message": "command terminated with non-zero exit code: "
        f"error executing command [{ran}], exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
