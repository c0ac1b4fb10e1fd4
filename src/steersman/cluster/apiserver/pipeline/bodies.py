"""Request bodies: decoded, defaulted, and checked against the URL they were sent to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from steersman.cluster.apiserver.pipeline.call import Call
from steersman.cluster.apiserver.pipeline.options import WriteOptions
from steersman.cluster.apiserver.resources.kinds import read_built_in
from steersman.cluster.codec import decode_options
from steersman.cluster.schema.resources import GVK
from steersman.objects.kinds import Object
from steersman.objects.status import bad_request

__all__ = [
    "dedupe_owners",
    "match_name",
    "match_namespace",
    "read_delete_options",
    "read_object",
    "read_part",
    "resets_owners",
    "strict_warnings",
]

_YAML_ERRORS: Final = "yaml: unmarshal errors:\n"


def read_object(call: Call, options: WriteOptions) -> Object:
    """The body as an object of the resource's kind, with defaults."""
    content_type = call.request.headers.get("content-type") or ""
    content = call.request.content
    obj, warnings, call.submitted = call.resource.kind.read(content_type, content, options.field_validation)
    if warnings:
        call.warnings.extend(strict_warnings(warnings))
    if b"[]" in content or b"managedFields" in content:
        call.with_empty_lists = call.submitted
        if "managedFields" not in obj["metadata"] and resets_owners(call.submitted):
            obj["metadata"]["managedFields"] = []
    return obj


def resets_owners(given: Any) -> bool:
    """Whether an object as it was given asks to forget who owns its fields: by an empty list, which the
    normal form does not have."""
    metadata = given.get("metadata") if isinstance(given, dict) else None
    return isinstance(metadata, dict) and metadata.get("managedFields") == []


def strict_warnings(findings: Sequence[str]) -> Iterator[str]:
    """What strict reading found, as warnings: what YAML says in several lines is several."""
    for text in findings:
        head, found, rest = text.partition(_YAML_ERRORS)
        if found and head in ("", "error converting YAML to JSON: "):
            yield from (line.strip() for line in rest.split("\n"))
        else:
            yield text


def read_part(call: Call, options: WriteOptions, kind: GVK) -> Object:
    """The body as an object of a built-in kind that a subresource takes."""
    content_type = call.request.headers.get("content-type") or ""
    obj, warnings, _ = read_built_in(kind, content_type, call.request.content, options.field_validation)
    call.warnings.extend(strict_warnings(warnings))
    return obj


def read_delete_options(call: Call) -> Object | None:
    """A DeleteOptions body, None when there is none. Clients send it under any group's version."""
    content = call.request.content
    if not content:
        return None
    content_type = call.request.headers.get("content-type") or ""
    return decode_options(content_type, content, "DeleteOptions")


def match_namespace(call: Call, metadata: Object) -> None:
    """An object may leave its namespace out, but not contradict the URL; what has none loses it."""
    expected = call.path.namespace if call.resource.namespaced else ""
    given = metadata.get("namespace", "")
    if given == expected:
        return
    if not expected:
        del metadata["namespace"]
        return
    if given:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    metadata["namespace"] = expected


def match_name(call: Call, metadata: Object) -> None:
    """An object must have the name that the URL says."""
    given, name = metadata.get("name", ""), call.path.name
    if not given:
        raise bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )
    if given != name:
        raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")


def dedupe_owners(call: Call, metadata: Object, *, admitted: bool = False) -> None:
    """An owner named twice is kept once, with a warning. What a patch made is looked at when it is admitted,
    everything else before that, too."""
    if not admitted and call.action.verb == "patch":
        return
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
        when = " after mutating admission happens" if admitted else ""
        call.warnings.append(
            f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references "
            "in 1.20+, and may reject such requests as early as 1.24; please fix your requests; "
            "duplicate UID(s) observed: " + ", ".join(repeated)
        )
        metadata["ownerReferences"] = kept
