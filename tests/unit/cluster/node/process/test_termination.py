"""A container's last words."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman.cluster.node.process.termination import last_lines, last_words

_HEAD = "2026-01-01T00:00:00.000000000Z stdout"


@pytest.mark.parametrize(
    ("message", "code", "falls_back", "expected"),
    [
        ("words", 1, True, "words"),
        ("words", 0, False, "words"),
        ("", 1, True, "one\ntwo\n"),
        ("", 1, False, ""),
        ("", 0, True, ""),
        ("x" * 5000, 1, False, "x" * 4096),
    ],
    ids=["said", "said well", "from the log", "not asked for", "ended well", "long"],
)
def test_last_words(tmp_path: Path, message: str, code: int, falls_back: bool, expected: str) -> None:
    (tmp_path / "message").write_text(message)
    (tmp_path / "0.log").write_text(f"{_HEAD} F one\n{_HEAD} F two\n")
    found = last_words(tmp_path / "message", tmp_path / "0.log", code, fall_back_to_logs=falls_back)
    assert found == expected


def test_without_files_there_are_none(tmp_path: Path) -> None:
    assert last_words(tmp_path / "a", tmp_path / "b", 1, fall_back_to_logs=True) == ""


def test_the_end_of_a_log_is_limited_in_lines_and_bytes(tmp_path: Path) -> None:
    log = tmp_path / "0.log"
    log.write_text("".join(f"{_HEAD} F {number}\n" for number in range(1000)))
    words = last_words(tmp_path / "none", log, 1, fall_back_to_logs=True)
    assert words.splitlines() == [str(number) for number in range(920, 1000)]
    log.write_text("".join(f"{_HEAD} F {'x' * 100}{number}\n" for number in range(1000)))
    words = last_words(tmp_path / "none", log, 1, fall_back_to_logs=True)
    assert len(words) == 2048
    assert words.endswith("x999\n")


def test_parts_of_lines_are_put_together(tmp_path: Path) -> None:
    (tmp_path / "0.log").write_text(f"{_HEAD} P be\n{_HEAD} F gin\n")
    assert "".join(last_lines(tmp_path / "0.log")) == "begin\n"
