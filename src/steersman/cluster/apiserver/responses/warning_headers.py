"""Warnings as headers of an answer, with Kubernetes' bounds: together 4096 characters, or else 256 each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

__all__ = ["warning_headers"]

_TOTAL: Final = 4096
_EACH: Final = 256
#: What would split a header; a text that has it is not sent.
_control = re.compile("[\x00-\x1f\x7f-\x9f]").search


def warning_headers(warnings: Sequence[str]) -> list[tuple[bytes, bytes]]:
    """Each warning once, as a quoted string (RFC 7234)."""
    said = [text for text in dict.fromkeys(warnings) if text and not _control(text)]
    shown = said if sum(map(len, said)) <= _TOTAL else _cut(said)
    return [(b"Warning", b'299 - "%b"' % _quoted(text).encode("utf-8", "replace")) for text in shown]


def _cut(warnings: Sequence[str]) -> Iterator[str]:
    """Those that were said until it was too much, and the next while there is room; all cut short."""
    said = written = 0
    for text in warnings:
        if said > _TOTAL and written >= _TOTAL:
            return
        said += len(text)
        written += min(len(text), _EACH)
        yield text[:_EACH]


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
