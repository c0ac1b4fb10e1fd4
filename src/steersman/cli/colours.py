"""What a stream can show: pictures that are drawn anew, and colours, unless NO_COLOR says otherwise."""

from __future__ import annotations

import os
from typing import TextIO

__all__ = ["can_redraw", "coloured"]


def can_redraw(stream: TextIO) -> bool:
    """Whether it is a terminal with more than lines. A dumb one would be shown the last picture only."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def coloured(stream: TextIO) -> bool:
    return can_redraw(stream) and not os.environ.get("NO_COLOR")
