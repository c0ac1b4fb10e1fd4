"""What wakes whoever waits for changes of files."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from steersman.cli.file_changes import FileChanges
from steersman.cli.reloading import folders_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="told by Linux")

#: Longer than any test: who returns was told.
NEVER_S = 60.0
PATIENCE_S = 20.0


def noticing(
    folder: Path, change: Callable[[], object], then: Callable[[FileChanges], Awaitable[None]] | None = None
) -> None:
    """Change something, and be told of it."""

    async def body() -> None:
        async with asyncio.timeout(PATIENCE_S), FileChanges(partial(folders_of, folder)) as notices:
            change()
            await notices.next(NEVER_S)
            if then is not None:
                await then(notices)

    asyncio.run(body())


def _replace(folder: Path) -> None:
    (folder / "new").write_text("2")
    (folder / "new").rename(folder / "a.py")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda folder: (folder / "a.py").write_text("2"), id="written"),
        pytest.param(_replace, id="replaced, as editors do"),
        pytest.param(lambda folder: (folder / "a.py").unlink(), id="removed"),
        pytest.param(lambda folder: (folder / "b.py").write_text("new"), id="new"),
        pytest.param(lambda folder: (folder / "deep" / "c.py").write_text("2"), id="further down"),
    ],
)
def test_changes_are_noticed(change: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("a.py", "deep/c.py"):
        (tmp_path / name).write_text("1")
    noticing(tmp_path, partial(change, tmp_path))


def test_folders_that_come_later_are_looked_at(tmp_path: Path) -> None:
    async def then(notices: FileChanges) -> None:
        (tmp_path / "later" / "a.py").write_text("1")
        await notices.next(NEVER_S)

    noticing(tmp_path, (tmp_path / "later").mkdir, then)


def test_a_module_that_is_one_file(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("1")
    noticing(file, partial(file.write_text, "2"))


def test_nothing_is_told_when_nothing_happens(tmp_path: Path) -> None:
    async def body() -> bool:
        async with FileChanges(lambda: [tmp_path]) as notices:
            file = (tmp_path / "a.py").open("w")
            with file:
                # It is there, but nobody has finished writing it.
                await notices.next(0.05)
                return notices._happened.is_set()

    assert not asyncio.run(body())


def test_who_waits_can_be_woken(tmp_path: Path) -> None:
    async def body() -> None:
        async with asyncio.timeout(PATIENCE_S), FileChanges(lambda: [tmp_path]) as notices:
            asyncio.get_running_loop().call_soon(notices.wake)
            await notices.next(NEVER_S)

    asyncio.run(body())


def test_where_nobody_tells_one_looks_now_and_then(tmp_path: Path) -> None:
    async def body() -> None:
        # Not entered: as where there is no inotify.
        async with asyncio.timeout(PATIENCE_S):
            await FileChanges(lambda: [tmp_path]).next(NEVER_S)

    asyncio.run(body())
