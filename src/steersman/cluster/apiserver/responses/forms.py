"""Content negotiation: from the Accept header, `pretty` and the user agent to the form of a response."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from steersman.cluster.apiserver.pipeline.paths import CONNECT_SUBRESOURCES, ResourcePath
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.responses.render import JSON, Form
from steersman.cluster.codec.negotiate import (
    METADATA,
    RESOURCE,
    YAML,
    Transforms,
    negotiate,
    wants_pretty,
)
from steersman.http import Request

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
    resource.handling.check_accept(accept, request.method, path)
    pretty = query.get("pretty", [""])[0] if query else ""
    transforms = RESOURCE if resource.handling.has_table(resource.type, path.subresource) else METADATA
    return form_of_accept(accept, field("user-agent") or "", pretty, transforms)
