"""What is shown of a workload, told from its live objects alone: by leaders and followers alike."""

from __future__ import annotations

from typing import Any

from steersman.highlander.config.specs import CronJobSpec, ServiceSpec, WorkloadSpec
from steersman.highlander.live import LiveObjects
from steersman.highlander.state import WorkloadKind, WorkloadPhase, WorkloadState
from steersman.highlander.workloads.copies import is_living, pod_view
from steersman.highlander.workloads.ownership import WorkloadKey, epoch_of
from steersman.objects.kinds import Object
from steersman.objects.lifetime import is_deleting
from steersman.objects.resources import CRON_JOBS, DEPLOYMENTS, PODS, STATEFUL_SETS

__all__ = ["observed"]


_MAIN = {
    WorkloadKind.PROCESS: PODS,
    WorkloadKind.CRON_JOB: CRON_JOBS,
    WorkloadKind.SERVICE: DEPLOYMENTS,
    WorkloadKind.PERSISTENT: STATEFUL_SETS,
}

#: What is shown of a Deployment's or a StatefulSet's status.
_COUNTS = ("readyReplicas", "availableReplicas", "updatedReplicas", "currentReplicas")


def observed(live: LiveObjects, tenant: str, key: WorkloadKey, spec: WorkloadSpec) -> WorkloadState:
    """The workload as it is. Its phase says only what objects can: running, starting, completed, stopped."""
    pods = live.of_workload(PODS, tenant, key)
    mains = live.of_workload(_MAIN[key.kind], tenant, key)
    main = mains[0] if mains else None
    phase, ready, details = _phase(key, spec, main, pods)
    views = tuple(pod_view(pod, key) for pod in pods)
    return WorkloadState(
        key.kind,
        key.name,
        key.namespace,
        tenant,
        phase=phase,
        ready=ready,
        restarts=sum(view.restarts for view in views),
        pods=views,
        epoch=max((epoch_of(each) for each in mains), default=0),
        details=details,
        last_error=next((view.reason for view in views if view.reason), ""),
    )


def _phase(
    key: WorkloadKey, spec: WorkloadSpec, main: Object | None, pods: list[Object]
) -> tuple[WorkloadPhase, bool, dict[str, Any]]:
    if isinstance(spec, CronJobSpec):
        return _cron_job_phase(spec, main)
    if isinstance(spec, ServiceSpec):
        return _scaled_phase(spec, main, pods)
    if main is None:
        return WorkloadPhase.STOPPED, False, {}
    view = pod_view(main, key)
    if is_deleting(main):
        return WorkloadPhase.STOPPING, False, {}
    if view.phase == "Succeeded":
        return WorkloadPhase.COMPLETED, True, {}
    if view.phase == "Failed":
        return WorkloadPhase.FAILED, False, {}
    return (WorkloadPhase.RUNNING if view.ready else WorkloadPhase.STARTING), view.ready, {}


def _cron_job_phase(spec: CronJobSpec, main: Object | None) -> tuple[WorkloadPhase, bool, dict[str, Any]]:
    details: dict[str, Any] = {"schedule": spec.schedule, "suspended": True}
    if main is None:
        return WorkloadPhase.STOPPED, False, details
    status = main.get("status") or {}
    suspended = bool(main["spec"].get("suspend"))
    details |= {"schedule": main["spec"].get("schedule", ""), "suspended": suspended}
    details["activeJobs"] = len(status.get("active") or ())
    for field in ("lastScheduleTime", "lastSuccessfulTime"):
        if status.get(field):
            details[field] = status[field]
    return (WorkloadPhase.STOPPED if suspended else WorkloadPhase.RUNNING), not suspended, details


def _scaled_phase(
    spec: ServiceSpec, main: Object | None, pods: list[Object]
) -> tuple[WorkloadPhase, bool, dict[str, Any]]:
    if main is None:
        return WorkloadPhase.STOPPED, False, {"replicas": spec.replicas, **dict.fromkeys(_COUNTS, 0)}
    status = main.get("status") or {}
    wanted = main["spec"].get("replicas", 1)
    details = {"replicas": wanted, **{name: status.get(name) or 0 for name in _COUNTS}}
    ready_replicas = details["readyReplicas"]
    current = status.get("observedGeneration", 0) >= main["metadata"].get("generation", 0)
    updated = (status.get("updatedReplicas") or 0) >= wanted
    if wanted == 0 and spec.replicas != 0:
        ending = any(is_living(pod) for pod in pods)
        return (WorkloadPhase.STOPPING if ending else WorkloadPhase.STOPPED), False, details
    ready = current and updated and ready_replicas >= wanted
    return (WorkloadPhase.RUNNING if ready else WorkloadPhase.STARTING), ready, details
