"""Small jobs and their pods, for tests of what is decided about them."""

from __future__ import annotations

from typing import Any

from steersman.cluster.controllers.job.job_pods import (
    COMPLETION_INDEX,
    FAILURE_COUNT,
    TRACKING_FINALIZER,
    JobPod,
)
from steersman.cluster.controllers.job.job_spec import JobState
from tests.unit.cluster.controllers.workload_objects import ago

Object = dict[str, Any]


def job(status: Object | None = None, **spec: Any) -> JobState:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c"}]}}
    whole = {"parallelism": 2, "backoffLimit": 6, "template": template, **spec}
    return JobState({"metadata": {"name": "sums", "uid": "j"}, "spec": whole, "status": status or {}})


def indexed(completions: int, status: Object | None = None, **spec: Any) -> JobState:
    return job(status, completionMode="Indexed", completions=completions, **spec)


def pod(
    name: str,
    phase: str = "Running",
    *,
    index: int | None = None,
    tracked: bool = True,
    deleting: bool = False,
    code: int | None = None,
    ended_s: float = 0,
    failures: int | None = None,
    restarts: int = 0,
    conditions: list[Object] | None = None,
) -> JobPod:
    annotations = {}
    if index is not None:
        annotations[COMPLETION_INDEX] = str(index)
    if failures is not None:
        annotations[FAILURE_COUNT] = str(failures)
    metadata: Object = {
        "name": name,
        "namespace": "default",
        "uid": name,
        "creationTimestamp": ago(1000),
        "annotations": annotations,
        "finalizers": [TRACKING_FINALIZER] if tracked else [],
    }
    if deleting:
        metadata["deletionTimestamp"] = ago(ended_s)
    container: Object = {"name": "c", "restartCount": restarts}
    if code is not None:
        container["state"] = {"terminated": {"exitCode": code, "finishedAt": ago(ended_s)}}
    status = {"phase": phase, "containerStatuses": [container], "conditions": conditions or []}
    return JobPod.of({"metadata": metadata, "spec": {"nodeName": "n"}, "status": status})
