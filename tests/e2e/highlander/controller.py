"""`steer highlander` with a wall clock that is wrong: `controller.py SHIFT_S ARGUMENTS…`."""

from __future__ import annotations

import sys
import time

from steersman.cli import main

_true_time = time.time


def shift(seconds: float) -> None:
    time.time = lambda: _true_time() + seconds


if __name__ == "__main__":
    shift(float(sys.argv.pop(1)))
    main()
