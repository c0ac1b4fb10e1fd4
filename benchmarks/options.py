"""What the command line chose; every benchmark's `run` takes one of these."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Options", "Unusable"]


@dataclass(frozen=True, slots=True)
class Options:
    #: Small numbers, to see that it works rather than how fast.
    quick: bool = False


class Unusable(Exception):
    """The benchmark cannot be run here: a program is missing, the server did not start."""
