"""Requests that ask most of the server: server-side apply, rules in CEL, rights of a service account."""

from __future__ import annotations

import json
import tempfile
from typing import Any

from benchmarks.administration import Administrator
from benchmarks.load import CONFIGMAP, FIRST, LoadResult, Request, run_wrk
from benchmarks.options import Options
from benchmarks.process import ServerProcess
from benchmarks.reference import GUARDED_CREATE_CPU_MS
from benchmarks.table import Table

__all__ = ["run"]

_CONNECTIONS = 32

#: Applied over and over: more of them than connections, so that two requests rarely meet on one.
_DEPLOYMENTS = 200

_WIDGETS: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.bench.example.com"},
    "spec": {
        "group": "bench.example.com",
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "required": ["spec"],
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["minimum", "maximum", "size"],
                                "properties": {
                                    "minimum": {"type": "integer", "minimum": 0},
                                    "maximum": {"type": "integer"},
                                    "size": {"type": "string", "enum": ["small", "large"]},
                                    "labels": {
                                        "type": "array",
                                        "maxItems": 8,
                                        "items": {"type": "string", "maxLength": 32, "pattern": "^[a-z]+$"},
                                    },
                                },
                                "x-kubernetes-validations": [
                                    {
                                        "rule": "self.minimum <= self.maximum",
                                        "message": "minimum is above maximum",
                                    },
                                    {
                                        "rule": "!has(self.labels) || self.labels.all(l, l.startsWith('x'))",
                                        "messageExpression": "'labels of ' + self.size + ' start with x'",
                                    },
                                ],
                            }
                        },
                    }
                },
            }
        ],
    },
}

_WIDGET = Request(
    """return wrk.format("POST", "/apis/bench.example.com/v1/namespaces/default/widgets", nil,
    '{"apiVersion":"bench.example.com/v1","kind":"Widget","metadata":{"name":"' .. name(number)
    .. '"},"spec":{"minimum":1,"maximum":' .. number .. ',"size":"small","labels":["xa","xb","xc"]}}')"""
)


def run(options: Options) -> list[Table]:
    requests = 1_000 if options.quick else 8_000
    table = Table("Access: RBAC and admission on, TLS, 32 connections, every write on disk")
    with tempfile.TemporaryDirectory(prefix="steersman-bench-") as data, ServerProcess(data) as server:
        administrator = Administrator(server)
        token = administrator.service_account("bench", ["configmaps"], ["get", "create"])
        administrator.define(_WIDGETS)
        _as_service_account(table, server, token, requests)
        _apply(table, server, requests)
        _add(table, "create, 2 CEL rules", run_wrk(server, _WIDGET, count=requests))
    return [table]


def _as_service_account(table: Table, server: ServerProcess, token: str, requests: int) -> None:
    created = run_wrk(server, CONFIGMAP["create"], count=requests, token=token, connections=_CONNECTIONS)
    _add(table, "create by service account", created, bar=GUARDED_CREATE_CPU_MS)
    # The last of them were perhaps cut off when wrk stopped.
    highest = created.requests + FIRST - 1 - _CONNECTIONS
    got = run_wrk(server, CONFIGMAP["get"], count=requests, existing=highest, token=token)
    _add(table, "get by service account", got)


def _apply(table: Table, server: ServerProcess, requests: int) -> None:
    created = run_wrk(server, _applying("number", "1"), count=_DEPLOYMENTS, connections=1)
    table.check(created.failed == 0, f"{created.failed} of {created.requests} first applies")
    for what, image in (("no change", "1"), ("change", "number")):
        applied = run_wrk(server, _applying("there", image), count=requests // 2, existing=_DEPLOYMENTS)
        _add(table, f"apply, {what}", applied)


def _applying(which: str, image: str) -> Request:
    """Server-side apply of a Deployment; both are expressions in Lua, the second is its image's tag."""
    labels = {"app": "bench"}
    container = {
        "name": "main",
        "image": "registry.example.com/main:TAG",
        "ports": [{"name": "http", "containerPort": 8080}],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "resources": {"limits": {"memory": "64Mi"}, "requests": {"cpu": "100m"}},
    }
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "NAME", "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    text = json.dumps(deployment).replace("NAME", f"]] .. name({which}) .. [[")
    text = text.replace("TAG", f"]] .. {image} .. [[")
    return Request(
        f"""local which = name({which})
  return wrk.format("PATCH", "/apis/apps/v1/namespaces/default/deployments/" .. which
    .. "?fieldManager=bench", nil, [[{text}]])""",
        content_type="application/apply-patch+yaml",
    )


def _add(table: Table, kind: str, result: LoadResult, bar: float | None = None) -> None:
    table.add(f"{kind}: CPU", result.cpu_ms, "ms", bar=bar)
    table.add(f"{kind}: rate", result.rate, "/s", more_is_better=True)
    table.add(f"{kind}: 99 % answered in", result.p99_ms, "ms")
    table.check(result.failed == 0, f"{result.failed} of {result.requests} requests: {kind}")
