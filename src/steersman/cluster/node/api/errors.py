"""What the node's API refuses."""

from __future__ import annotations

__all__ = ["Refused"]


class Refused(Exception):
    """A request that cannot be served: answered with `status` and these words as they are."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
