"""The exceptions of the scheduler.

SchedulerProblem
├── VolumesNotBound      a pod's claims were not bound in time, or provisioning failed; retried
└── NotBound             no plugin bound a pod: the profile lacks one
"""

from __future__ import annotations

__all__ = ["NotBound", "SchedulerProblem", "VolumesNotBound"]


class SchedulerProblem(Exception):
    """The base class of the scheduler's exceptions."""


class VolumesNotBound(SchedulerProblem):
    """The volumes of a pod were not bound in time. Retryable."""


class NotBound(SchedulerProblem):
    """No plugin bound the pod: its profile has no Bind plugin for it. Not retryable."""
