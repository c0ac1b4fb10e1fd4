"""Responses with objects, lists and Tables: from stored bytes to the form that the client accepts.

JSON objects and lists are framed around the stored bytes; everything else decodes them, with code that is
loaded when first used, since a start should not wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.responses.warning_headers import warning_headers
from steersman.cluster.schema.resources import GVK
from steersman.http import Content, Joined, Response
from steersman.objects.fields import Path, invalid
from steersman.objects.kinds import Object
from steersman.objects.status import StatusError, bad_request, unclassified

if TYPE_CHECKING:
    from steersman.cluster.apiserver.resources.columns import ColumnDefinition, Row

__all__ = [
    "JSON",
    "Form",
    "failure",
    "read_shown",
    "respond_json",
    "respond_list",
    "respond_object",
    "success",
]


class Form(NamedTuple):
    """How a client wants its answer."""

    #: "object", "table", "metadata" (PartialObjectMetadata) or "metadata list" (PartialObjectMetadataList).
    shape: str = "object"
    #: Of meta.k8s.io, for the last two.
    version: str = "v1"
    yaml: bool = False
    pretty: bool = False

    @property
    def plain(self) -> bool:
        return self is JSON


JSON = Form()

_JSON_HEADERS: Sequence[tuple[bytes, bytes]] = (
    (b"Cache-Control", b"no-cache, private"),
    (b"Content-Type", b"application/json"),
)
_YAML_HEADERS: Sequence[tuple[bytes, bytes]] = (
    (b"Cache-Control", b"no-cache, private"),
    (b"Content-Type", b"application/yaml"),
)


#: Annotations that show a field of the type Kubernetes handles objects in: metadata alone has none of it.
_FIELDS_AS_ANNOTATIONS = {"DaemonSet": "deprecated.daemonset.template.generation"}


def respond_json(body: Content, code: int = 200, *, warnings: Sequence[str] = ()) -> Response:
    """Bytes that are JSON already."""
    headers = [*_JSON_HEADERS, *warning_headers(warnings)] if warnings else _JSON_HEADERS
    return Response(code, body, headers)


def _respond_value(value: Any, form: Form, code: int, warnings: Sequence[str]) -> Response:
    if form.yaml:
        from steersman.cluster.codec import yaml

        return Response(code, yaml.dump(value), [*_YAML_HEADERS, *warning_headers(warnings)])
    return respond_json(_dumps(value, form), code, warnings=warnings)


def _dumps(value: Any, form: Form) -> bytes:
    if not form.pretty:
        return orjson.dumps(value)
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def success(
    call: Call, code: int = 200, details: Object | None = None, *, show_code: bool = False
) -> Response:
    """A Status that says it worked."""
    status: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details is not None:
        status["details"] = details
    if show_code:
        status["code"] = code
    return _respond_value(status, call.form, code, call.warnings)


def failure(error: StatusError, form: Form = JSON, warnings: Sequence[str] = ()) -> Response:
    response = _respond_value(error.status(), form, error.code, warnings)
    if error.headers:
        response.headers = [*response.headers, *error.headers]
    return response


def respond_object(api: Api, call: Call, value: bytes, code: int = 200) -> Response:
    """One object from its stored bytes."""
    form = call.form
    resource = call.resource
    if form is JSON:
        return respond_json(resource.whole(value), code, warnings=call.warnings)
    return respond_value(api, call, read_shown(call, value), code)


def respond_value(api: Api, call: Call, obj: Object, code: int = 200) -> Response:
    """One object that is decoded already, as `read_shown` gives it."""
    return _respond_value(shape_object(api, call, obj), call.form, code, call.warnings)


def read_shown(call: Call, value: bytes) -> Object:
    """An object to be shown in the form asked for: Tables and metadata alone are those of the stored
    version, whatever version is asked for."""
    resource = call.resource
    if resource.converts and call.form.shape != "object":
        return resource.read_stored(value)
    return resource.read(value)


def shape_object(api: Api, call: Call, obj: Object) -> Object:
    """An object that `read_shown` gave, in the form asked for."""
    form = call.form
    if form.shape == "table":
        version = obj["metadata"].get("resourceVersion")
        return table(api, call, [obj], {"resourceVersion": version} if version else {}, listed=False)
    if form.shape == "metadata":
        return _partial(obj, form)
    if form.shape == "metadata list":
        raise _no_list(call, obj)
    return obj


def _no_list(call: Call, obj: Object) -> StatusError:
    shown = GVK.of(obj["apiVersion"], obj["kind"])
    go_name = call.resource.handling.go_type(shown, call.path.subresource)
    if not go_name:
        return unclassified("content is not a list")
    return _wrong_metadata("PartialObjectMetadataList", "not a list", go_name)


def _wrong_metadata(wanted: str, found: str, go_name: str) -> StatusError:
    message = f"you requested {wanted}, but the requested object is {found} ({go_name})"
    return StatusError(406, "NotAcceptable", message)


def respond_list(
    api: Api, call: Call, values: Sequence[bytes], metadata: Object, size: int | None = None
) -> Response:
    """A list from the stored bytes of its items, whose `size` may be known."""
    form = call.form
    resource = call.resource
    if form is JSON:
        return respond_json(_frame_list(resource, values, metadata, size), warnings=call.warnings)
    objects = [read_shown(call, value) for value in values]
    body: Object
    if form.shape == "table":
        body = table(api, call, objects, metadata)
    elif form.shape == "metadata":
        go_name = resource.handling.go_list_type(resource.type.gvk)
        raise _wrong_metadata("PartialObjectMetadata", "a list", go_name)
    elif form.shape == "metadata list":
        body = {
            "kind": "PartialObjectMetadataList",
            "apiVersion": f"meta.k8s.io/{form.version}",
            "metadata": metadata,
            "items": [_partial(obj, form) for obj in objects] or None,
        }
    else:
        kind = resource.type
        items = [orjson.loads(resource.item(value)) for value in values]
        body = {"kind": kind.list_kind, "apiVersion": kind.api_version, "metadata": metadata, "items": items}
    return _respond_value(body, form, 200, call.warnings)


def _frame_list(resource: Resource, values: Sequence[bytes], metadata: Object, size: int | None) -> Joined:
    """The list's bytes. Items that need no change are joined as they are."""
    opening = b'%b"metadata":%b,"items":[' % (resource.list_head, orjson.dumps(metadata))
    if resource.converts or resource.items_head != b"{":
        values, size = [resource.item(value) for value in values], None
    return Joined(opening, values, b",", b"]}", size)


