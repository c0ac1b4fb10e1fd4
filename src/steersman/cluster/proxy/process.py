"""Starting, restarting and updating the forwarder process, from the proxy's side.

A process rather than a thread: connections are then carried while this process is busy with other things, and
the other way round. With `ForwarderFiles` it also carries them while there is no proxy, and the next proxy
finds it there. It is sent changes only; one that was started anew is sent everything.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from steersman.aio import Backoff, Clock, SystemClock
from steersman.cluster.proxy.frontends import VERSION, Frontend, FrontendRoute, frontend_from_json

__all__ = ["ForwarderFiles", "ForwarderProcess"]

_log = logging.getLogger(__name__)

_AGAIN: Final = Backoff(0.1, 5.0)
#: An answer's longest line.
_LINE: Final = 1 << 24
_MEET_S: Final = 30.0
_END_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class ForwarderFiles:
    """The socket and lock files of a forwarder, by which the next proxy finds it."""

    #: Has its socket and log, named after `name`.
    folder: Path
    name: str
    #: Locked by those it works for: it ends when there is neither a proxy nor any of them.
    locks: tuple[Path, ...]
    #: Whether it stays when the proxy ends in order. When that is killed, it does in any case.
    stays: Callable[[], bool]

    @property
    def path(self) -> Path:
        """Of its socket."""
        return self.folder / f"{self.name}.sock"

    def connect(self) -> socket.socket | None:
        """A connection to the forwarder that is there; None if none is."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # By way of the folder's descriptor, since paths of sockets are short.
            at = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                sock.connect(f"/proc/self/fd/{at}/{self.path.name}")
            finally:
                os.close(at)
        except OSError:
            sock.close()
            return None
        return sock


