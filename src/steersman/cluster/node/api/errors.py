"""The error of the kubelet API."""

from __future__ import annotations

__all__ = ["NodeRequestRefused"]


class NodeRequestRefused(Exception):
    """A request that cannot be served: answered with `status` and this text."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
