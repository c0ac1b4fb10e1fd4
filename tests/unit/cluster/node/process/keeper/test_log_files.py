"""A container's output as its log has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from steersman.cluster.node.process.keeper.log_files import LogFile

_LINE = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z (stdout|stderr) ([FP]) (.*)", re.DOTALL)


def written(path: Path) -> list[tuple[str, str, bytes]]:
    lines = path.read_bytes().split(b"\n")
    assert lines.pop() == b""
    found = [_LINE.fullmatch(line) for line in lines]
    assert all(found)
    return [(one[1].decode(), one[2].decode(), one[3]) for one in found if one]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([b"a\nb\n"], [("F", b"a"), ("F", b"b")]),
        ([b"a", b"b\nc"], [("F", b"ab"), ("P", b"c")]),
        ([b"\n\n"], [("F", b""), ("F", b"")]),
        ([b"\x00\xff\r\n"], [("F", b"\x00\xff\r")]),
        ([b"x" * 16384 + b"\n"], [("F", b"x" * 16384)]),
        ([b"x" * 16385 + b"\n"], [("P", b"x" * 16384), ("F", b"x")]),
        ([b"x" * 16384, b"y\n"], [("P", b"x" * 16384), ("F", b"y")]),
        ([b"x" * 40000], [("P", b"x" * 16384), ("P", b"x" * 16384), ("P", b"x" * 7232)]),
    ],
    ids=["lines", "pieces", "empty lines", "binary", "just fits", "too long", "long in pieces", "no end"],
)
def test_lines_and_parts(tmp_path: Path, pieces: list[bytes], expected: list[tuple[str, bytes]]) -> None:
    log = LogFile(str(tmp_path / "0.log"), 1 << 20, 5)
    for piece in pieces:
        log.write("stdout", piece)
    log.close()
    assert written(tmp_path / "0.log") == [("stdout", tag, line) for tag, line in expected]


def test_streams_do_not_mix_in_a_line(tmp_path: Path) -> None:
    log = LogFile(str(tmp_path / "0.log"), 1 << 20, 5)
    log.write("stdout", b"begin")
    log.write("stderr", b"other\n")
    log.write("stdout", b" end\n")
    log.close()
    assert written(tmp_path / "0.log") == [("stderr", "F", b"other"), ("stdout", "F", b"begin end")]


def test_large_logs_are_rotated_and_the_oldest_go(tmp_path: Path) -> None:
    log = LogFile(str(tmp_path / "3.log"), 2000, 3)
    for number in range(300):
        log.write("stdout", b"line %d\n" % number)
    log.close()
    rotated = sorted(path for path in tmp_path.iterdir() if path.name != "3.log")
    assert len(rotated) == 2
    assert all(re.fullmatch(r"3\.log\.\d{8}-\d{6}\.\d{6}", path.name) for path in rotated)
    lines = [line for path in (*rotated, tmp_path / "3.log") for _, _, line in written(path)]
    numbers = [int(line.split()[1]) for line in lines]
    assert numbers == list(range(numbers[0], 300))
    assert all(path.stat().st_size <= 2000 for path in tmp_path.iterdir())


def test_a_log_is_continued(tmp_path: Path) -> None:
    for word in (b"one\n", b"two\n"):
        log = LogFile(str(tmp_path / "0.log"), 1 << 20, 5)
        log.write("stdout", word)
        log.close()
    assert [line for _, _, line in written(tmp_path / "0.log")] == [b"one", b"two"]


def test_output_goes_on_when_there_is_no_place_for_it(tmp_path: Path) -> None:
    log = LogFile(str(tmp_path / "missing" / "0.log"), 1 << 20, 5)
    log.write("stdout", b"lost\n")
    (tmp_path / "missing").mkdir()
    log.write("stdout", b"kept\n")
    log.close()
    assert [line for _, _, line in written(tmp_path / "missing" / "0.log")] == [b"kept"]
