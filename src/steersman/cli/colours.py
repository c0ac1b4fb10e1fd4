"""Whether a stream is to be written to in colours: on a terminal, unless NO_COLOR says otherwise."""

from __future__ import annotations

import os
from typing import TextIO

__all__ = ["coloured"]


def coloured(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