class ForwarderProcess:
    """Keeps frontends open. `run` must be running."""

    def __init__(
        self,
        clock: Clock | None = None,
        on_failure: Callable[[Frontend, int], None] = lambda frontend, code: None,
        home: ForwarderFiles | None = None,
    ) -> None:
        """`on_failure` hears of frontends that cannot be opened, with their errno."""
        self._clock = clock or SystemClock()
        self._on_failure = on_failure
        self._home = home
        self._routes: dict[Frontend, FrontendRoute] = {}
        #: What the forwarder had when it was found.
        self._found: set[Frontend] = set()
        self.pid: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._up = asyncio.Event()
        self._number = 0
        #: By the number of the message: those who wait for its answer, which is what is `used`.
        self._waiting: dict[int, asyncio.Future[list[str]]] = {}

    @property
    def stays(self) -> bool:
        """Whether connections are carried on when the proxy ends in order."""
        return self._home is not None and self._home.stays()

    def is_there(self) -> bool:
        """Whether one of an earlier proxy carries connections now."""
        sock = None if self._home is None else self._home.connect()
        if sock is not None:
            sock.close()
        return sock is not None

    async def run(self) -> None:
        """Until cancelled."""
        failures = 0
        while True:
            started = self._clock.monotonic()
            try:
                await self._start()
                await self._listen()
                why = "it has ended"
            except (OSError, ValueError) as error:
                why = str(error)
            finally:
                await self._stop()
            lived_s = self._clock.monotonic() - started
            failures = failures + 1 if lived_s < _END_S else 1
            _log.warning("restarting the forwarder process: %s", why)
            await self._clock.sleep(_AGAIN.wait_s(failures))

    async def apply(
        self, opened: Mapping[Frontend, FrontendRoute], closed: Collection[Frontend] = ()
    ) -> None:
        """Open or change frontends and close others; returns when that is done, or a process that was told
        has ended: the next is told everything."""
        for frontend in closed:
            self._routes.pop(frontend, None)
        self._routes.update(opened)
        if opened or closed:
            await self._wait_up()
            await self._send_changes(opened, closed)

    async def close_others(self) -> None:
        """All that is wanted is open: close what only an earlier proxy wanted."""
        await self._wait_up()
        closed, self._found = self._found - self._routes.keys(), set()
        await self.apply({}, closed)

    async def used(self, addresses: Collection[str]) -> set[str]:
        """At which of these there still are connections, if only of frontends that are closed."""
        return set(await self._send_changes({}, (), addresses)) if self._up.is_set() else set()

    async def _wait_up(self) -> None:
        """Until there is a process to be told something: one that has just come may be gone by the time that
        those who waited for it have their turn."""
        while not self._up.is_set():
            await self._up.wait()

    async def _send_changes(
        self,
        opened: Mapping[Frontend, FrontendRoute],
        closed: Collection[Frontend],
        asked: Collection[str] = (),
    ) -> list[str]:
        self._number += 1
        done: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        self._waiting[self._number] = done
        self._write(self._number, opened, closed, asked)
        return await done

    def _write(
        self,
        number: int,
        opened: Mapping[Frontend, FrontendRoute],
        closed: Collection[Frontend] = (),
        asked: Collection[str] = (),
    ) -> None:
        assert self._writer is not None
        message = {
            "number": number,
            "open": list(opened.items()),
            "close": list(closed),
            "asked": list(asked),
        }
        self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    async def _start(self) -> None:
        sock = self._home.connect() if self._home is not None else None
        if sock is None or not await self._meet(sock):
            ours, theirs = socket.socketpair()
            with theirs:
                self._process = _spawn(theirs.fileno(), self._home)
            if not await self._meet(ours):
                raise OSError("it did not report its listeners")
            if self._home is not None:
                # Its first process has ended: who outlives others is nobody's child.
                await _wait(self._process)
                self._process = None
        if self._routes:
            self._write(0, self._routes)
        self._up.set()

    async def _meet(self, sock: socket.socket) -> bool:
        """Talk by this socket. False if one is there that has to be replaced, and is ending now."""
        try:
            self._reader, self._writer = await asyncio.open_connection(sock=sock, limit=_LINE)
        except BaseException:
            sock.close()
            raise
        async with asyncio.timeout(_MEET_S):
            said = json.loads(await self._reader.readline() or b"{}")
        if said.get("version") != VERSION:
            await self._leave(stays=False)
            return False
        self.pid = said["pid"]
        self._found = {frontend_from_json(each) for each in said["open"]}
        return True

    async def _listen(self) -> None:
        assert self._reader is not None
        while line := await self._reader.readline():
            answer = json.loads(line)
            for each, code in answer["failed"]:
                frontend = frontend_from_json(each)
                if self._routes.pop(frontend, None) is not None:
                    self._on_failure(frontend, code)
            if (done := self._waiting.pop(answer["number"], None)) is not None and not done.done():
                done.set_result(answer["used"])

    async def _stop(self) -> None:
        process, self._process, self.pid = self._process, None, None
        self._up.clear()
        for done in self._waiting.values():
            if not done.done():
                done.set_result([])
        self._waiting.clear()
        await self._leave(stays=self.stays)
        if process is not None:
            await _wait(process)

    async def _leave(self, *, stays: bool) -> None:
        """Talk no more with the forwarder; unless it stays, have it end."""
        reader, writer = self._reader, self._writer
        self._reader = self._writer = None
        if reader is None or writer is None:
            return
        if not stays:
            with contextlib.suppress(OSError):
                writer.write(b'{"end": true}\n')
                async with asyncio.timeout(_END_S):
                    await reader.read()
        writer.close()


def _spawn(control: int, home: ForwarderFiles | None) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "steersman.cluster.proxy.forwarder", str(control)]
    if home is None:
        return _run(command, control, None)
    # What it has to say goes to a file: it outlives whoever reads ours.
    path = home.folder / f"{home.name}.log"
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        return _run([*command, str(home.path), *map(str, home.locks)], control, log)
    finally:
        os.close(log)


def _run(command: list[str], control: int, log: int | None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=log,
        pass_fds=(control,),
        start_new_session=True,
        cwd="/",
    )


async def _wait(process: subprocess.Popen[bytes]) -> None:
    """It ends by itself when its control socket is closed."""
    loop = asyncio.get_running_loop()
    ending = loop.run_in_executor(None, _reap, process)
    try:
        await asyncio.shield(ending)
    except asyncio.CancelledError:
        await ending
        raise


def _reap(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
