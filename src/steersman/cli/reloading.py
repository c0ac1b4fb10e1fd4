"""`steer run --dev`: the operator runs in a process of its own, which is replaced when its code changes.

    spare ──told to go──▶ running ──code changed──▶ stopping ──▶ gone
      ▲                                                 │
      └───────────── another one is started ◀───────────┘

A spare (`reloaded`) has everything loaded but the author's code, so that a change soon takes effect. It is
started when the one that runs is no longer busy with its own start.
This process knows the code's files only by their names and times: whatever is wrong with them is said by the
one that runs them, and the next change is waited for.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, Self

from steersman.aio import Scope
from steersman.aio.signals import stopping_on_signals
from steersman.cli.failure import CommandFailed
from steersman.cli.file_changes import FileChanges

__all__ = ["changed_file", "files_of", "folders_of", "reload", "root_of"]

#: How long after one has begun to run another spare is started.
_SPARE_AFTER_S: Final = 0.5
_LOOK_S: Final = 1.0
#: How long an operator may take to end in order: reconciles end, the lease is given up.
_STOP_S: Final = 5.0
_MOST_FILES: Final = 5_000
_LEFT_OUT: Final = frozenset(("__pycache__", "node_modules", "site-packages", "venv"))

Times = dict[Path, int]


async def reload(module: str, arguments: Sequence[str]) -> None:
    """Run `steer run ARGUMENTS` again and again, until SIGINT or SIGTERM."""
    root = root_of(module)
    async with FileChanges(partial(folders_of, root)) as notices, _Reload(root, arguments, notices) as reload:
        with stopping_on_signals(reload.stop):
            await reload.run()


class _Reload:
    """The process that runs, and the one that is to run after it."""

    def __init__(self, root: Path, arguments: Sequence[str], notices: FileChanges) -> None:
        self._root = root
        self._arguments = arguments
        self._notices = notices
        self._times = files_of(root)
        self._running: _Process | None = None
        self._spare: _Process | None = None
        self._stopped = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for process in (self._running, self._spare):
            if process is not None:
                await process.stop()

    def stop(self) -> None:
        self._stopped = True
        self._notices.wake()

    async def run(self) -> None:
        while not self._stopped:
            spare, self._spare = self._spare, None
            self._running = spare or await _Process.start(self._arguments)
            self._running.go(self._notices.wake)
            changed = await self._change(self._running)
            if changed is not None:
                self._times = files_of(self._root)
                _say(f"{changed.name} has changed: restarting")
            await self._running.stop()

    async def _change(self, running: _Process) -> Path | None:
        """Wait for a change, or the end; which file it was."""
        told = False
        since = time.monotonic()
        while not self._stopped:
            changed = changed_file(self._times, files_of(self._root))
            if changed is not None:
                return changed
            if not told and running.ended:
                told = True
                _say("waiting for a change")
            wait_s = _LOOK_S
            if self._spare is None:
                wait_s = since + _SPARE_AFTER_S - time.monotonic()
                if wait_s <= 0:
                    self._spare = await _Process.start(self._arguments)
                    continue
            await self._notices.next(wait_s)
        return None


class _Process:
    """One child. It gets no signals of the terminal: it is stopped by this process, in order."""

    def __init__(self, process: asyncio.subprocess.Process, pipe: int) -> None:
        self._process = process
        self._pipe = pipe
        self._scope = Scope()

    @classmethod
    async def start(cls, arguments: Sequence[str]) -> _Process:
        reading, writing = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "steersman.cli.reloaded", str(reading), *arguments),
                pass_fds=(reading,),
                stdin=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        finally:
            os.close(reading)
        return cls(process, writing)

    @property
    def ended(self) -> bool:
        return self._process.returncode is not None

    def go(self, on_end: Callable[[], None]) -> None:
        os.write(self._pipe, b"\n")
        self._scope.start(self._process.wait()).add_done_callback(lambda _: on_end())

    async def stop(self) -> None:
        if self._pipe >= 0:
            # What it waits for, if it was not told to go, and what it lives by.
            os.close(self._pipe)
            self._pipe = -1
        if not self.ended:
            await self._end()
        await self._scope.close()

    async def _end(self) -> None:
        self._process.terminate()
        try:
            async with asyncio.timeout(_STOP_S):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()


def root_of(module: str) -> Path:
    """The file or folder whose changes matter: the package, or all that lies beside a file."""
    where = module.rpartition(":")[0] or module
    if where.endswith(".py"):
        file = Path(where)
        if not file.is_file():
            raise CommandFailed(f"{file}: there is no such file")
        return file.resolve().parent
    sys.path.insert(0, str(Path.cwd()))
    top = where.partition(".")[0]
    spec = importlib.util.find_spec(top) if top.isidentifier() else None
    if spec is None or spec.origin is None:
        raise CommandFailed(f"the module {where!r} is neither in this folder nor installed")
    file = Path(spec.origin)
    return file.parent if spec.submodule_search_locations else file


def files_of(root: Path) -> Times:
    """The Python files there, and when each was changed."""
    found: Times = {}
    for file in _python_files(root) if root.is_dir() else iter((root,)):
        try:
            found[file] = file.stat().st_mtime_ns
        except OSError:
            continue  # gone, or about to be replaced
        if len(found) >= _MOST_FILES:
            break
    return found


def changed_file(before: Times, now: Times) -> Path | None:
    """One that is new, different or gone."""
    for file in now:
        if before.get(file) != now[file]:
            return file
    return next((file for file in before if file not in now), None)


def folders_of(root: Path) -> list[Path]:
    """Where those files are, or might be."""
    if not root.is_dir():
        return [root.parent]
    return [Path(here) for here, _ in islice(_walk(root), _MOST_FILES)]


def _python_files(folder: Path) -> Iterator[Path]:
    for here, files in _walk(folder):
        for name in files:
            if name.endswith(".py"):
                yield Path(here, name)


def _walk(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The folders that may have the author's code in them, and the names of their files."""
    for here, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _LEFT_OUT]
        yield here, files


def _say(line: str) -> None:
    sys.stderr.write(f"steer: {line}\n")
    sys.stderr.flush()
