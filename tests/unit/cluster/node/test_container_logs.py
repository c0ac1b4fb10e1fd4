"""Logs in CRI's format: which lines are shown and how, over rotated files, whole or as they are written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from steersman.cluster.node.container_logs import ContainerLogOptions, read_log
from steersman.testing import eventually

PATIENCE_S = 30.0


def record(second: int, text: str, *, stream: str = "stdout", tag: str = "F") -> str:
    return f"2026-11-16T12:00:{second:02}.000000001Z {stream} {tag} {text}\n"


async def over() -> bool:
    return True


def read(path: Path, **options: Any) -> str:
    async def collect() -> bytes:
        return b"".join([piece async for piece in read_log(path, ContainerLogOptions(**options), over)])

    return asyncio.run(collect()).decode()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Seven lines in three files: five records in the oldest, the third line in three records."""
    path = tmp_path / "0.log"
    (tmp_path / "0.log.20261116-120005").write_text(
        record(1, "one")
        + record(2, "two", stream="stderr")
        + record(3, "thr", tag="P")
        + record(3, "e", tag="P")
        + record(3, "e")
    )
    (tmp_path / "0.log.20261116-120007").write_text(record(5, "four") + record(6, "", stream="stderr"))
    path.write_text(record(8, "six") + record(9, "seven and more"))
    # Neighbours that are not part of it.
    (tmp_path / "1.log").write_text(record(1, "another attempt"))
    (tmp_path / "0.log.20261116-120001.gz").write_text("packed")
    return path


WHOLE = "one\ntwo\nthree\nfour\n\nsix\nseven and more\n"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, WHOLE, id="all files, the oldest first"),
        pytest.param({"tail_lines": 2}, "six\nseven and more\n", id="tail within a file"),
        pytest.param({"tail_lines": 3}, "\nsix\nseven and more\n", id="tail over two files"),
        pytest.param({"tail_lines": 5}, WHOLE[8:], id="a line in several records is one"),
        pytest.param({"tail_lines": 100}, WHOLE, id="tail of more than there is"),
        pytest.param({"tail_lines": 0}, "", id="tail of nothing"),
        pytest.param(
            {"since": datetime(2026, 11, 16, 12, 0, 6, tzinfo=UTC)}, "\nsix\nseven and more\n", id="since"
        ),
        pytest.param(
            {"since": datetime(2026, 11, 16, 12, 0, 6, 1, tzinfo=UTC)},
            "six\nseven and more\n",
            id="just after",
        ),
        pytest.param({"streams": frozenset({b"stderr"})}, "two\n\n", id="one stream"),
        pytest.param({"limit_bytes": 6}, "one\ntw", id="limited"),
        pytest.param({"tail_lines": 1, "limit_bytes": 5}, "seven", id="tail, limited"),
    ],
)
def test_shows_the_lines_asked_for(log: Path, options: dict[str, Any], expected: str) -> None:
    assert read(log, **options) == expected


def test_timestamps_are_shown_once_a_line(log: Path) -> None:
    lines = read(log, timestamps=True).splitlines()
    assert lines[2] == "2026-11-16T12:00:03.000000001Z three"
    assert lines[4] == "2026-11-16T12:00:06.000000001Z "


@pytest.mark.parametrize(
    ("stamp", "shown"),
    [
        ("2026-11-16T12:00:03Z", "2026-11-16T12:00:03.000000000Z"),
        ("2026-11-16T12:00:03.25Z", "2026-11-16T12:00:03.250000000Z"),
        ("2026-11-16T14:00:03.25+02:00", "2026-11-16T12:00:03.250000000Z"),
    ],
)
def test_other_engines_timestamps_are_shown_alike(tmp_path: Path, stamp: str, shown: str) -> None:
    path = tmp_path / "0.log"
    path.write_text(f"{stamp} stdout F text\n")
    assert read(path, timestamps=True) == f"{shown} text\n"
    assert read(path, since=datetime(2026, 11, 16, 12, 0, 4, tzinfo=UTC)) == ""


