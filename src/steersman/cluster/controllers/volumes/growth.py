"""Whether a claim requests more storage than its status has. Pure."""

from __future__ import annotations

from steersman.objects.kinds.types.core_v1 import PersistentVolumeClaim
from steersman.objects.quantities import Quantity
from steersman.objects.volume_claims import phase_of, requested

__all__ = ["wants_more"]


def wants_more(claim: PersistentVolumeClaim) -> bool:
    has = ((claim.get("status") or {}).get("capacity") or {}).get("storage")
    return phase_of(claim) == "Bound" and has is not None and requested(claim) > Quantity.parse(has)
