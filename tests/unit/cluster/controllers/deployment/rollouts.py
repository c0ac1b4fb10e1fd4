"""Deployments and ReplicaSets as small as the decisions about them need."""

from __future__ import annotations

from typing import Any

from tests.unit.cluster.controllers.workload_objects import ago

Object = dict[str, Any]


def deployment(
    replicas: int = 10, surge: int | str = "25%", unavailable: int | str = "25%", **more: Any
) -> Object:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    spec = {
        "replicas": replicas,
        "strategy": strategy,
        "progressDeadlineSeconds": 600,
        "revisionHistoryLimit": 10,
        "selector": {"matchLabels": {"app": "web"}},
        "template": template(),
        **more,
    }
    return {"metadata": {"name": "web", "namespace": "default", "uid": "d", "generation": 2}, "spec": spec}


def template(image: str = "new", **labels: str) -> Object:
    return {"metadata": {"labels": {"app": "web", **labels}}, "spec": {"containers": [{"image": image}]}}


def replica_set(
    name: str,
    size: int,
    available: int | None = None,
    *,
    age_s: float = 0,
    image: str = "old",
    annotations: dict[str, str] | None = None,
    **status: Any,
) -> Object:
    annotations = {f"deployment.kubernetes.io/{key}": value for key, value in (annotations or {}).items()}
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "generation": 1,
            "creationTimestamp": ago(age_s),
            "annotations": annotations,
        },
        "spec": {"replicas": size, "template": template(image)},
        "status": {
            "replicas": size,
            "availableReplicas": size if available is None else available,
            "observedGeneration": 1,
            **status,
        },
    }
