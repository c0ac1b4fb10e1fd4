"""Where the command begins and ends, whatever it is: its signals, its streams, its last words, its code.

Loaded before anything else, and it loads nothing before signals are seen to: an interrupted import would be
an exception in whatever was being imported. How long `steer` takes to start is nothing to people who type
Ctrl-C because they have mistyped.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import TextIO

__all__ = ["main"]

#: As shells report a process that was ended by a signal: this and its number.
_SIGNALLED = 128


def main() -> None:
    """Run the command, and end the process."""
    _end_on_signals()
    _have_streams()
    import gc

    # The collector waits until the code is loaded: nothing in it is garbage.
    gc.disable()
    raise SystemExit(_run())


def _run() -> int:
    """The command's exit code."""
    try:
        from steersman.cli.app import run

        code = run()
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _SIGNALLED + signal.SIGINT
    except BrokenPipeError:
        # Whoever read has enough; nothing is left to be said.
        _forget(sys.stdout)
        return 1
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is said in one line
        return _failed(error)


def _failed(error: BaseException) -> int:
    from steersman.aio.signals import Interrupted, exit_code
    from steersman.cli.failure import explained

    if isinstance(error, Interrupted):
        return exit_code(error.number)
    _flush()
    failure = explained(error)
    try:
        sys.stderr.write(f"steer: {failure}\n")
        sys.stderr.flush()
    except OSError:
        _forget(sys.stderr)
    return failure.code


def _end_on_signals() -> None:
    """Have a signal end this process at once and without a word, while there is nothing to take back."""

    def end(number: int, _: object) -> None:
        os._exit(_SIGNALLED + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        # Who is not to be interrupted (nohup, a shell's background job) is not.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)


def _have_streams() -> None:
    """Three streams that take any text, whatever the caller has closed and the locale says.

    Otherwise the next file to be opened would be the standard output, a store for instance.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 - for the process's life
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape" if mode == "w" else None)


def _flush() -> None:
    """What was said before comes before what went wrong."""
    try:
        sys.stdout.flush()
    except OSError:
        _forget(sys.stdout)


def _forget(stream: TextIO) -> None:
    """Have what could not be written go nowhere, lest the interpreter try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
