"""Exec and attach of the process runtime: creates pipes and terminals and passes their other ends to the
keeper.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from steersman.cluster.node.cri import ExecResult
from steersman.cluster.node.errors import RuntimeFailed
from steersman.cluster.node.process.errors import KeeperGone
from steersman.cluster.node.process.link import KeeperLink
from steersman.cluster.node.process.pods import KILLED, KeptContainer
from steersman.cluster.node.process.sessions import ProcessSession
from steersman.cluster.node.streaming import Channel
from steersman.objects.fields import quote

__all__ = ["Streams"]

#: No more of a command's output than this is kept.
_MAX_OUTPUT: Final = 16 << 20
_INIT: Final = "error during container init: "


class Streams:
    """The exec and attach sessions of one node."""

    def __init__(self, keeper: Callable[[], Awaitable[KeeperLink]]) -> None:
        self._keeper = keeper
        self._execs: dict[str, asyncio.Future[int]] = {}

    def exec_ended(self, exec_id: str, code: int) -> None:
        future = self._execs.pop(exec_id, None)
        if future is not None and not future.done():
            future.set_result(code)

    def lost(self) -> None:
        """The keeper is gone, and what it ran."""
        for exec_id in list(self._execs):
            self.exec_ended(exec_id, KILLED)

    async def exec_sync(self, kept: KeptContainer, command: Sequence[str], timeout_s: float) -> ExecResult:
        try:
            async with asyncio.timeout(timeout_s if timeout_s > 0 else None):
                return await self._exec_sync(kept, command)
        except TimeoutError as error:
            raise RuntimeFailed(f"command {quote(' '.join(command))} timed out") from error

    async def _exec_sync(self, kept: KeptContainer, command: Sequence[str]) -> ExecResult:
        session = await self.exec(kept, command)
        pieces: dict[Channel, list[bytes]] = {Channel.STDOUT: [], Channel.STDERR: []}
        size = 0
        try:
            while (output := await session.read()) is not None:
                size += len(output.data)
                if size <= _MAX_OUTPUT:
                    pieces[output.channel].append(output.data)
            code = await session.wait()
        finally:
            await session.close()
        return ExecResult(code, b"".join(pieces[Channel.STDOUT]), b"".join(pieces[Channel.STDERR]))

    async def exec(
        self, kept: KeptContainer, command: Sequence[str], *, stdin: bool = False, tty: bool = False
    ) -> ProcessSession:
        link = await self._running(kept)
        exec_id = secrets.token_hex(8)
        exit_code = self._execs[exec_id] = asyncio.get_running_loop().create_future()
        theirs, ours, outputs = _terminal() if tty else _pipes(stdin=stdin)

        async def kill() -> None:
            self._execs.pop(exec_id, None)
            if not exit_code.done():
                try:
                    await link.call("exec_kill", exec=exec_id)
                except KeeperGone:
                    return

        session = ProcessSession(outputs, ours, exit_code, tty=tty, on_close=kill)
        try:
            await link.call(
                "exec", theirs, exec=exec_id, id=kept.record.id, argv=list(command), tty=tty,
                env={"TERM": "xterm"} if tty else {},
            )  # fmt: skip
        except RuntimeFailed as error:
            exit_code.set_result(KILLED)
            await session.close()
            words = str(error).removeprefix(_INIT)
            raise RuntimeFailed(f"exec failed: unable to start container process: {words}") from error
        except BaseException:
            await session.close()
            raise
        return session

    async def attach(self, kept: KeptContainer, *, stdin: bool = False) -> ProcessSession:
        link = await self._running(kept)
        tty = kept.record.tty
        outputs: dict[int, Channel] = {}
        theirs: list[int] = []
        for channel in (Channel.STDOUT,) if tty else (Channel.STDOUT, Channel.STDERR):
            read, write = os.pipe()
            outputs[read] = channel
            theirs.append(write)
        streams = [channel.value for channel in outputs.values()]
        try:
            given = await link.attach(theirs, id=kept.record.id, streams=streams, stdin=stdin)
        except BaseException:
            for fd in outputs:
                os.close(fd)
            raise

        async def end_input() -> None:
            if kept.record.stdin_once and kept.running:
                await link.call("close_stdin", id=kept.record.id)

        exit_code = kept.ended()
        ours = given[0] if given else -1
        return ProcessSession(
            outputs, ours, exit_code, tty=tty, on_input_end=end_input if given and not tty else None
        )

    async def _running(self, kept: KeptContainer) -> KeeperLink:
        link = await self._keeper()
        if not kept.running:
            raise RuntimeFailed(f"container {kept.record.name} is not running")
        return link


def _pipes(*, stdin: bool) -> tuple[list[int], int, dict[int, Channel]]:
    """The process's ends, ours to write to (or -1), ours to read from."""
    out, their_out = os.pipe()
    err, their_err = os.pipe()
    outputs = {out: Channel.STDOUT, err: Channel.STDERR}
    if not stdin:
        return [os.open(os.devnull, os.O_RDONLY), their_out, their_err], -1, outputs
    their_in, ours = os.pipe()
    return [their_in, their_out, their_err], ours, outputs


def _terminal() -> tuple[list[int], int, dict[int, Channel]]:
    master, slave = os.openpty()
    return [slave, os.dup(slave), os.dup(slave)], master, {master: Channel.STDOUT}
