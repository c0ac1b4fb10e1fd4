"""StatefulSets as small as the decisions about them need."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

CLAIM = {"metadata": {"name": "data", "labels": {"x": "y"}}, "spec": {"accessModes": ["ReadWriteOnce"]}}


def stateful_set(replicas: int = 3, **spec: Any) -> Object:
    return {
        "metadata": {"name": "db", "namespace": "default", "uid": "s", "generation": 2},
        "spec": {
            "replicas": replicas,
            "serviceName": "svc",
            "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c"}]}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            **spec,
        },
    }
