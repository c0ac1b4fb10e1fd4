"""metadata.managedFields of objects that the server writes itself, without a request.

Whatever stores objects without a request (bootstrap, definitions' status, availability, default roles and
flow control, gathered roles, checked policies) says so here before it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.resources.system_fields import timestamp
from steersman.objects.kinds import Object
from steersman.objects.managed import Entry, Managed, track_update

if TYPE_CHECKING:
    from steersman.cluster.apiserver.pipeline.call import Api

__all__ = ["applied", "owned"]


_SERVER = "kube-apiserver"


def owned(
    api: Api,
    resource: Resource,
    live: Object | None,
    obj: Object,
    *,
    manager: str = _SERVER,
    subresource: str = "",
) -> Object:
    """The object with the server as the owner of what it changed. `live` is None on create."""
    entries = track_update(
        resource.kind.empty if live is None else live,
        obj,
        resource.kind.schema,
        manager=manager,
        api_version=resource.type.api_version,
        subresource=subresource,
        time=timestamp(api.now()),
        keep=resource.ownable(subresource),
    )
    return _with_entries(obj, entries)


def applied(
    api: Api,
    resource: Resource,
    obj: Object,
    fields: Mapping[str, Any],
    *,
    manager: str,
    subresource: str = "",
) -> Object:
    """The object with these fields (as in fieldsV1) as all that the manager has applied."""
    managed = Managed.decode(obj["metadata"].get("managedFields") or (), trusted=True)
    now, version = timestamp(api.now()), resource.type.api_version
    managed.put(Entry(manager, "Apply", version, subresource, now, dict(fields)))
    return _with_entries(obj, managed.encode())


def _with_entries(obj: Object, entries: list[Object]) -> Object:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": {**metadata, "managedFields": entries} if entries else metadata}
