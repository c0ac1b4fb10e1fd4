"""Content negotiation: from the Accept header, `pretty` and the user agent to the form of a response."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from steersman.cluster.apiserver.pipeline.methods import has_table
from steersman.cluster.apiserver.pipeline.paths import CONNECT_SUBRESOURCES, ResourcePath
from steersman.cluster.apiserver.resources.kinds import BuiltInKind
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.responses.render import JSON, Form
from steersman.cluster.codec.negotiate import (
    METADATA,
    OFFERED,
    RESOURCE,
    STREAMED,
    YAML,
    Transforms,
    is_routed,
    negotiate,
    wants_pretty,
)
from steersman.http import Request
from steersman.objects.status import not_acceptable

__all__ = ["form_of", "form_of_accept"]

_SHAPES = {
    "Table": "table",
    "PartialObjectMetadata": "metadata",
    "PartialObjectMetadataList": "metadata list",
}


@lru_cache(maxsize=1024)
def form_of_accept(accept: str, user_agent: str, pretty: str, transforms: Transforms) -> Form:
    representation = negotiate(accept, transforms)
    converted = representation.convert
    yaml = representation.media_type == YAML
    indented = representation.pretty or wants_pretty(pretty, user_agent)
    if converted is None:
        return Form(yaml=yaml, pretty=indented) if yaml or indented else JSON
    return Form(_SHAPES[converted.kind], converted.version, yaml, indented)


def form_of(request: Request, query: Mapping[str, list[str]], resource: Resource, path: ResourcePath) -> Form:
    """How the response to a request is shown. Raises 406."""
    field = request.headers.get
    accept = field("accept") or ""
    if path.subresource in CONNECT_SUBRESOURCES and path.subresource != "log":
        accept = ""
    if not is_routed(accept) and isinstance(resource.kind, BuiltInKind):
        also = ("text/plain",) if path.subresource == "log" else ()
        if not is_routed(accept, *also):
            streams = STREAMED if request.method == "GET" and not path.name else ()
            raise not_acceptable((*also, *OFFERED, *streams))
    pretty = query.get("pretty", [""])[0] if query else ""
    transforms = RESOURCE if has_table(resource, path.subresource) else METADATA
    return form_of_accept(accept, field("user-agent") or "", pretty, transforms)
