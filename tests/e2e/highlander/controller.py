"""`steer highlander` with a wall clock that is wrong: `controller.py SHIFT_S ARGUMENTS…`.

It is the one that Steersman reads. Libraries that set their deadlines by `time.time`, and leave it to C code
to wait for them, would take half of a shifted clock for a time that has passed.
"""

from __future__ import annotations

import sys
import time

from steersman.aio import SystemClock
from steersman.cli import main


def shift(seconds: float) -> None:
    SystemClock.wall = lambda _: time.time() + seconds  # type: ignore[method-assign]


if __name__ == "__main__":
    shift(float(sys.argv.pop(1)))
    main()
