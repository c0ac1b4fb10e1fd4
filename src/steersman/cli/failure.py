"""How a command fails: one line for people, an exit code for scripts."""

from __future__ import annotations

__all__ = ["CommandFailed"]


class CommandFailed(Exception):
    """Shown as `steer: MESSAGE`; the process ends with `code`."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code
