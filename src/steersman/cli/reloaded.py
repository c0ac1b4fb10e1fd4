"""The process that `steer run --dev` starts: loads everything but the author's code, and waits to be told.

`python -m steersman.cli.reloaded FD ARGUMENTS`: FD is a pipe whose other end `reloading` has. A byte means
go; when it is closed without one, there is nothing to do. A parent that dies takes this process with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from importlib import import_module

__all__ = ["main"]

_LOADED_AHEAD = (
    "steersman.cli.installing",
    "steersman.cli.loading",
    "steersman.cli.electing",
    "steersman.objects.builders",
    "steersman.operator.assembly",
    "steersman.operator.configuration",
    "uvloop",
)
#: Linux's name for "send this signal when the parent dies" (sys/prctl.h).
_PR_SET_PDEATHSIG = 1


def main() -> None:
    pipe, *arguments = sys.argv[1:]
    with contextlib.suppress(OSError, AttributeError):  # not Linux
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    for name in _LOADED_AHEAD:
        import_module(name)
    if not os.read(int(pipe), 1):
        return
    from steersman.cli import main as steer

    sys.argv = ["steer", "run", *arguments]
    steer()


if __name__ == "__main__":
    main()
