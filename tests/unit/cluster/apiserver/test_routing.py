"""What a request asks for does not depend on what was asked before: routes are shared, never mixed up."""

from __future__ import annotations

import itertools
import random
from typing import Any

from steersman.cluster.apiserver.pipeline.options import parse_query
from steersman.http import Headers, Request
from steersman.http.request import Connection
from steersman.objects.status import StatusError
from tests.support.api import ApiClient, with_api

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
PATHS = (
    "/",
    "/api/v1",
    "/api/v1/",
    "/api/v1/namespaces",
    "/api/v1/namespaces/",
    "/api/v1/namespaces/a",
    "/api/v1/namespaces/status",
    "/api/v1/namespaces/a/status",
    "/api/v1/namespaces/a/finalize",
    "/api/v1/namespaces/a/finalize/a",
    "/api/v1/namespaces/a/configmaps",
    "/api/v1/namespaces/a/configmaps/",
    "/api/v1/namespaces/a/configmaps/b",
    "/api/v1/namespaces/a/configmaps/configmaps",
    "/api/v1/namespaces/a/configmaps/status",
    "/api/v1/namespaces/a/configmaps/b/status",
    "/api/v1/namespaces/b/configmaps/b",
    "/api/v1/namespaces/a/pods/b",
    "/api/v1/namespaces/a/pods/proxy",
    "/api/v1/namespaces/a/pods/b/proxy",
    "/api/v1/namespaces/a/pods/b/proxy/b",
    "/api/v1/namespaces/a/pods/proxy/proxy/proxy",
    "/api/v1/namespaces/a/nothing/b",
    "/api/v1/namespaces/a/nodes/b",
    "/api/v1/configmaps/b",
    "/api/v1/nodes/a",
    "/api/v1/nodes/watch",
    "/api/v1/watch",
    "/api/v1/watch/nodes",
    "/api/v1/watch/nodes/a",
    "/api/v1/watch/namespaces/a/configmaps/b",
    "/apis/apps/v1/namespaces/a/deployments/b",
    "/apis/apps/v1/namespaces/a/deployments/b/scale",
    "/apis/apps/v2/namespaces/a/deployments/b",
    "/healthz",
    "/healthz/ping",
)
QUERIES = ("", "watch=1", "fieldManager=x&dryRun=All", "fieldSelector=metadata.name=a")


@with_api
async def test_a_route_is_the_same_whatever_was_asked_before(client: ApiClient) -> None:
    server = client.cluster.api_server.handler
    connection = Connection(("", 0), None)

    def routed(method: str, path: str, query: str) -> Any:
        target = f"{path}?{query}" if query else path
        request = Request(method, target, Headers([]), connection, None, True, True)  # type: ignore[arg-type]
        return server._router.route(request)

    def made(method: str, path: str, query: str) -> Any:
        return server._router.make(method, path, parse_query(query))

    def outcome(route: Any, *asked: str) -> Any:
        try:
            return route(*asked)
        except StatusError as error:
            return error.status()

    asked = list(itertools.product(METHODS, PATHS, QUERIES)) * 2
    random.Random(1).shuffle(asked)
    for request in asked:
        assert outcome(routed, *request) == outcome(made, *request), request
