"""The document of `/stats/summary` (Summary API, stats/v1alpha1). Pure but for the size of the disk."""

from __future__ import annotations

import shutil

from steersman.cluster.node.api.measuring import Measured, NodeMeasured, PodMeasured
from steersman.cluster.node.container_statuses import time_text
from steersman.objects.kinds import Object
from steersman.objects.usage import Usage

__all__ = ["disk", "summary"]


def summary(measured: NodeMeasured, capacity_bytes: int, fs: Object | None = None) -> Object:
    """`capacity_bytes` is the node's memory; `fs` describes its disk."""
    time = time_text(measured.time)
    node = _used(measured.node, time)
    node["memory"] = {
        "time": time,
        "availableBytes": max(0, capacity_bytes - measured.node.usage.memory_bytes),
        **node["memory"],
    }
    del node["name"]
    return {
        "node": {
            "nodeName": measured.node.name,
            **node,
            **(
                {}
                if fs is None
                else {"fs": {"time": time, **fs}, "runtime": {"imageFs": {"time": time, **fs}}}
            ),
        },
        "pods": [_pod(pod, time) for pod in measured.pods],
    }


def _pod(pod: PodMeasured, time: str) -> Object:
    return {
        "podRef": {"name": pod.key.name, "namespace": pod.key.namespace, "uid": pod.uid},
        "startTime": time_text(pod.started_at),
        "containers": [_used(one, time) for one in pod.containers],
        **_amounts(pod.usage, pod.cpu_seconds, time),
    }


def _used(measured: Measured, time: str) -> Object:
    return {
        "name": measured.name,
        "startTime": time_text(measured.started_at),
        **_amounts(measured.usage, measured.cpu_seconds, time),
    }


def _amounts(usage: Usage, cpu_seconds: float, time: str) -> Object:
    return {
        "cpu": {
            "time": time,
            "usageNanoCores": round(usage.cpu_cores * 1e9),
            "usageCoreNanoSeconds": round(cpu_seconds * 1e9),
        },
        "memory": {
            "time": time,
            "usageBytes": usage.memory_bytes,
            "workingSetBytes": usage.memory_bytes,
            "rssBytes": usage.memory_bytes,
        },
    }


def disk(path: str = "/") -> Object:
    """The file system that the node's files are in."""
    size = shutil.disk_usage(path)
    return {"availableBytes": size.free, "capacityBytes": size.total, "usedBytes": size.used}
