"""The stale pod disruption controller: resets the condition DisruptionTarget of pods that were not deleted
after all.

An eviction first sets the condition DisruptionTarget. A pod that is not being deleted two minutes later was
not evicted.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final, cast

from steersman.client import NotFound
from steersman.cluster.controllers.reconciling import moment
from steersman.cluster.controllers.setup import Setup
from steersman.objects.conditions import find_condition
from steersman.objects.kinds.types.core_v1 import Pod
from steersman.objects.lifetime import is_deleting
from steersman.objects.pod_lifecycle import is_terminal
from steersman.objects.resources import PODS
from steersman.objects.times import format_time, parse_time
from steersman.runtime import Cached, Change, Informer, Key, Request, Result, RetryPolicy

__all__ = ["add_stale_conditions_controller", "stale_after_s"]


_TIMEOUT_S: Final = 120.0
_CONDITION: Final = "DisruptionTarget"


def stale_after_s(pod: Pod, now: datetime) -> float | None:
    """When the condition becomes stale; None if it will not."""
    status = pod.get("status") or {}
    condition = find_condition(status.get("conditions"), _CONDITION)
    if condition is None or condition["status"] != "True" or is_deleting(pod):
        return None
    if condition.get("reason") == "TerminationByKubelet" or is_terminal(pod):
        return None
    age_s = (now - parse_time(condition["lastTransitionTime"] or "")).total_seconds()
    return max(0.0, _TIMEOUT_S - age_s)


def add_stale_conditions_controller(setup: Setup, pods: Informer) -> None:
    conditions = _StaleConditions(setup, pods)
    controller = setup.controller(
        "disruption-stale-conditions", conditions.reconcile, concurrency=1, retry=RetryPolicy.client_go()
    )
    controller.watches(pods, _of_pod)


def _of_pod(change: Change) -> Iterable[Key]:
    return (change.key,) if change.new is not None and _may_have(change.new) else ()


def _may_have(pod: Cached) -> bool:
    """Pods with the condition are rare: the others need no decoding."""
    return _CONDITION.encode() in pod.data


class _StaleConditions:
    """Reconciles pods with the condition DisruptionTarget."""

    def __init__(self, setup: Setup, pods: Informer) -> None:
        self._pods = pods.cache
        self._writes = setup.writes("disruption-stale-conditions", pods)
        self._clock = setup.clock

    async def reconcile(self, request: Request) -> Result | None:
        cached = self._pods.get(request.key)
        if cached is None or not _may_have(cached):
            return None
        now = moment(self._clock)
        left_s = stale_after_s(cast("Pod", cached.object()), now)
        if left_s is None:
            return None
        if left_s > 0:
            return Result.requeue(left_s)
        condition = {
            "type": _CONDITION,
            "status": "False",
            "lastTransitionTime": format_time(now),
            "observedGeneration": cached.metadata().get("generation"),
            "reason": None,
            "message": None,
        }
        patch = {"metadata": {"uid": cached.uid}, "status": {"conditions": [condition]}}
        try:
            await self._writes.patch(PODS, request.key, patch, type="strategic", subresource="status")
        except NotFound:
            return None
        return None
