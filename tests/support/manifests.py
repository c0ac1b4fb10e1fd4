"""Small valid objects to start from; tests change what they are about."""

from __future__ import annotations

from typing import Any

__all__ = ["config_map", "deployment", "node", "pod"]


def config_map(name: str, labels: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name} | ({"labels": labels} if labels else {})
    content = {"data": data} if data else {}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **content}


def _containers(image: str) -> list[dict[str, Any]]:
    return [{"name": "main", "image": image}]


def pod(name: str, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name} | ({"labels": labels} if labels else {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": _containers("busybox:1.37"), **spec},
    }


def deployment(name: str, replicas: int = 1, image: str = "nginx:1.27") -> dict[str, Any]:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": _containers(image)}},
        },
    }


def node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
