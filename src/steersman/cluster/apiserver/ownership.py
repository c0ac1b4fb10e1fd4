"""metadata.managedFields on ordinary writes: who last set which field. Server-side apply has its own way."""

from __future__ import annotations

from functools import lru_cache

from steersman.cluster.apiserver.call import Call, Object, timestamp
from steersman.cluster.apiserver.options import WriteOptions
from steersman.cluster.apiserver.strategies import strategy_for
from steersman.objects.fieldsets import FieldFilter, excluding, fields_of, including
from steersman.objects.managed import track_update

__all__ = ["ownable", "track"]


def track(call: Call, live: Object | None, obj: Object, options: WriteOptions, now: float) -> None:
    """Record this request's manager as the owner of what it changed, in place. `live` is None on create."""
    resource = call.resource
    entries = track_update(
        resource.kind.empty if live is None else live,
        obj,
        resource.kind.schema,
        manager=options.field_manager or call.manager,
        api_version=resource.type.api_version,
        subresource=call.path.subresource,
        time=timestamp(now),
        keep=ownable(resource.group, resource.plural, call.path.subresource),
    )
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)


@lru_cache(maxsize=512)
def ownable(group: str, plural: str, subresource: str) -> FieldFilter | None:
    """What a request to this endpoint can own at all."""
    strategy = strategy_for(group, plural)
    part = strategy.subresources.get(subresource)
    if part is not None and part.owned_fields is not None:
        return including(fields_of(*part.owned_fields))
    reset = part.reset_fields if part is not None else strategy.reset_fields
    return excluding(fields_of(*reset)) if reset else None
