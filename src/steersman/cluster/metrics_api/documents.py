"""The discovery and OpenAPI documents of metrics.k8s.io. Pure."""

from __future__ import annotations

from typing import Final

from steersman.cluster.metrics_api.objects import API_VERSION
from steersman.objects.kinds import Object

__all__ = ["GROUP", "KINDS", "PATH", "VERSION", "api_group", "api_groups", "api_resources", "openapi"]


GROUP, _, VERSION = API_VERSION.partition("/")
PATH: Final = f"/apis/{API_VERSION}"
#: Plural → kind.
KINDS: Final = {"nodes": "NodeMetrics", "pods": "PodMetrics"}
_MODEL: Final = "io.k8s.metrics.pkg.apis.metrics.v1beta1."
_QUANTITIES: Final = {
    "type": "object",
    "additionalProperties": {"type": "string"},
    "description": "The memory usage is the memory working set.",
}
_OBJECT: Final = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object"},
    "timestamp": {"type": "string", "format": "date-time"},
    "window": {"type": "string", "description": "The interval from which metrics were collected."},
}


def api_resources() -> Object:
    """/apis/metrics.k8s.io/v1beta1"""
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": API_VERSION,
        "resources": [
            {
                "name": plural,
                "singularName": "",
                "namespaced": plural == "pods",
                "kind": kind,
                "verbs": ["get", "list"],
            }
            for plural, kind in KINDS.items()
        ],
    }


def api_group() -> Object:
    """/apis/metrics.k8s.io"""
    return {"kind": "APIGroup", "apiVersion": "v1", **_group()}


def api_groups() -> Object:
    """/apis"""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group()]}


def _group() -> Object:
    version = {"groupVersion": API_VERSION, "version": VERSION}
    return {"name": GROUP, "versions": [version], "preferredVersion": version}


def openapi() -> Object:
    """/openapi/v2"""
    definitions: Object = {}
    _define(definitions, "NodeMetrics", {**_OBJECT, "usage": _QUANTITIES})
    containers = {"type": "array", "items": _reference("ContainerMetrics")}
    _define(definitions, "PodMetrics", {**_OBJECT, "containers": containers})
    definitions[f"{_MODEL}ContainerMetrics"] = {
        "type": "object",
        "description": "ContainerMetrics sets resource usage metrics of a container.",
        "properties": {"name": {"type": "string"}, "usage": _QUANTITIES},
    }
    paths: Object = {}
    for plural, kind in KINDS.items():
        place = f"{PATH}/namespaces/{{namespace}}" if plural == "pods" else PATH
        paths[f"{place}/{plural}"] = _path(f"{kind}List", kind, "list")
        paths[f"{place}/{plural}/{{name}}"] = _path(kind, kind, "get")
    paths[f"{PATH}/pods"] = _path("PodMetricsList", "PodMetrics", "list")
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes metrics", "version": VERSION},
        "paths": paths,
        "definitions": definitions,
    }


def _reference(kind: str) -> Object:
    return {"$ref": f"#/definitions/{_MODEL}{kind}"}


def _define(definitions: Object, kind: str, properties: Object) -> None:
    lists = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "items": {"type": "array", "items": _reference(kind)},
    }
    what = kind.removesuffix("Metrics").lower()
    for name, fields, text in (
        (kind, properties, f"{kind} sets resource usage metrics of a {what}."),
        (f"{kind}List", lists, f"{kind}List is a list of {kind}."),
    ):
        definitions[f"{_MODEL}{name}"] = {
            "type": "object",
            "description": text,
            "properties": fields,
            "x-kubernetes-group-version-kind": [{"group": GROUP, "version": VERSION, "kind": name}],
        }


def _path(answer: str, kind: str, verb: str) -> Object:
    names = ("name", "namespace")
    parameters = [
        {"name": name, "in": "path", "required": True, "type": "string", "uniqueItems": True}
        for name in names
        if (name == "name" and verb == "get") or (name == "namespace" and kind == "PodMetrics")
    ]
    operation = {
        "description": f"{verb} objects of kind {kind}",
        "produces": ["application/json"],
        "responses": {"200": {"description": "OK", "schema": _reference(answer)}},
        "x-kubernetes-action": verb,
        "x-kubernetes-group-version-kind": {"group": GROUP, "version": VERSION, "kind": kind},
    }
    return {"get": operation, "parameters": parameters}
