"""metadata.managedFields on ordinary writes: who last set which field. Server-side apply has its own way."""

from __future__ import annotations

from steersman.cluster.apiserver.atrest import encode
from steersman.cluster.apiserver.call import Api, Call, Object, timestamp
from steersman.cluster.apiserver.kinds import BuiltInKind
from steersman.cluster.apiserver.options import WriteOptions
from steersman.cluster.apiserver.resource import Resource
from steersman.cluster.schema.decode import decode
from steersman.objects.managed import Converter, track_update
from steersman.objects.patches.apply import InVersion
from steersman.objects.schemas import Schema

__all__ = ["in_versions", "track"]


def track(
    call: Call,
    live: Object | None,
    obj: Object,
    options: WriteOptions,
    now: float,
    versions: InVersion | None = None,
) -> None:
    """Record this request's manager as the owner of what it changed, in place. `live` is None on create.
    Without `versions`, entries of other versions are taken to have the same form."""
    resource = call.resource
    before = resource.kind.empty if live is None else live
    entries = track_update(
        before,
        obj,
        resource.kind.schema,
        manager=options.field_manager or call.manager,
        api_version=resource.type.api_version,
        subresource=call.path.subresource,
        time=timestamp(now),
        keep=resource.ownable(call.path.subresource),
        convert=None if versions is None else _pairs(versions, before or {}, obj),
    )
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)


def in_versions(api: Api, resource: Resource) -> InVersion:
    """Objects of the resource in the other versions it is served in."""

    def served(api_version: str) -> Resource | None:
        group, _, version = api_version.rpartition("/")
        found = api.catalog.find(group, version, resource.plural)
        return found if found is not None and found.stored == resource.stored else None

    def in_version(obj: Object, api_version: str) -> tuple[Object, Schema] | None:
        source, target = served(obj.get("apiVersion", resource.type.api_version)), served(api_version)
        if source is None or target is None:
            return None
        if source is not target:
            version = obj["metadata"].get("resourceVersion", "")
            if isinstance(source.kind, BuiltInKind):
                # Half-pruned objects come by here too; conversion expects the fields that are always there.
                obj = decode(source.type.gvk, obj).obj
            obj = target.read(encode(source.to_stored(obj)))
            # It is not part of what is stored.
            if version:
                obj["metadata"]["resourceVersion"] = version
        return obj, target.kind.schema

    return in_version


def _pairs(in_version: InVersion, old: Object, new: Object) -> Converter:
    def pair(api_version: str) -> tuple[Object, Object, Schema] | None:
        before, after = in_version(old, api_version), in_version(new, api_version)
        return None if before is None or after is None else (before[0], *after)

    return pair
