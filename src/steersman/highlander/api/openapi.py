"""The OpenAPI document, made of the routes and of the views' types."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import msgspec

from steersman.highlander.api.routes import ROUTES, Route

__all__ = ["document"]

_ERRORS = {
    "400": "The request is malformed.",
    "401": "The token is missing or wrong.",
    "403": "Actions are disabled.",
    "404": "The tenant, workload or pod was not found.",
    "409": "Only the leader can do this, or the name is ambiguous.",
}
_REF = "#/components/schemas/{name}"


@lru_cache(maxsize=1)
def document(version: str) -> dict[str, Any]:
    """What can be asked of this server."""
    typed = [route.data for route in ROUTES if route.data is not None]
    schemas, components = msgspec.json.schema_components(typed, ref_template=_REF)
    schema_of = iter(schemas)
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        schema = next(schema_of) if route.data is not None else None
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schema)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Highlander", "version": version},
        "paths": paths,
        "components": {
            "schemas": {**components, "Error": _envelope(None)},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "certificate": {"type": "mutualTLS"},
            },
        },
    }


def _operation(route: Route, schema: dict[str, Any] | None) -> dict[str, Any]:
    # Several paths may lead to one method.
    words = f"{route.method.lower()} {route.path.replace('{', ' ').replace('}', ' ')}"
    content: dict[str, Any] = {"schema": _envelope(schema)} if schema is not None else {}
    operation: dict[str, Any] = {
        "operationId": "-".join(re.findall(r"[\w]+", words)),
        "summary": route.about,
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
              for name in re.findall(r"\{(\w+)\}", route.path)),
            *({"name": one.name, "in": "query", "description": one.about, "schema": {"type": one.kind}}
              for one in route.parameters),
        ],
        "responses": {
            "200": {"description": route.about, "content": {route.content_type: content}},
            **_refusals(route),
        },
    }  # fmt: skip
    if route.guarded:
        operation["security"] = [{"token": []}, {"certificate": []}]
    return operation


def _refusals(route: Route) -> dict[str, Any]:
    if route.name == "readyz":
        return {"503": {"description": "Not ready; the body gives the reason."}}
    wanted = {"404"} if route.parameters else set()
    if route.guarded:
        wanted |= set(_ERRORS)
    if route.name == "workload_by_name":
        wanted.add("409")
    error = {"application/json": {"schema": {"$ref": _REF.format(name="Error")}}}
    return {code: {"description": _ERRORS[code], "content": error} for code in sorted(wanted)}


def _envelope(data: dict[str, Any] | None) -> dict[str, Any]:
    """`{status, data, error}` as the public project answers."""
    if data is None:
        fields: dict[str, Any] = {"status": {"const": "error"}, "error": {"type": "string"}}
    else:
        fields = {"status": {"const": "success"}, "data": data}
    return {"type": "object", "properties": fields, "required": list(fields)}
