"""Memory that a program is done with, given back to the system.

Filling caches takes lines, pages and tables that are gone afterwards, yet their holes lie between objects
that stay, where the C library keeps them. The manager calls this once, when its caches are filled.
"""

from __future__ import annotations

import contextlib
import ctypes

__all__ = ["give_back"]


def give_back() -> None:
    """Without effect where the C library has no way to do it."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
