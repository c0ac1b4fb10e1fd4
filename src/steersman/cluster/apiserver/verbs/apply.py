"""apply: PATCH with application/apply-patch+yaml, server-side apply.

The configuration is applied to the object as the request's version shows it (the algorithm is
`steersman.objects.patches.apply`); the result is read like a body, and then it is a create or an update
like any other, except that its managedFields are already decided. Called by `patch`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from typing import Any, Final

import orjson

from steersman.cluster.apiserver.pipeline.bodies import match_name, match_namespace, strict_warnings
from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.options import WriteOptions, parse_unsigned
from steersman.cluster.apiserver.resources.system_fields import timestamp
from steersman.cluster.apiserver.responses.render import respond_object
from steersman.cluster.apiserver.verbs.managed_fields import with_versions
from steersman.cluster.apiserver.verbs.update import endpoint_of, replace
from steersman.cluster.codec.errors import Malformed
from steersman.cluster.schema.errors import DecodeError
from steersman.cluster.schema.go_messages import json_type
from steersman.cluster.schema.resources import GVK
from steersman.http import Response
from steersman.objects.fields import Path
from steersman.objects.fields import invalid as invalid_field
from steersman.objects.kinds import Object
from steersman.objects.patches.apply import Applier, ApplyConflict, InVersion
from steersman.objects.patches.apply import apply as apply_configuration
from steersman.objects.patches.errors import PatchError
from steersman.objects.schemas import Schema
from steersman.objects.status import StatusError, bad_request, conflict, invalid, unclassified

__all__ = ["AppliedConfiguration", "apply", "apply_to", "note_repeated_keys", "read_configuration"]

_WRITTEN_AS_FLOAT: Final = re.compile(rb"[0-9]\.0+(?:[\s,}\]]|$)|[0-9][eE][+0-9]")
#: Go writes larger floats with an exponent.
_LARGEST_WHOLE: Final = 1e21
_NO_KIND: Final = GVK("", "", "")
_TOO_DEEP: Final = "error decoding patch: exceeded max depth"


@dataclass(frozen=True, slots=True)
class AppliedConfiguration:
    """What a request applies, and what strict reading says about how it was written."""

    obj: Object
    repeated_keys: str = ""


async def apply(api: Api, call: Call) -> Response:
    options = WriteOptions.parse(call.query, "PatchOptions", apply=True)
    config = read_configuration(call, call.resource.type.gvk)
    resource, subresource = call.resource, call.path.subresource
    applier = Applier(
        options.field_manager,
        resource.type.api_version,
        timestamp(api.now()),
        subresource,
        bool(options.force),
        resource.ownable(subresource),
    )

    async def transform(old: Object) -> Object:
        empty = resource.kind.empty or {}
        live = old or empty

        def merged(in_version: InVersion) -> Object:
            versioned = replace_fields(applier, convert=in_version)
            return apply_to(live, config.obj, resource.kind.schema, versioned, empty)

        applied = await with_versions(api, resource, merged)
        note_repeated_keys(call, config, options)
        new = _fresh(live) if applied is live else _completed(call, applied, config.obj)
        _match(call, new, old)
        return new

    if b"[]" in call.request.content:
        call.with_empty_lists = config.obj
    endpoint = replace_fields(endpoint_of(call), creates=not subresource, applies=True)
    written = await replace(api, call, transform, options, endpoint)
    return respond_object(api, call, written.value, 201 if written.created else 200)


def apply_to(live: Object, config: Object, schema: Schema, applier: Applier, empty: Object) -> Object:
    """The library's apply, its refusals as answers."""
    try:
        return apply_configuration(live, config, schema, applier, empty=empty).object
    except ApplyConflict as error:
        causes = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {conflict.owner}",
                "field": conflict.field,
            }
            for conflict in error.conflicts
        ]
        raise StatusError(409, "Conflict", str(error), {"causes": causes}) from None
    except RecursionError:
        raise bad_request(_TOO_DEEP) from None
    except PatchError as error:
        if error.code == 400:
            raise bad_request(str(error)) from None
        raise StatusError(error.code, "", str(error)) from None


# --- The body


