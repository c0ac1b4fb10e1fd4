"""The scale subresource: replicas of a workload as a Scale."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from steersman.cluster.apiserver.pipeline.bodies import match_name, match_namespace, read_part
from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.options import WriteOptions
from steersman.cluster.apiserver.reading.get import find
from steersman.cluster.apiserver.resources.handling import APPLY
from steersman.cluster.apiserver.resources.kinds import BuiltInShape, accept_built_in
from steersman.cluster.apiserver.resources.system_fields import timestamp
from steersman.cluster.apiserver.responses.render import respond_value
from steersman.cluster.apiserver.subresources.scale_owners import (
    SCALE_VERSION,
    owners_of_scale,
    owners_of_workload,
)
from steersman.cluster.apiserver.verbs.apply import apply_to, note_repeated_keys, read_configuration
from steersman.cluster.apiserver.verbs.patch import Change, patch_type
from steersman.cluster.apiserver.verbs.preconditions import failed_precondition
from steersman.cluster.apiserver.verbs.update import Endpoint, SubresourceView, replace
from steersman.cluster.codec.errors import BodyRejected
from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.shapes import schema_of
from steersman.http import Response
from steersman.objects.kinds import Object
from steersman.objects.managed import track_update
from steersman.objects.patches.apply import Applier
from steersman.objects.status import bad_request, conflict, internal_error

__all__ = ["get_scale", "patch_scale", "update_scale"]

_SCALE = GVK("autoscaling", "v1", "Scale")


def _scale(call: Call, obj: Object) -> Object:
    return call.resource.kind.scale_of(obj)


async def get_scale(api: Api, call: Call) -> Response:
    record = find(api, call.resource, call.path.namespace, call.path.name)
    obj = call.resource.read(await call.resource.show(record.value))
    if path := call.resource.kind.without_replicas(obj):
        raise internal_error(f'the spec replicas field "{path}" does not exist')
    return respond_value(api, call, _scale(call, obj))


async def update_scale(api: Api, call: Call) -> Response:
    options = WriteOptions.parse(call.query, "UpdateOptions")
    body = _read(call, options)
    match_namespace(call, body["metadata"])
    match_name(call, body["metadata"])
    uid = body["metadata"].get("uid", "")
    return await _write(api, call, lambda scale: _tracked(api, call, scale, body, options), options, uid)


def _read(call: Call, options: WriteOptions) -> Object:
    """The Scale that a request brings. The handler of custom resources has no words for what is none."""
    try:
        return read_part(call, options, _SCALE)
    except BodyRejected as error:
        raise call.resource.handling.not_a_scale(error) from None


async def patch_scale(api: Api, call: Call) -> Response:
    kind = patch_type(call)
    if kind == APPLY:
        return await _apply(api, call)
    options = WriteOptions.parse(call.query, "PatchOptions")
    change = Change(call, options, kind, BuiltInShape(_SCALE))

    def patched(scale: Object) -> Object:
        return _tracked(api, call, scale, change.applied_to(scale), options)

    return await _write(api, call, patched, options)


async def _apply(api: Api, call: Call) -> Response:
    options = WriteOptions.parse(call.query, "PatchOptions", apply=True)
    config = read_configuration(call, _SCALE)
    empty, _ = accept_built_in(_SCALE, {})
    applier = Applier(
        options.field_manager, SCALE_VERSION, timestamp(api.now()), "scale", force=bool(options.force)
    )

    handling = call.resource.handling

    def applied(scale: Object) -> Object:
        handling.check_scale_has_owner(scale)
        merged = apply_to(scale, config.obj, schema_of(_SCALE), applier, empty)
        note_repeated_keys(call, config, options)
        new, _ = accept_built_in(_SCALE, merged)
        handling.check_applied_scale(new, scale, call.path)
        match_namespace(call, new["metadata"])
        match_name(call, new["metadata"])
        return new

    return await _write(api, call, applied, options)


def _tracked(api: Api, call: Call, scale: Object, new: Object, options: WriteOptions) -> Object:
    """The new Scale with this request as the owner of the replicas, if it changed them."""
    entries = track_update(
        scale,
        new,
        schema_of(_SCALE),
        manager=options.field_manager or call.manager,
        api_version=SCALE_VERSION,
        subresource="scale",
        time=timestamp(api.now()),
    )
    return {**new, "metadata": {**new["metadata"], "managedFields": entries}}


async def _write(
    api: Api, call: Call, make: Callable[[Object], Object], options: WriteOptions, uid: str = ""
) -> Response:
    """Store the replicas of the Scale that `make` makes of the present one. Admission sees Scales."""

    def take(obj: Object, scale: Object) -> None:
        call.resource.kind.set_replicas(obj, scale["spec"].get("replicas", 0))

    handling = call.resource.handling
    part = SubresourceView(_SCALE, take, call.resource.kind.scale_of)

    def transform(old: Object) -> Object:
        owners = old["metadata"].get("managedFields") or ()
        before = _scale(call, old)
        paths = call.resource.kind.replicas_paths
        if own := owners_of_scale(owners, paths):
            before["metadata"]["managedFields"] = own
        scale = make(before)
        part.old, part.new = _shown(before), _shown(scale)
        replicas = scale["spec"].get("replicas", 0)
        _check(call, scale, replicas, old)
        version = handling.scale_version(
            scale["metadata"].get("resourceVersion", ""), old["metadata"]["resourceVersion"]
        )
        new: Object = orjson.loads(orjson.dumps(old))
        call.resource.kind.set_replicas(new, replicas)
        new["metadata"]["resourceVersion"] = version
        scale_owners = scale["metadata"].get("managedFields") or ()
        kept = owners_of_workload(owners, scale_owners, call.resource.type.api_version, paths)
        if kept:
            new["metadata"]["managedFields"] = kept
        else:
            new["metadata"].pop("managedFields", None)
        return new

    endpoint = Endpoint(call.resource.strategy.prepare_update, applies=True, uid=uid, part=part)
    written = await replace(api, call, transform, options, endpoint)
    return respond_value(api, call, _scale(call, call.resource.read(written.value)))


def _shown(scale: Object) -> Object:
    """A Scale of its own, without the list of owners if there are none."""
    metadata = scale["metadata"]
    owned = {key: value for key, value in metadata.items() if key != "managedFields" or value}
    return {**scale, "metadata": owned, "spec": dict(scale["spec"])}


def _check(call: Call, scale: Object, replicas: int, old: Object) -> None:
    resource, name = call.resource, call.path.name
    resource.handling.check_replicas(replicas, name)
    if why := failed_precondition(resource.handling.scale_preconditions(scale), old["metadata"]):
        raise conflict(resource.group, f"{resource.plural}/scale", name, why)
    path = resource.kind.without_replicas(old)
    if path and not replicas and call.request.method == "PATCH":
        raise bad_request(f'the spec replicas field "{path}" cannot be empty')
