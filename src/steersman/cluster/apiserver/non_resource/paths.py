"""Requests for non-resource paths, each served by its module: health, OpenAPI, discovery, version,
metrics."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import orjson

from steersman.cluster.apiserver.non_resource.discovery import Discovery
from steersman.cluster.apiserver.non_resource.health import Health
from steersman.cluster.apiserver.non_resource.openapi import serve_openapi
from steersman.cluster.apiserver.non_resource.openid import OpenIDMetadata
from steersman.cluster.apiserver.non_resource.version import serve_version
from steersman.cluster.apiserver.pipeline.methods import BUILT_IN_GROUPS
from steersman.cluster.apiserver.pipeline.options import parse_query
from steersman.cluster.apiserver.responses.render import respond_json
from steersman.http import Request, Response
from steersman.objects.status import method_not_allowed, no_such_resource

if TYPE_CHECKING:
    from steersman.cluster.schema.openapi import OpenAPI

__all__ = ["NonResourcePaths", "page_not_found"]

#: Paths that answer one method only, those of groups if they are built in; the others answer all methods
#: alike.
_GET_ONLY = re.compile(
    r"/api(?:/[^/]+)?/?|/apis/apiregistration\.k8s\.io/?|/apis/([^/]+)/[^/]+/?|/version/?|/\.well-known/openid-configuration|/openid/v1/jwks"
)
_ROOT = (
    "/api",
    "/apis",
    "/healthz",
    "/livez",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/readyz",
    "/version",
)


def page_not_found() -> Response:
    text = ((b"Content-Type", b"text/plain; charset=utf-8"), (b"X-Content-Type-Options", b"nosniff"))
    return Response(404, b"404 page not found\n", text)


class NonResourcePaths:
    def __init__(
        self,
        health: Health,
        openapi: Callable[[], OpenAPI],
        discovery: Discovery,
        metrics: Callable[[], bytes],
    ) -> None:
        """`metrics` makes the text of /metrics."""
        self._health = health
        self._openapi = openapi
        self._discovery = discovery
        self._metrics = metrics
        #: Set when the address of the server is known, which the documents contain.
        self.identity: OpenIDMetadata | None = None

    def serve(self, request: Request) -> Response:
        """The answer to a request for such a path. Raises 404 and 405."""
        answer = (
            self._health.serve(request, parse_query(request.query_string))
            or serve_openapi(self._openapi, request)
            or self._discovery.serve(request)
            or (self.identity and self.identity.serve(request))
            or self._serve_single(request)
        )
        if answer is not None:
            found = _GET_ONLY.fullmatch(request.path) if request.method != "GET" else None
            if found and (found[1] or "") in BUILT_IN_GROUPS:
                raise method_not_allowed()
            return answer
        root, group = (*request.path[1:].split("/"), "")[:2]
        if root in ("api", "version") or (root == "apis" and group in BUILT_IN_GROUPS and group):
            raise no_such_resource()
        return page_not_found()

    def _serve_single(self, request: Request) -> Response | None:
        path = request.path.rstrip("/")
        if path == "/version":
            return serve_version(request)
        if path == "/metrics":
            headers = ((b"Content-Type", b"text/plain; version=0.0.4; charset=utf-8"),)
            return Response(200, self._metrics(), headers)
        return None if path else respond_json(orjson.dumps({"paths": _ROOT}))
