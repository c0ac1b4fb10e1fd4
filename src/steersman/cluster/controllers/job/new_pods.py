"""The pods that a Job creates: the template with labels, finalizer, index and environment added. Pure."""

from __future__ import annotations

from typing import Final

from steersman.cluster.controllers.job.job_pods import (
    COMPLETION_INDEX,
    FAILURE_COUNT,
    IGNORED_FAILURE_COUNT,
    TRACKING_FINALIZER,
    JobPod,
)
from steersman.cluster.controllers.job.job_spec import JobState
from steersman.cluster.controllers.job.policies import judge_failure
from steersman.objects.kinds.types.core_v1 import (
    Container,
    EnvVar,
    ObjectFieldSelector,
    PodSpec,
    PodTemplateSpec,
)
from steersman.objects.kinds.types.meta_v1 import ObjectMeta

__all__ = ["name_prefix", "new_pod_template"]


_INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
#: What of a name is left for a prefix.
_PREFIX_LENGTH: Final = 58


def name_prefix(job: JobState, index: int | None) -> str | None:
    """What the names of an index's pods begin with; None where the job's name is all there is to say."""
    if index is None:
        return None
    ending = f"-{index}-"
    return job.name[: _PREFIX_LENGTH - len(ending)] + ending


def new_pod_template(job: JobState, index: int | None, replaced: JobPod | None) -> PodTemplateSpec:
    """The template of the next pod; `replaced` is the failed one of the same index before it."""
    template = job.spec["template"]
    metadata: ObjectMeta = {**(template.get("metadata") or {})}
    finalizers = list(metadata.get("finalizers") or ())
    if TRACKING_FINALIZER not in finalizers:
        finalizers.append(TRACKING_FINALIZER)
    metadata["finalizers"] = finalizers
    if index is None:
        return {"metadata": metadata, "spec": template["spec"]}
    annotations = {**(metadata.get("annotations") or {}), COMPLETION_INDEX: str(index)}
    if job.backoff_limit_per_index is not None:
        annotations |= _failure_counts(job, replaced)
    metadata["annotations"] = annotations
    metadata["labels"] = {**(metadata.get("labels") or {}), COMPLETION_INDEX: str(index)}
    spec: PodSpec = {**template["spec"], "hostname": f"{job.name}-{index}"}
    if containers := spec.get("initContainers"):
        spec["initContainers"] = [_with_index_variable(container) for container in containers]
    if containers := spec.get("containers"):
        spec["containers"] = [_with_index_variable(container) for container in containers]
    return {"metadata": metadata, "spec": spec}


def _failure_counts(job: JobState, replaced: JobPod | None) -> dict[str, str]:
    if replaced is None:
        return {FAILURE_COUNT: "0"}
    counts = judge_failure(job, replaced).counts
    ignored = replaced.ignored_failures + (not counts)
    annotations = {FAILURE_COUNT: str(replaced.failures + counts)}
    if ignored:
        annotations[IGNORED_FAILURE_COUNT] = str(ignored)
    return annotations


def _with_index_variable(container: Container) -> Container:
    variables = container.get("env") or []
    if any(variable["name"] == _INDEX_VARIABLE for variable in variables):
        return container
    field: ObjectFieldSelector = {"fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}
    variable: EnvVar = {"name": _INDEX_VARIABLE, "valueFrom": {"fieldRef": field}}
    return {**container, "env": [*variables, variable]}
