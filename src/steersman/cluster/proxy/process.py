"""The forwarder's process, from the proxy's side: started, told, and started again when it ends.

A process rather than a thread: connections are then carried while this process is busy with other things, and
the other way round. It is told changes only; one that was started anew is told everything.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Final

from steersman.aio import Backoff, Clock, SystemClock
from steersman.cluster.proxy.frontends import Frontend, Route, frontend_from_json

__all__ = ["ForwarderProcess"]

_log = logging.getLogger(__name__)

_AGAIN: Final = Backoff(0.1, 5.0)
#: An answer's longest line.
_LINE: Final = 1 << 24
_END_S: Final = 5.0


class ForwarderProcess:
    """Keeps frontends open. `run` must be running."""

    def __init__(
        self,
        clock: Clock | None = None,
        on_failure: Callable[[Frontend, int], None] = lambda frontend, code: None,
    ) -> None:
        """`on_failure` hears of frontends that cannot be opened, with their errno."""
        self._clock = clock or SystemClock()
        self._on_failure = on_failure
        self._routes: dict[Frontend, Route] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._up = asyncio.Event()
        self._number = 0
        #: By the number of the message: those who wait for its answer, which is what is `used`.
        self._waiting: dict[int, asyncio.Future[list[str]]] = {}

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def run(self) -> None:
        """Until cancelled."""
        failures = 0
        while True:
            started = self._clock.monotonic()
            try:
                await self._start()
                await self._listen()
                why = "it has ended"
            except OSError as error:
                why = str(error)
            finally:
                await self._stop()
            lived_s = self._clock.monotonic() - started
            failures = failures + 1 if lived_s < _END_S else 1
            _log.warning("starting another process to carry connections: %s", why)
            await self._clock.sleep(_AGAIN.wait_s(failures))

    async def apply(self, opened: Mapping[Frontend, Route], closed: Collection[Frontend] = ()) -> None:
        """Open or change frontends and close others; returns when that is done, or a process that was told
        has ended: the next is told everything."""
        for frontend in closed:
            self._routes.pop(frontend, None)
        self._routes.update(opened)
        if opened or closed:
            await self._up.wait()
            await self._tell(opened, closed)

    async def used(self, addresses: Collection[str]) -> set[str]:
        """At which of these there still are connections, if only of frontends that are closed."""
        return set(await self._tell({}, (), addresses)) if self._up.is_set() else set()

    async def _tell(
        self, opened: Mapping[Frontend, Route], closed: Collection[Frontend], asked: Collection[str] = ()
    ) -> list[str]:
        self._number += 1
        done: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        self._waiting[self._number] = done
        self._write(self._number, opened, closed, asked)
        return await done

    def _write(
        self,
        number: int,
        opened: Mapping[Frontend, Route],
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
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = _spawn(theirs.fileno())
            self._reader, self._writer = await asyncio.open_connection(sock=ours, limit=_LINE)
        except BaseException:
            ours.close()
            raise
        if self._routes:
            self._write(0, self._routes)
        self._up.set()

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
        writer, process = self._writer, self._process
        self._reader = self._writer = self._process = None
        self._up.clear()
        for done in self._waiting.values():
            if not done.done():
                done.set_result([])
        self._waiting.clear()
        if writer is not None:
            writer.close()
        if process is not None:
            await _wait(process)


def _spawn(control: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "steersman.cluster.proxy.forwarder", str(control)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=(control,),
        start_new_session=True,
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
