"""What workloads become: pure functions from what people wrote to objects, and from live objects to a state.

Start reading at `objects` (which objects a workload is made of), then `pods` (the pod in them), `copies`
(which pods count as a living copy).
"""

from __future__ import annotations

from steersman.highlander.workloads.objects import Part, parts
from steersman.highlander.workloads.ownership import Stamp, WorkloadKey

__all__ = ["Part", "Stamp", "WorkloadKey", "parts"]
