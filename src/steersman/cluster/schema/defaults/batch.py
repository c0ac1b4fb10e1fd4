"""Defaults of jobs and cron jobs."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.defaults.filling import unset, zero
from steersman.cluster.schema.defaults.pods import default_template
from steersman.objects.kinds import Object

__all__ = ["default_cron_job", "default_job"]

#: Per-index limits govern instead of the overall one, which then never triggers.
_UNLIMITED: Final = 2**31 - 1


def default_job(job: Object) -> None:
    spec: Object = job["spec"]
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    unset(spec, "parallelism", 1)
    unset(spec, "backoffLimit", 6 if spec.get("backoffLimitPerIndex") is None else _UNLIMITED)
    if not job["metadata"].get("labels") and (labels := spec["template"]["metadata"].get("labels")):
        # One map, not a copy: labels the strategy adds to the template are then the job's own, too.
        job["metadata"]["labels"] = labels
    unset(spec, "completionMode", "NonIndexed")
    unset(spec, "suspend", False)
    unset(
        spec,
        "podReplacementPolicy",
        "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed",
    )
    unset(spec, "manualSelector", False)
    _default_job_spec(spec)


def default_cron_job(cron_job: Object) -> None:
    spec: Object = cron_job["spec"]
    zero(spec, "concurrencyPolicy", "Allow")
    unset(spec, "suspend", False)
    unset(spec, "successfulJobsHistoryLimit", 3)
    unset(spec, "failedJobsHistoryLimit", 1)
    _default_job_spec(spec["jobTemplate"]["spec"])


def _default_job_spec(spec: Object) -> None:
    """What a job spec gets even inside a cron job's template."""
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            zero(pattern, "status", "True")
    default_template(spec["template"])
