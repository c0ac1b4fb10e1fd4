"""Services and pods for tests of endpoints."""

from __future__ import annotations

from typing import Any

import orjson

from steersman.cluster.controllers.endpoints.backends import PodEndpoint
from steersman.cluster.controllers.endpoints.services import SelectingService
from steersman.runtime import Cached, Key

Object = dict[str, Any]


def cached(obj: Object) -> Cached:
    return Cached(*Key.of(obj), 1, orjson.dumps(obj))


def service(name: str = "web", *, labels: dict[str, str] | None = None, **spec: Any) -> SelectingService:
    metadata = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}",
        "labels": labels or {},
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    defaults: Object = {
        "selector": {"app": "web"},
        "clusterIP": "10.0.0.1",
        "ipFamilies": ["IPv4"],
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 8080}],
    }
    return SelectingService.read(cached({"metadata": metadata, "spec": {**defaults, **spec}}))


def pod(
    name: str,
    *ips: str,
    ready: bool = True,
    deleting: bool = False,
    phase: str = "Running",
    ready_at: str = "2026-01-01T00:00:01Z",
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> PodEndpoint:
    metadata: Object = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}",
        "labels": {"app": "web", **(labels or {})},
    }
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    status: Object = {
        "phase": phase,
        "conditions": [
            {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": ready_at}
        ],
    }
    if ips:
        status.update(podIP=ips[0], podIPs=[{"ip": ip} for ip in ips])
    obj = {"metadata": metadata, "spec": {"nodeName": "n1", "containers": [{"name": "c"}], **spec}}
    return PodEndpoint.read(cached({**obj, "status": status}))


def numbered(name: str, resource: Object, number: int = 1) -> Object:
    """A planned slice as it is once it was created."""
    metadata = {**resource["metadata"], "name": name, "uid": f"uid-{name}", "resourceVersion": str(number)}
    return {**resource, "metadata": metadata}
