"""The error of volumes."""

from __future__ import annotations

__all__ = ["VolumeProblem"]


class VolumeProblem(Exception):
    """The reason why a volume is not ready, in the kubelet's words where it has some. Retried later."""
