"""Request bodies: decoded, defaulted, and checked against the URL they were sent to."""

from __future__ import annotations

import orjson

from steersman.cluster.apiserver.call import Call, Object
from steersman.cluster.apiserver.options import WriteOptions
from steersman.cluster.codec import decode_body, decode_options
from steersman.cluster.schema.decode import decode
from steersman.cluster.schema.defaults import apply_defaults
from steersman.cluster.schema.errors import DecodeError
from steersman.cluster.schema.resources import GVK
from steersman.objects.fields import Path
from steersman.objects.fields import invalid as invalid_field
from steersman.objects.status import StatusError, bad_request, invalid

__all__ = ["decode_patched", "dedupe_owners", "match_namespace", "read_delete_options", "read_object"]


def read_object(call: Call, options: WriteOptions, kind: GVK | None = None) -> Object:
    """The body as an object of the resource's kind (or another, for subresources), with defaults."""
    expected = kind or call.resource.type.gvk
    content_type = call.request.headers.get("content-type") or ""
    body = decode_body(content_type, call.request.content, expected, options.field_validation)
    call.warnings.extend(body.warnings)
    obj = body.obj
    apply_defaults(expected.group, expected.version, expected.kind, obj)
    obj["kind"], obj["apiVersion"] = expected.kind, expected.api_version
    obj.setdefault("metadata", {})
    return obj


def read_delete_options(call: Call) -> Object | None:
    """A DeleteOptions body, None when there is none. Clients send it under any group's version."""
    content = call.request.content
    if not content:
        return None
    content_type = call.request.headers.get("content-type") or ""
    return decode_options(content_type, content, "DeleteOptions")


def match_namespace(call: Call, metadata: Object) -> None:
    """An object may leave its namespace out, but not contradict the URL."""
    expected = call.path.namespace if call.resource.namespaced else ""
    given = metadata.get("namespace", "")
    if given == expected:
        return
    if given:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    metadata["namespace"] = expected


def dedupe_owners(call: Call, metadata: Object) -> None:
    """An owner named twice is kept once, with a warning."""
    owners = metadata.get("ownerReferences")
    if not owners or len(owners) < 2:
        return
    kept = []
    repeated = []
    for owner in owners:
        if owner in kept:
            if owner["uid"] not in repeated:
                repeated.append(owner["uid"])
        else:
            kept.append(owner)
    if repeated:
        call.warnings.append(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in "
            "1.20+, and may reject such requests as early as 1.24; please fix your requests; "
            "duplicate UID(s) observed: " + ", ".join(repeated)
        )
        metadata["ownerReferences"] = kept


def decode_patched(call: Call, patched: Object, kind: GVK, options: WriteOptions) -> Object:
    """A patched object read like a body; what does not decode is the patch's fault."""
    try:
        obj, problems = decode(kind, patched)
    except DecodeError as error:
        raise _bad_patch(patched, str(error)) from None
    if problems and options.field_validation == "Strict":
        raise _bad_patch(patched, "strict decoding error: " + ", ".join(problems))
    if problems and options.field_validation == "Warn":
        call.warnings.extend(problems)
    apply_defaults(kind.group, kind.version, kind.kind, obj)
    obj["kind"], obj["apiVersion"] = kind.kind, kind.api_version
    return obj


def _bad_patch(patched: Object, why: str) -> StatusError:
    return invalid("", "", "", [invalid_field(Path("patch"), orjson.dumps(patched).decode(), why)])
