"""A small API server of the test's own, behind the cluster's API: what the public tests call the sample server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from steersman.http import Request, Response
from tests.conformance.promises.hooks import ca_bundle, service_for, serving
from tests.conformance.promises.keeping import NAMESPACE, Collection, Object, until
from tests.support.api import ApiClient

__all__ = ["API", "GROUP", "NAME", "Sample", "registered"]

GROUP, VERSION = "wardle.example.com", "v1alpha1"
API = f"{GROUP}/{VERSION}"
NAME = f"{VERSION}.{GROUP}"
SERVICE = "sample-api"
_GVK = {"group": GROUP, "version": VERSION, "kind": "Flunder"}
_TYPE = "com.example.wardle.v1alpha1.Flunder"
_FLUNDER = {
    "description": "Flunder is an example type with a spec and a status.",
    "type": "object",
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "spec": {
            "type": "object",
            "properties": {"reference": {"type": "string", "description": "Of another."}},
        },
    },
    "x-kubernetes-group-version-kind": [_GVK],
}
_LIST_PATH = f"/apis/{API}/namespaces/{{namespace}}/flunders"
_RESOURCE = {"name": "flunders", "singularName": "flunder", "namespaced": True, "kind": "Flunder"}


def _operation(prefix: str) -> Object:
    answer = {"description": "OK", "schema": {"$ref": f"{prefix}{_TYPE}"}}
    return {
        "get": {
            "operationId": "listWardleFlunder",
            "produces": ["application/json"],
            "responses": {"200": answer},
            "x-kubernetes-action": "list",
            "x-kubernetes-group-version-kind": _GVK,
        }
    }


@dataclass
class Sample:
    """A server that has flunders."""

    #: Whether it has an OpenAPI document of version 3.
    modern: bool = True
    flunders: dict[tuple[str, str], Object] = field(default_factory=dict)
    users: set[str] = field(default_factory=set)

    def handle(self, request: Request) -> Response:
        self.users.update(request.headers.get_all("x-remote-user"))
        path = request.path
        if path == f"/apis/{API}":
            verbs = ["create", "delete", "get", "list"]
            document = {
                "kind": "APIResourceList",
                "groupVersion": API,
                "resources": [{**_RESOURCE, "verbs": verbs}],
            }
            return _json(document)
        if path.startswith("/openapi/"):
            return self._openapi(path)
        found = path.removeprefix(f"/apis/{API}/namespaces/").split("/")
        if len(found) < 2 or found[1] != "flunders":
            return _json({"kind": "Status", "code": 404}, 404)
        return self._flunders(request, found[0], found[2] if len(found) > 2 else "")

    def _flunders(self, request: Request, namespace: str, name: str) -> Response:
        if request.method == "POST":
            given = orjson.loads(request.content)
            given["metadata"]["namespace"] = namespace
            self.flunders[namespace, given["metadata"]["name"]] = given
            return _json(given, 201)
        if request.method == "DELETE":
            return _json(self.flunders.pop((namespace, name)))
        items = [obj for (where, _), obj in self.flunders.items() if where == namespace]
        return _json({"kind": "FlunderList", "apiVersion": API, "metadata": {}, "items": items})

    def _openapi(self, path: str) -> Response:
        if path == "/openapi/v2":
            paths = {_LIST_PATH: _operation("#/definitions/"), "/version/": {}}
            return _json({"swagger": "2.0", "paths": paths, "definitions": {_TYPE: _FLUNDER}})
        if not self.modern:
            return Response(404)
        if path == "/openapi/v3":
            return _json({"paths": {f"apis/{API}": {"serverRelativeURL": f"/openapi/v3/apis/{API}?hash=1"}}})
        return _json(
            {
                "openapi": "3.0.0",
                "paths": {_LIST_PATH: _operation("#/components/schemas/")},
                "components": {"schemas": {_TYPE: _FLUNDER}},
            }
        )


def _json(document: Any, status: int = 200) -> Response:
    return Response(status, orjson.dumps(document), ((b"Content-Type", b"application/json"),))


@asynccontextmanager
async def registered(client: ApiClient, sample: Sample) -> AsyncIterator[Collection]:
    """The sample server behind the cluster's API; the registrations."""
    registrations = Collection(client, "apiregistration.k8s.io/v1", "apiservices")
    believed = Collection(client, "v1", "configmaps", "kube-system")
    await until(lambda: _has(believed, "extension-apiserver-authentication"))
    data = (await believed.get("extension-apiserver-authentication"))["data"]
    authority = data["requestheader-client-ca-file"].encode()
    async with serving(sample.handle, SERVICE, authority) as port:
        await service_for(client, SERVICE)
        spec = {
            "service": {"namespace": NAMESPACE, "name": SERVICE, "port": port},
            "group": GROUP,
            "version": VERSION,
            "caBundle": ca_bundle(),
            "groupPriorityMinimum": 2000,
            "versionPriority": 200,
        }
        await registrations.create({"metadata": {"name": NAME}, "spec": spec})

        async def ready() -> bool:
            code = (await client.raw("GET", f"/apis/{API}/namespaces/default/flunders")).status
            assert code in (200, 403, 404, 503)
            return code == 200

        await until(ready)
        yield registrations


async def _has(objects: Collection, name: str) -> bool:
    return not await objects.gone(name)