def _partial(obj: Object, form: Form) -> Object:
    metadata = obj["metadata"]
    hidden = _FIELDS_AS_ANNOTATIONS.get(obj.get("kind", ""))
    if hidden and hidden in (metadata.get("annotations") or ()):
        kept = {key: value for key, value in metadata["annotations"].items() if key != hidden}
        rest = {key: value for key, value in metadata.items() if key != "annotations"}
        metadata = rest | {"annotations": kept} if kept else rest
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{form.version}",
        "metadata": metadata,
    }


def _ends_initial_events(obj: Object) -> bool:
    return "k8s.io/initial-events-end" in (obj["metadata"].get("annotations") or ())


def _columns_and_rows(
    call: Call, objects: Iterable[Object], now: float, *, listed: bool
) -> tuple[Sequence[ColumnDefinition], Sequence[Row] | None]:
    kind = call.resource.kind
    if call.path.subresource != "scale":
        return kind.columns(), kind.rows(objects, now, listed=listed)
    from steersman.cluster.apiserver.resources.columns import Row
    from steersman.cluster.apiserver.resources.columns.scales import scale_table

    shown = scale_table(custom=call.resource.handling.is_custom_scale)
    return shown.columns, [Row(scale, shown.cells(scale, now)) for scale in objects]


def table(
    api: Api, call: Call, objects: Iterable[Object], metadata: Object, *, listed: bool = True
) -> Object:
    """Objects of the stored version as `kubectl get` shows them."""
    resource = call.resource
    include = (call.query.get("includeObject") or ["Metadata"])[0] or "Metadata"
    if include not in ("None", "Metadata", "Object"):
        problem = invalid(Path("includeObject"), include, "must be 'Metadata', 'Object', 'None', or empty")
        raise bad_request(f"Unable to convert to Table as requested: {problem}")
    partial = Form("metadata", call.form.version)
    body_rows = []
    columns, rows = _columns_and_rows(call, objects, api.now(), listed=listed)
    for row in rows or ():
        shown: Object = {"cells": row.cells, "object": None}
        if row.conditions:
            shown["conditions"] = row.conditions
        if include == "Metadata" or (include == "None" and _ends_initial_events(row.object)):
            shown["object"] = _partial(row.object, partial)
        elif include == "Object":
            shown["object"] = resource.from_stored(row.object)
        body_rows.append(shown)
    definitions = [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.description,
            "priority": column.priority,
        }
        for column in columns
    ]
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{call.form.version}",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": None if rows is None else body_rows,
    }
