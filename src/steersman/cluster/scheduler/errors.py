"""What goes wrong in scheduling.

SchedulerProblem
├── VolumesNotBound      a pod's claims were not bound in time, or whoever binds them gave up; tried again
└── NotBound             no plugin bound a pod; a mistake in the profile
"""

from __future__ import annotations

__all__ = ["NotBound", "SchedulerProblem", "VolumesNotBound"]


class SchedulerProblem(Exception):
    """Any of them."""


class VolumesNotBound(SchedulerProblem):
    """Retryable."""


class NotBound(SchedulerProblem):
    """The caller's mistake: a profile without a plugin for the pod."""
