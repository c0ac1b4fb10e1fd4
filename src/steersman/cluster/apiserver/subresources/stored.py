"""Changes of a stored object that the server makes for a subresource, without a body of that kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from steersman.cluster.apiserver.pipeline.call import Api
from steersman.cluster.apiserver.reading.get import find
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.resources.storage_encoding import encode
from steersman.cluster.apiserver.resources.system_fields import timestamp
from steersman.cluster.store import Conflict, NotFound
from steersman.objects.kinds import Object
from steersman.objects.managed import track_update

__all__ = ["change_stored", "set_pod_condition"]

_SERVER: Final = "kube-apiserver"


async def change_stored(
    api: Api,
    resource: Resource,
    namespace: str,
    name: str,
    change: Callable[[Object], None],
    *,
    dry_run: bool,
    owned_as: str = "",
) -> None:
    """Apply `change` in place to the newest state and store it, again if there was a write meanwhile. The
    server owns what it changed where it does so through its own API, at the endpoint `owned_as`."""
    while True:
        record = find(api, resource, namespace, name)
        obj = resource.read(record.value)
        change(obj)
        if dry_run:
            return
        if owned_as:
            obj["metadata"]["managedFields"] = track_update(
                resource.read(record.value),
                obj,
                resource.kind.schema,
                manager=_SERVER,
                api_version=resource.type.api_version,
                subresource=owned_as,
                time=timestamp(api.now()),
            )
        try:
            await api.store.put(record.key, encode(resource.to_stored(obj)), expected=record.revision)
        except (Conflict, NotFound):
            continue
        return


def set_pod_condition(pod: Object, now: str, **condition: str) -> None:
    """Set a condition of a pod (they have a lastProbeTime); the transition moves only with the status."""
    conditions = pod["status"].setdefault("conditions", [])
    new: Object = {"type": condition.pop("type"), "status": condition.pop("status"), "lastProbeTime": None}
    new |= {"lastTransitionTime": now, **condition}
    for index, old in enumerate(conditions):
        if old["type"] == new["type"]:
            if old["status"] == new["status"]:
                new["lastTransitionTime"] = old["lastTransitionTime"]
            conditions[index] = new
            return
    conditions.append(new)