def read_configuration(call: Call, expected: GVK) -> AppliedConfiguration:
    """The body, YAML or JSON, which must say that it is of the expected kind."""
    value, repeated_keys = _parse(call.request.content)
    if _WRITTEN_AS_FLOAT.search(call.request.content):
        value = _with_whole_numbers(value)
    if value is None:
        value = {}
    if not isinstance(value, dict):
        found = json_type(value)
        raise bad_request(
            "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{found} into Go value of type map[string]interface {{}}"
        )
    claimed = _claimed(value)
    if claimed != expected:
        shown = f"{claimed.group}/{claimed.version}, Kind={claimed.kind}"
        raise bad_request(f"invalid object type: {shown}")
    return AppliedConfiguration(value, repeated_keys)


def _parse(body: bytes) -> tuple[Any, str]:
    """The value and what is to be said about repeated keys. JSON is YAML, but read fast when it is plain."""
    looks_like_json = body[:64].lstrip().startswith(b"{")
    if looks_like_json:
        try:
            value = orjson.loads(body)
            # A repeated key would have taken its quotes with it.
            if body.count(b'"') == orjson.dumps(value).count(b'"'):
                return value, ""
        except orjson.JSONDecodeError:
            pass
        except orjson.JSONEncodeError:
            raise bad_request(_TOO_DEEP) from None
    from steersman.cluster.codec import yaml

    try:
        value, repeated = yaml.parse(body)
    except Malformed as error:
        doing = "decoding patch: error converting YAML to JSON" if looks_like_json else "encoding patch"
        raise bad_request(f"error {doing}: {error}") from None
    return value, f"error converting YAML to JSON: {repeated[0]}" if repeated else ""


def _with_whole_numbers(value: Any) -> Any:
    """Numbers on their way from YAML to JSON lose how they were written: 1.0 is 1."""
    if isinstance(value, dict):
        return {key: _with_whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_WHOLE:
        return int(value)
    return value


def _claimed(value: Object) -> GVK:
    api_version, kind = value.get("apiVersion"), value.get("kind")
    api_version = api_version if isinstance(api_version, str) else ""
    if api_version.count("/") > 1:
        return _NO_KIND
    if not api_version.strip("/"):
        api_version = ""
    return GVK.of(api_version, kind if isinstance(kind, str) else "")


def note_repeated_keys(call: Call, config: AppliedConfiguration, options: WriteOptions) -> None:
    if not config.repeated_keys or options.field_validation == "Ignore":
        return
    if options.field_validation == "Strict":
        raise bad_request(f"error strict decoding patch: {config.repeated_keys}")
    call.warnings.extend(strict_warnings([config.repeated_keys]))


# --- The object


def _fresh(live: Object) -> Object:
    copy: Object = orjson.loads(orjson.dumps(live))
    return copy


def _completed(call: Call, applied: Object, config: Object) -> Object:
    """The merged object in normal form, with defaults."""
    call.submitted = applied
    kind = call.resource.type.gvk
    try:
        obj, _ = call.resource.kind.accept(applied, applied=True)
    except DecodeError as error:
        metadata = config.get("metadata") or {}
        place = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        shown = f"{kind.group}/{kind.version}, Kind={kind.kind}"
        text = f"failed to convert new object ({place}; {shown}) to proper version: "
        text += call.resource.kind.conversion_failure(applied, error)
        raise StatusError(500, "", text) from None
    return obj


def _match(call: Call, new: Object, old: Object) -> None:
    """The object must be the one the URL names, and the one that is stored."""
    resource, name, metadata = call.resource, call.path.name, new["metadata"]
    uid = metadata.get("uid")
    if uid and not old:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(resource.group, resource.plural, name, why)
    match_namespace(call, metadata)
    match_name(call, metadata)
    if not old:
        try:
            parse_unsigned(metadata.pop("resourceVersion", "") or "0")
        except ValueError as problem:
            raise unclassified(str(problem)) from None
    elif uid != old["metadata"]["uid"]:
        error = invalid_field(Path("metadata").child("uid"), uid, "field is immutable")
        raise invalid(resource.group, resource.type.kind, name, [error])
