"""Every path: what it is called, what it answers, whether one must be allowed to.

One table; the server looks requests up in it and the OpenAPI document is made from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from steersman.highlander.api import views

__all__ = ["ROUTES", "Parameter", "Route", "find", "methods_of"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """Of the query."""

    name: str
    about: str
    kind: str = "string"


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    path: str
    name: str
    """The name of the method of the server that responds."""
    about: str
    data: Any = None
    """Type of `data` in the envelope; None if the response has no envelope."""
    content_type: str = "application/json"
    guarded: bool = False
    parameters: tuple[Parameter, ...] = ()


_TENANT = Parameter("tenant", "The name of the tenant; default: the first tenant of the process.")
_LOGS = (
    _TENANT,
    Parameter("container", "The name of the container; default: the first one."),
    Parameter("tail", "The maximum number of lines; default: 200, at most 5000.", "integer"),
)
_EVENTS = (
    _TENANT,
    Parameter("lastEventId", "The same as the header Last-Event-ID, for clients that cannot set headers."),
)
_OF_WORKLOAD = "/api/workloads/{kind}/{namespace}/{name}"
_TEXT = "text/plain"


def _get(path: str, name: str, about: str, data: Any = None, **more: Any) -> Route:
    return Route("GET", path, name, about, data, **{"parameters": (_TENANT,), **more})


def _post(path: str, name: str, about: str) -> Route:
    return Route("POST", path, name, about, dict[str, Any], guarded=True, parameters=(_TENANT,))


ROUTES = (
    _get("/healthz", "healthz", "Liveness of the process.", content_type=_TEXT, parameters=()),
    _get("/livez", "healthz", "The same as /healthz.", content_type=_TEXT, parameters=()),
    _get("/readyz", "readyz", "Readiness of all tenants.", content_type=_TEXT,
         parameters=()),
    _get("/health", "readyz", "The same as /readyz.", content_type=_TEXT, parameters=()),
    _get("/metrics", "metrics", "Prometheus metrics.", content_type=_TEXT, parameters=()),
    _get("/openapi.json", "openapi", "This OpenAPI document.", parameters=()),
    _get("/status", "status", "The controller and its workloads.", views.Status),
    _get("/api/status", "status", "The same as /status.", views.Status),
    _get("/debug/status", "debug", "Details of the controller and its process.", dict[str, Any]),
    _get("/api/controller", "controller", "The state of the controller.", views.Controller),
    _get("/api/tenants", "tenants", "A summary of each tenant.", list[views.Tenant], parameters=()),
    _get("/api/history", "history", "Changes of leadership, oldest first.", list[views.LeadershipChange]),
    _get("/api/dbinfo", "storage", "The storage of the lock.", views.Storage),
    _get("/api/workloads", "workloads", "All workloads by kind and name.",
         dict[str, dict[str, views.Workload]]),
    _get("/api/workload-names", "workload_names", "The names of all workloads.", list[str]),
    _get("/api/workloads/{name}", "workload_by_name", "The workload with this name.", views.Workload),
    _get(_OF_WORKLOAD, "workload", "One workload.", views.Workload),
    _get("/api/pods", "pods", "All pods of all workloads.", list[views.LabelledPod]),
    _get("/api/pods/{namespace}/{name}", "pod", "One pod.", views.LabelledPod),
    _get("/api/pods/{namespace}/{name}/logs", "logs", "The last lines of the log of a container.",
         content_type=_TEXT, guarded=True, parameters=_LOGS),
    _get("/api/events", "events", "A stream of changes (server-sent events).",
         content_type="text/event-stream", parameters=_EVENTS),
    _post(f"{_OF_WORKLOAD}/pause", "pause", "Stop a workload until it is resumed."),
    _post(f"{_OF_WORKLOAD}/resume", "resume", "Start a paused workload."),
    _post(f"{_OF_WORKLOAD}/restart", "restart",
          "Stop a workload, wait until it has ended, and start it again."),
    _post("/api/step-down", "step_down", "Stop the workloads, so that another controller takes over."),
    _post("/api/drain", "drain", "Step down, and do not contend for the lock until undrained."),
    _post("/api/undrain", "undrain", "Contend for the lock again after a drain."),
    _post("/api/reload", "reload", "Reload the configuration."),
)  # fmt: skip


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path))


_PLAIN = {(route.method, route.path): route for route in ROUTES if "{" not in route.path}
_PATTERNS = [(_pattern(route.path), route) for route in ROUTES if "{" in route.path]


def find(method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """The route, and what its path names."""
    wanted = "GET" if method == "HEAD" else method
    plain = _PLAIN.get((wanted, path))
    if plain is not None:
        return plain, {}
    for pattern, route in _PATTERNS:
        matched = pattern.fullmatch(path) if route.method == wanted else None
        if matched is not None:
            return route, matched.groupdict()
    return None


def methods_of(path: str) -> list[str]:
    """Which methods a path takes."""
    known = [method for method in ("GET", "POST") if find(method, path) is not None]
    return ["GET", "HEAD", *known[1:]] if "GET" in known else known
