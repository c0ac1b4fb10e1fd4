"""A controller that deletes objects of one kind when their time to live has passed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from steersman.cluster.controllers.reconciling import moment, retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.resource_type import ResourceType
from steersman.runtime import Request, Result

__all__ = ["delete_when_over"]


def delete_when_over(
    setup: Setup, name: str, kind: ResourceType, expires_at: Callable[[Any], datetime | None]
) -> None:
    """Add a controller of this name. `expires_at`: when nobody needs an object; None if it cannot be told."""
    informer = setup.informer(kind)
    writes = setup.writes(name, informer)

    async def reconcile(request: Request) -> Result | None:
        cached = informer.cache.get(request.key)
        expires = expires_at(cached.object()) if cached is not None else None
        if cached is None or expires is None:
            return None
        left_s = (expires - moment(setup.clock)).total_seconds()
        if left_s > 0:
            return Result.requeue(left_s)
        await writes.delete(kind, request.key, cached.uid, propagation=None)
        return None

    setup.controller(name, retrying_conflicts(reconcile)).primary(informer)
