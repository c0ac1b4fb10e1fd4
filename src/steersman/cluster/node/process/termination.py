"""The termination message of a container: its terminationMessagePath file, or the end of its log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["last_lines", "last_words"]

_MESSAGE_BYTES: Final = 4096
_LOG_BYTES: Final = 2048
_LOG_LINES: Final = 80
#: Enough of a log to have so many bytes of text in it, whatever the lines' heads take.
_TAIL_BYTES: Final = 16 << 10


def last_words(message_file: Path, log: Path, exit_code: int, *, fall_back_to_logs: bool) -> str:
    """What the status of a container that has ended shows as its message."""
    try:
        with message_file.open("rb") as file:
            message = file.read(_MESSAGE_BYTES).decode(errors="replace")
    except OSError:
        message = ""
    if message or not fall_back_to_logs or exit_code == 0:
        return message
    text = "".join(last_lines(log)[-_LOG_LINES:]).encode()[-_LOG_BYTES:]
    return text.decode(errors="ignore")


def last_lines(log: Path) -> list[str]:
    """The end of a log, without times and streams."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            size = file.tell()
            file.seek(max(size - _TAIL_BYTES, 0))
            data = file.read()
    except OSError:
        return []
    lines = data.split(b"\n")[:-1]
    if size > _TAIL_BYTES:
        lines = lines[1:]
    texts: list[str] = []
    for line in lines:
        parts = line.split(b" ", 3)
        if len(parts) == 4:
            end = "" if parts[2] == b"P" else "\n"
            texts.append(parts[3].decode(errors="replace") + end)
    return texts
