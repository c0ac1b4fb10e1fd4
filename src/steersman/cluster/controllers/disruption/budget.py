"""The status of a PodDisruptionBudget from its pods: healthy, desired and expected pods, allowed disruptions.
Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from steersman.cluster.controllers.int_or_percent import scaled_value
from steersman.cluster.controllers.pod_states import PodState
from steersman.objects.conditions import set_condition
from steersman.objects.kinds.types.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetStatus
from steersman.objects.times import format_time, parse_time

__all__ = ["Disrupted", "budget_status", "desired_healthy", "disrupted_pods", "failed_status", "needs_scale"]


_CONDITION: Final = "DisruptionAllowed"
#: A pod whose eviction was allowed goes within this time, or not at all.
_DELETION_TIMEOUT: Final = timedelta(minutes=2)


def needs_scale(budget: PodDisruptionBudget) -> bool:
    """Whether it matters how many pods there should be, not only how many there are."""
    spec = budget["spec"]
    return "maxUnavailable" in spec or isinstance(spec.get("minAvailable"), str)


def desired_healthy(budget: PodDisruptionBudget, expected: int) -> int:
    """How many pods must stay healthy of those there should be. Raises ValueError for no number."""
    spec = budget["spec"]
    if "maxUnavailable" in spec:
        return max(0, expected - scaled_value(spec["maxUnavailable"], expected, round_up=True))
    return scaled_value(spec.get("minAvailable", 0), expected, round_up=True)


@dataclass(frozen=True, slots=True)
class Disrupted:
    """The pods whose eviction was allowed and whose deletion has not been seen yet
    (`status.disruptedPods`).
    """

    #: Since when, by name.
    pods: dict[str, str | None]
    #: Those that did not go.
    kept: Sequence[PodState]
    #: When the next of them is given up.
    recheck_s: float | None


def disrupted_pods(budget: PodDisruptionBudget, pods: Sequence[PodState], now: datetime) -> Disrupted:
    listed = (budget.get("status") or {}).get("disruptedPods") or {}
    waiting: dict[str, str | None] = {}
    kept: list[PodState] = []
    waits = []
    for pod in pods:
        since = listed.get(pod.name)
        if pod.deleting or since is None:
            continue
        left_s = (parse_time(since) + _DELETION_TIMEOUT - now).total_seconds()
        if left_s < 0:
            kept.append(pod)
        else:
            waiting[pod.name] = since
            waits.append(left_s)
    return Disrupted(waiting, kept, min(waits, default=None))


def budget_status(
    budget: PodDisruptionBudget,
    pods: Sequence[PodState],
    expected: int,
    desired: int,
    disrupted: Disrupted,
    now: datetime,
) -> PodDisruptionBudgetStatus:
    healthy = sum(pod.ready and not pod.deleting and pod.name not in disrupted.pods for pod in pods)
    # A budget without pods allows nothing: those that come may come faster than we look.
    allowed = max(0, healthy - desired) if expected > 0 else 0
    generation = budget["metadata"].get("generation", 0)
    status: PodDisruptionBudgetStatus = {
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "observedGeneration": generation,
    }
    if disrupted.pods:
        status["disruptedPods"] = disrupted.pods
    status["conditions"] = set_condition(
        (budget.get("status") or {}).get("conditions"),
        _CONDITION,
        "True" if allowed else "False",
        reason="SufficientPods" if allowed else "InsufficientPods",
        observed_generation=generation,
        now=format_time(now),
    )
    return status


def failed_status(budget: PodDisruptionBudget, why: str, now: datetime) -> PodDisruptionBudgetStatus:
    """When nobody can tell how many pods there should be, nothing is allowed."""
    status: PodDisruptionBudgetStatus = {**(budget.get("status") or {})}
    status["disruptionsAllowed"] = 0
    status["conditions"] = set_condition(
        status.get("conditions"),
        _CONDITION,
        "False",
        reason="SyncFailed",
        message=why,
        observed_generation=status.get("observedGeneration") or None,
        now=format_time(now),
    )
    return status
