"""metadata.managedFields of create, update and patch: which manager last set which field.

Entries of other versions are read with the object in their version. Where that takes a webhook's answer,
the work that needs it is done again with each answer that came (`with_versions`): it is pure, and what a
write needs are few.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import orjson

from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.options import WriteOptions
from steersman.cluster.apiserver.resources.resource import Conversion, Resource
from steersman.cluster.apiserver.resources.system_fields import timestamp
from steersman.objects.kinds import Object
from steersman.objects.managed import Converter, track_update
from steersman.objects.patches.apply import InVersion
from steersman.objects.patches.errors import Unconvertible
from steersman.objects.schemas import Schema
from steersman.objects.status import StatusError

__all__ = ["track", "with_versions"]

_Result = TypeVar("_Result")


async def track(api: Api, call: Call, live: Object | None, obj: Object, options: WriteOptions) -> None:
    """Record this request's manager as the owner of what it changed, in place. `live` is None on create.
    A webhook that does not answer must not stop a write, nor must an object that is none of a version in
    which a manager owns fields: all owners stay."""
    resource = call.resource
    before = resource.kind.empty if live is None else live
    seen = obj if call.with_empty_lists is None else _as_given(obj, call.with_empty_lists)
    if resource.converts:
        seen = resource.round_trip(seen)

    def tracked(in_version: InVersion | None) -> list[Object]:
        subresource = call.path.subresource
        return track_update(
            before,
            seen,
            resource.kind.schema,
            manager=options.field_manager or call.manager,
            api_version=resource.type.api_version,
            subresource=subresource,
            time=timestamp(api.now()),
            keep=resource.ownable(subresource),
            convert=None if in_version is None else _pairs(in_version, before or {}, seen),
        )

    try:
        if live is None and "managedFields" not in obj["metadata"]:
            # No field had an owner so far, in any version.
            entries = tracked(None)
        else:
            entries = await with_versions(api, resource, tracked)
    except (StatusError, Unconvertible):
        entries = list(((live or {}).get("metadata") or {}).get("managedFields") or ())
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)


def _as_given(value: Any, given: Any) -> Any:
    """A value with the empty lists that it was given where it has null: even they have an owner."""
    if value is None and given == []:
        return given
    if isinstance(value, dict) and isinstance(given, dict):
        return {key: _as_given(item, given.get(key)) for key, item in value.items()}
    if isinstance(value, list) and isinstance(given, list) and len(value) == len(given):
        return [_as_given(*pair) for pair in zip(value, given, strict=True)]
    return value


async def with_versions(api: Api, resource: Resource, work: Callable[[InVersion], _Result]) -> _Result:
    """What `work` makes with objects of the resource in its other versions. It may be called again and
    again. Raises StatusError (500) when a webhook does not answer."""
    conversion = resource.conversion
    if conversion is None:
        return work(_in_served_versions(api, resource))
    answers: _Answers = {}
    while True:
        try:
            return work(_in_webhook_versions(resource, conversion, answers))
        except _Unanswered as missing:
            version = missing.api_version.rpartition("/")[2]
            [answers[missing.key]] = await conversion.convert([missing.obj], version)


#: Converted objects, by the given one's content and the apiVersion.
_Answers = dict[tuple[bytes, str], Object]


class _Unanswered(Exception):
    """An object is needed in a version that the webhook was not asked for yet."""

    def __init__(self, obj: Object, api_version: str, key: tuple[bytes, str]) -> None:
        self.obj, self.api_version, self.key = obj, api_version, key


def _in_webhook_versions(resource: Resource, conversion: Conversion, answers: _Answers) -> InVersion:
    def in_version(obj: Object, api_version: str) -> tuple[Object, Schema] | None:
        group, _, version = api_version.rpartition("/")
        schema = conversion.schema(version) if group == resource.group else None
        if schema is None:
            return None
        # Before a create there is nothing, which a webhook could not read.
        obj = {"apiVersion": resource.type.api_version, "kind": resource.type.kind, "metadata": {}, **obj}
        if obj["apiVersion"] == api_version:
            return obj, schema
        key = (orjson.dumps(obj), api_version)
        if key not in answers:
            raise _Unanswered(obj, api_version, key)
        return answers[key], schema

    return in_version


def _in_served_versions(api: Api, resource: Resource) -> InVersion:
    def served(api_version: str) -> Resource | None:
        group, _, version = api_version.rpartition("/")
        if group != resource.group:
            # Events are in two groups, and owners in one are lost with a write in the other.
            return None
        found = api.catalog.find(group, version, resource.plural)
        return found if found is not None and found.stored == resource.stored else None

    def in_version(obj: Object, api_version: str) -> tuple[Object, Schema] | None:
        source, target = served(obj.get("apiVersion", resource.type.api_version)), served(api_version)
        if source is None or target is None:
            return None
        return source.as_version_of(obj, target)

    return in_version


def _pairs(in_version: InVersion, old: Object, new: Object) -> Converter:
    def pair(api_version: str) -> tuple[Object, Object, Schema] | None:
        before, after = in_version(old, api_version), in_version(new, api_version)
        return None if before is None or after is None else (before[0], *after)

    return pair
