"""What goes wrong with a volume."""

from __future__ import annotations

__all__ = ["VolumeProblem"]


class VolumeProblem(Exception):
    """Why a volume is not ready, in the kubelet's words where it has some. Tried again later."""
