"""The podFailurePolicy and successPolicy of a Job: the action for a failed pod, and the first matching
success rule. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from steersman.cluster.controllers.job.indexes import Indexes
from steersman.cluster.controllers.job.job_pods import ContainerEnd, JobPod
from steersman.cluster.controllers.job.job_spec import JobState
from steersman.objects.kinds.types.batch_v1 import (
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyRule,
)

__all__ = ["Failure", "judge_failure", "success_message"]


@dataclass(frozen=True, slots=True)
class Failure:
    """The action of the podFailurePolicy for a failed pod."""

    #: `Ignore`, `FailIndex`, `FailJob`, `Count`; empty when no rule applies.
    action: str = ""
    #: Why the job fails, if it does.
    message: str = ""

    @property
    def counts(self) -> bool:
        """Whether it counts towards the limits."""
        return self.action != "Ignore"


_NO_RULE: Final = Failure()


def judge_failure(job: JobState, pod: JobPod) -> Failure:
    """By the first rule of the pod failure policy that matches."""
    policy = job.spec.get("podFailurePolicy") or {}
    for number, rule in enumerate(policy.get("rules") or ()):
        action = rule["action"]
        why = _why(rule, pod)
        if why:
            message = f"{why} matching {action} rule at index {number}"
            return Failure(action, message if action == "FailJob" else "")
    return _NO_RULE


def _why(rule: PodFailurePolicyRule, pod: JobPod) -> str:
    """What in the pod matches the rule; empty if nothing does."""
    shown = f"{pod.state.metadata.namespace}/{pod.state.name}"
    if requirement := rule.get("onExitCodes"):
        for name, end in pod.ended_containers:
            if _exit_code_matches(requirement, name, end):
                return f"Container {name} for pod {shown} failed with exit code {end.exit_code}"
        return ""
    patterns = [(one["type"], one["status"]) for one in rule.get("onPodConditions") or ()]
    found = next((kind for kind, status in pod.conditions if (kind, status) in patterns), "")
    return f"Pod {shown} has condition {found}" if found else ""


def _exit_code_matches(
    requirement: PodFailurePolicyOnExitCodesRequirement, name: str, end: ContainerEnd
) -> bool:
    if requirement.get("containerName", name) != name or not end.exit_code:
        return False
    listed = end.exit_code in requirement["values"]
    return listed if requirement["operator"] == "In" else not listed


def success_message(job: JobState, succeeded: Indexes) -> str:
    """Which rule of the success policy is met; empty if none is."""
    rules = (job.spec.get("successPolicy") or {}).get("rules") or ()
    if not succeeded:
        return ""
    for number, rule in enumerate(rules):
        count = rule.get("succeededCount")
        if "succeededIndexes" in rule:
            wanted = Indexes.parse(rule["succeededIndexes"], job.completions or 0)
            both = wanted & succeeded
            met = bool(wanted) and (both == len(wanted) or (count is not None and both >= count))
        else:
            met = count is not None and len(succeeded) >= count
        if met:
            return f"Matched rules at index {number}"
    return ""
