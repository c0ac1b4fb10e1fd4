"""The process that `steer run --dev` starts: loads everything but the author's code, and waits to be told.

`python -m steersman.cli.reloaded FD ARGUMENTS`: FD is a pipe whose other end `reloading` has. A byte means
go; when it is closed without one, there is nothing to do. A parent that dies takes this process with it. At
its end it does not take the interpreter apart: the next one waits for it to be gone.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import signal
import sys
from importlib import import_module
from typing import NoReturn

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

    # Bytecode is told from its source by whole seconds and the size: of two changes in one second, the later
    # would be passed over.
    sys.dont_write_bytecode = True
    # The first to be registered is the last to be called.
    atexit.register(_end)
    sys.argv = ["steer", "run", *arguments]
    steer()


def _end() -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