def test_what_is_no_record_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_text(f"nonsense\nx stdout F bad time\n{record(1, 'good')}2026-11-16T12:00:02Z std")
    assert read(path, timestamps=True) == "2026-11-16T12:00:01.000000001Z good\n"


def test_other_line_ends_than_newlines_belong_to_the_text(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes((record(1, "progress\r50%\x0b\r") + record(2, "last")).encode())
    assert read(path, tail_lines=2) == "progress\r50%\x0b\r\nlast\n"


def test_a_tail_of_a_large_log_does_not_read_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "0.log"
    path.write_text("".join(record(number % 60, f"line {number}") for number in range(100_000)))
    read_bytes = 0

    class Counting(FileIO):
        def read(self, size: int | None = -1) -> bytes:
            nonlocal read_bytes
            data = super().read(size)
            read_bytes += len(data)
            return data

    monkeypatch.setattr("steersman.cluster.node.container_logs.FileIO", Counting)
    assert read(path, tail_lines=3) == "line 99997\nline 99998\nline 99999\n"
    assert read_bytes < 200_000


def test_a_log_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "0.log")


# Following


class Reader:
    """Follows a log in the background."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.text = ""
        self.ended = False
        self._read = read_log(path, ContainerLogOptions(follow=True, **options), self._has_ended)

    async def _has_ended(self) -> bool:
        return self.ended

    async def run(self) -> None:
        async for piece in self._read:
            self.text += piece.decode()

    async def until(self, holds: Callable[[str], bool]) -> None:
        await eventually(lambda: holds(self.text), PATIENCE_S)


def test_following_shows_what_comes_until_the_container_has_ended(log: Path) -> None:
    async def follow() -> str:
        reader = Reader(log, tail_lines=1)
        running = asyncio.create_task(reader.run())
        await reader.until(lambda text: text == "seven and more\n")
        with log.open("a") as file:
            file.write(record(10, "eight") + record(11, "ni")[:-1])
            file.flush()
            await reader.until(lambda text: text.endswith("eight\n"))
            file.write("ne\n")
            file.flush()
            await reader.until(lambda text: text.endswith("nine\n"))
            file.write(record(12, "last words"))
        reader.ended = True
        await running
        return reader.text

    assert asyncio.run(follow()) == "seven and more\neight\nnine\nlast words\n"


def test_nothing_is_lost_or_doubled_while_files_are_rotated_and_removed(tmp_path: Path) -> None:
    path, kept, lines = tmp_path / "0.log", 3, 5000

    async def write() -> None:
        file = path.open("w", buffering=1)
        for number in range(lines):
            file.write(record(0, f"{number}"))
            if number % 100 == 99:
                # A reader that keeps up sees every file before it is gone.
                await reader.until(lambda text, last=number - 100: f"\n{last}\n" in text or last < 0)  # type: ignore[misc]
                path.rename(tmp_path / f"0.log.{number:08}")
                file.close()
                for old in sorted(tmp_path.glob("0.log.*"))[:-kept]:
                    old.unlink()
                file = path.open("w", buffering=1)
        file.close()
        reader.ended = True

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(write())
            await eventually(path.exists, PATIENCE_S)
            group.create_task(reader.run())

    reader = Reader(path)
    asyncio.run(both())
    assert reader.text.split() == [str(number) for number in range(lines)]


def test_a_reader_that_fell_behind_goes_on_with_the_oldest_there_is(tmp_path: Path) -> None:
    path = tmp_path / "0.log"

    async def follow() -> str:
        path.write_text(record(1, "a"))
        reader = Reader(path)
        running = asyncio.create_task(reader.run())
        await reader.until(lambda text: text == "a\n")
        # All at once, without the reader's turn in between.
        path.unlink()
        (tmp_path / "0.log.2").write_text(record(2, "b"))
        path.write_text(record(3, "c"))
        reader.ended = True
        await running
        return reader.text

    assert asyncio.run(follow()) == "a\nb\nc\n"
