"""The node agent's connection to its keeper: starts one if there is none, sends requests, receives exit
events.

When the keeper ends, all pending requests fail with `KeeperGone`, and `on_lost` is called once. File
descriptors travel beside messages, so that terminal data passes through neither.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Unpack, cast, overload

from steersman.cluster.node.errors import RuntimeFailed
from steersman.cluster.node.process.errors import KeeperGone
from steersman.cluster.node.process.keeper.messages import (
    AttachRequest,
    ContainerRequest,
    Event,
    ExecKillRequest,
    ExecRequest,
    HelloAnswer,
    StartedAnswer,
    StartRequest,
    StopRequest,
    UpdateRequest,
)
from steersman.cluster.node.process.keeper.protocol import SOCKET, FrameReader, FrameWriter, receive

__all__ = ["KeeperLink", "start_keeper"]

_log = logging.getLogger(__name__)

Message = dict[str, Any]

#: Loads the keeper's package by itself, without the ones around it.
_BOOT: Final = "import sys; sys.path.insert(0, sys.argv.pop(1)); from keeper.main import main; main()"
#: What the first process ends with when another keeper has the folder.
_TAKEN: Final = 3


async def start_keeper(folder: Path, tag: str, *, alone_s: float, isolation: str) -> None:
    """Have a keeper in the folder, this one or one that is there already. `isolation` is as in
    `EngineConfig`."""
    flags = ["-I", "-S", *(["-B"] if sys.dont_write_bytecode else [])]
    arguments = [str(folder), tag, str(alone_s), isolation]
    # What it has to say goes to a file: it outlives whoever reads ours.
    log = os.open(folder / "keeper.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *flags, "-c", _BOOT, str(Path(__file__).parent), *arguments,
            stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/",
        )  # fmt: skip
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            # It goes on all the same: whoever leaves must find it, to tell it to end.
            await process.wait()
            raise
    finally:
        os.close(log)
    if code not in (0, _TAKEN):
        raise RuntimeFailed(f"the keeper of {folder} did not start: see {folder / 'keeper.log'}")


class KeeperLink:
    """The connection to a keeper."""

    def __init__(
        self,
        sock: socket.socket,
        on_event: Callable[[Event], None],
        on_lost: Callable[[KeeperLink], None],
    ) -> None:
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self._on_event = on_event
        self._on_lost = on_lost
        self._frames = FrameReader()
        self._outgoing = FrameWriter(sock)
        self._writing = False
        self._seq = 0
        self._answers: dict[int, asyncio.Future[tuple[Message, list[int]]]] = {}
        self.open = True
        self._closed = asyncio.Event()
        self._loop.add_reader(sock, self._readable)

    @classmethod
    def connect(
        cls, folder: Path, on_event: Callable[[Event], None], on_lost: Callable[[KeeperLink], None]
    ) -> KeeperLink:
        """Raises `OSError` if nobody listens."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # By way of the folder's descriptor, since paths of sockets are short.
            at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                sock.connect(f"/proc/self/fd/{at}/{SOCKET}")
            finally:
                os.close(at)
            sock.setblocking(False)
        except OSError:
            sock.close()
            raise
        return cls(sock, on_event, on_lost)

    @overload
    async def call(self, op: Literal["hello"]) -> HelloAnswer: ...

    @overload
    async def call(self, op: Literal["start"], **fields: Unpack[StartRequest]) -> StartedAnswer: ...

    @overload
    async def call(self, op: Literal["stop"], **fields: Unpack[StopRequest]) -> object: ...

    @overload
    async def call(self, op: Literal["update"], **fields: Unpack[UpdateRequest]) -> object: ...

    @overload
    async def call(
        self, op: Literal["forget", "close_stdin"], **fields: Unpack[ContainerRequest]
    ) -> object: ...

    @overload
    async def call(
        self, op: Literal["exec"], fds: Sequence[int], **fields: Unpack[ExecRequest]
    ) -> object: ...

    @overload
    async def call(self, op: Literal["exec_kill"], **fields: Unpack[ExecKillRequest]) -> object: ...

    @overload
    async def call(self, op: Literal["shutdown"]) -> object: ...

    async def call(self, op: str, fds: Sequence[int] = (), **fields: Any) -> Any:
        """Ask for something. Raises `RuntimeFailed` in the keeper's words; `fds` are closed in any case."""
        answer, given = await self._ask(op, fds, fields)
        for fd in given:
            os.close(fd)
        return answer

    async def attach(self, fds: Sequence[int], **fields: Unpack[AttachRequest]) -> list[int]:
        """Have a container's output written to `fds`; with `stdin`, the descriptor of its input."""
        _, given = await self._ask("attach", fds, fields)
        return given

    async def _ask(self, op: str, fds: Sequence[int], fields: Mapping[str, Any]) -> tuple[Message, list[int]]:
        if not self.open:
            for fd in fds:
                os.close(fd)
            raise KeeperGone("the keeper process of this node has ended")
        self._seq += 1
        seq = self._seq
        future = self._answers[seq] = self._loop.create_future()
        self._outgoing.add({"op": op, "seq": seq, **fields}, list(fds))
        self._flush()
        try:
            answer, given = await future
        finally:
            self._answers.pop(seq, None)
        if "error" in answer:
            raise RuntimeFailed(answer["error"])
        return answer, given

    async def wait_closed(self) -> None:
        await self._closed.wait()

    def close(self) -> None:
        """Leave; the keeper goes on."""
        if not self.open:
            return
        self.open = False
        self._closed.set()
        self._loop.remove_reader(self._sock)
        if self._writing:
            self._loop.remove_writer(self._sock)
        self._outgoing.close()
        self._frames.close()
        self._sock.close()
        for future in self._answers.values():
            if not future.done():
                future.set_exception(KeeperGone("the keeper process of this node has ended"))

    def _flush(self) -> None:
        try:
            done = self._outgoing.flush()
        except OSError:
            self._lost()
            return
        if done and self._writing:
            self._loop.remove_writer(self._sock)
        elif not done and not self._writing:
            self._loop.add_writer(self._sock, self._flush)
        self._writing = not done

    def _readable(self) -> None:
        try:
            data, fds = receive(self._sock)
        except BlockingIOError:
            return
        except OSError:
            data, fds = b"", []
        if not data:
            self._lost()
            return
        for message, given in self._frames.feed(data, fds):
            self._hear(message, given)

    def _hear(self, message: Message, given: list[int]) -> None:
        if "event" in message:
            try:
                self._on_event(cast(Event, message))
            except Exception:  # noqa: BLE001 - other messages came with it
                _log.exception("a message of the keeper process cannot be decoded: %s", message)
            return
        future = self._answers.get(message["seq"])
        if future is not None and not future.done():
            future.set_result((message, given))
            return
        for fd in given:
            with contextlib.suppress(OSError):
                os.close(fd)

    def _lost(self) -> None:
        if self.open:
            self.close()
            self._on_lost(self)
